"""`embodied-iqa miqa`: labels of machine-vision quality, after MIQD-2.5M."""

from __future__ import annotations

from embodied_iqa.cli.parser import command_of

_ACTIONS = {
    "build": (f"{__name__}.building", "label distorted images with vision models"),
    "import": (f"{__name__}.importing", "read labels in the published layout of MIQD-2.5M"),
    "train": (f"{__name__}.training", "train a metric on the labels of a database"),
    "score": (f"{__name__}.score", "score images with a trained metric"),
    "stability": (f"{__name__}.stability", "labels of random parts of the models, compared (table 4)"),
}
configure, run = command_of("action", _ACTIONS)
