"""`embodied-iqa static`: makes, reads and changes benchmarks of the form of StaticEmbodiedBench."""

from __future__ import annotations

import argparse
from typing import Final

from embodied_iqa.cli.parser import configure_each, perform

_ACTIONS: Final = {
    "make": (f"{__name__}.make", "draw items or expert trajectories from the simulated cell"),
    "import": (f"{__name__}.importing", "read the published TSV file, plain or circular"),
    "circular": (f"{__name__}.circular", "write every rotation of the options of a TSV file"),
    "s2d": (f"{__name__}.s2d", "static scores of VLAs against execution of the same tasks"),
}
"""Action to (module with `configure` and `run`, one-line help)."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    configure_each(parser, "action", _ACTIONS)


def run(arguments: argparse.Namespace) -> int:
    """Run the action; return the exit code."""
    return perform(f"{_ACTIONS[arguments.action][0]}:run", arguments)
