"""`embodied-iqa evaluate`: scores of subjects on images made for it."""

from __future__ import annotations

import argparse
from typing import Final

from embodied_iqa.cli.parser import configure_each, perform

_ACTIONS: Final = {
    "panel": (f"{__name__}.panel", "the embedded panel on undistorted and on distorted images"),
    "static": (f"{__name__}.static", "subjects on a benchmark of `embodied-iqa static make` or `import`"),
    "miqa": (f"{__name__}.miqa", "metrics on the labels of machine vision of held-out images"),
    "manipulation": (f"{__name__}.manipulation", "a planner of low-level actions in the simulated cell"),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    configure_each(parser, "what", _ACTIONS)


def run(arguments: argparse.Namespace) -> int:
    """Evaluate; return the exit code."""
    return perform(f"{_ACTIONS[arguments.what][0]}:run", arguments)
