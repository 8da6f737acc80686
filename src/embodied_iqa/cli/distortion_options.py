"""`--seed` and `--schedule` of commands whose runs are distorted."""

from __future__ import annotations

import argparse
from typing import Final

from embodied_iqa.base.errors import UsageError
from embodied_iqa.cli.output import print_note
from embodied_iqa.cli.plan_options import seed_number
from embodied_iqa.imaging.distortions.time_course import (
    FORMER_VIEW_NOTE,
    KINDS,
    canonical_schedule,
    has_former_word,
)

_EXAMPLE: Final = "burst:start=2,length=1"


def add_distortion_options(parser: argparse.ArgumentParser) -> None:
    """Add `--seed` and `--schedule`."""
    add = parser.add_argument
    add("--seed", type=seed_number, default=0, metavar="N", help="seed of the distortions (default 0)")
    add(
        "--schedule",
        action="append",
        default=[],
        metavar="COURSE",
        help=f"level over time since the start of a run: {', '.join(KINDS)}, such as {_EXAMPLE} [s]; with"
        " view=NAME of that view only (default: constant, also ''); may be repeated: every distortion"
        " with each",
    )


def schedules_of(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return the schedules of `--schedule` in full, an empty text for constant levels.

    Raises:
        UsageError: A wrong schedule, or the same twice.
    """
    print_note(FORMER_VIEW_NOTE if any(map(has_former_word, arguments.schedule)) else "")
    schedules = [canonical_schedule(word) for word in arguments.schedule] or [""]
    twice = next((one for one in schedules if schedules.count(one) > 1), None)
    if twice is not None:
        raise UsageError("duplicate schedule", got=twice)
    return tuple(schedules)
