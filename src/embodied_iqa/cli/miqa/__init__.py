"""`embodied-iqa miqa`: labels of machine-vision quality, after MIQD-2.5M."""

from __future__ import annotations

import argparse
from typing import Final

from embodied_iqa.base.errors import UsageError
from embodied_iqa.cli.parser import configure_each, perform
from embodied_iqa.models.vision.predictions import VisionTask

__all__ = ["TASKS", "configure", "run", "tasks_of"]

TASKS: Final = ",".join(VisionTask)
"""All tasks by commas."""

_ACTIONS: Final = {
    "build": (f"{__name__}.build", "label distorted images with vision models"),
    "import": (f"{__name__}.importing", "read labels in the published layout of MIQD-2.5M"),
    "train": (f"{__name__}.train", "train a metric on the labels of a database"),
    "score": (f"{__name__}.score", "score images with a trained metric"),
    "stability": (f"{__name__}.stability", "labels of random parts of the models, compared (table 4)"),
}
"""Action to (module with `configure` and `run`, one-line help)."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    configure_each(parser, "action", _ACTIONS)


def run(arguments: argparse.Namespace) -> int:
    """Run the action; return the exit code."""
    return perform(f"{_ACTIONS[arguments.action][0]}:run", arguments)


def tasks_of(text: str) -> tuple[VisionTask, ...]:
    """Return tasks by commas, each once.

    Raises:
        UsageError: One of them is unknown.
    """
    words = list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    unknown = [word for word in words if word not in set(VisionTask)]
    if unknown or not words:
        raise UsageError("unknown task", got=(unknown or [text])[0], available=list(VisionTask))
    return tuple(VisionTask(word) for word in words)
