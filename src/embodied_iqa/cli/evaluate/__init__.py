"""`embodied-iqa evaluate`: scores of subjects on images made for it."""

from __future__ import annotations

from embodied_iqa.cli.parser import command_of

_ACTIONS = {
    "panel": (f"{__name__}.panel", "the embedded panel on undistorted and on distorted images"),
    "static": (f"{__name__}.static", "subjects on a benchmark of `embodied-iqa static make` or `import`"),
    "miqa": (f"{__name__}.miqa", "metrics on the labels of machine vision of held-out images"),
    "manipulation": (f"{__name__}.manipulation", "a planner of low-level actions in the simulated cell"),
}
configure, run = command_of("what", _ACTIONS)
