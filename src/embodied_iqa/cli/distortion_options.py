"""`--seed` and `--schedule` of commands whose runs are distorted."""

from __future__ import annotations

import argparse
from typing import Final

from embodied_iqa.distortions.time_course import KINDS

_EXAMPLE: Final = "burst:start=2,length=1"


def add_distortion_options(parser: argparse.ArgumentParser) -> None:
    """Add `--seed` and `--schedule`."""
    add = parser.add_argument
    add("--seed", type=int, default=0, metavar="N", help="seed of the distortions (default 0)")
    add(
        "--schedule",
        default="",
        metavar="COURSE",
        help=f"level over time since the start of a run: {', '.join(KINDS)}, such as {_EXAMPLE} [s]"
        " (default: constant)",
    )
