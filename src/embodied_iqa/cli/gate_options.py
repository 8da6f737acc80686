"""`--calibration` and `--judge`: the file and the judge of a gate, the same in every command that has one."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Final, Protocol

from embodied_iqa.base.config import Scalar
from embodied_iqa.quality.gate.judgement import JudgeKind, parse_judge

_FILE: Final = "file of `gate calibrate` or `gate fit`"
_JUDGES: Final = "statistics, learned or metric:NAME"


class _Add(Protocol):
    """`add_argument` of a parser or of a group."""

    def __call__(self, *names: str, **options: Any) -> object: ...


def add_calibration(add: _Add, more: str = "", *, required: bool = False) -> None:
    """Add `--calibration`.

    Args:
        add: `add_argument` of the command.
        more: What the help says besides.
        required: Whether the command needs it.
    """
    add("--calibration", type=Path, required=required, metavar="FILE", help=f"{_FILE}{more}")


def add_judge(
    add: _Add, default: JudgeKind | None = JudgeKind.STATISTICS, more: str = "", kinds: str = _JUDGES
) -> None:
    """Add `--judge`.

    Args:
        add: `add_argument` of the command.
        default: None where the parameters decide.
        more: What the help says besides.
        kinds: Those that the command takes.
    """
    ending = "" if default is None else f" (default {default})"
    add("--judge", default=default and str(default), metavar="NAME", help=f"{kinds}{more}{ending}")


def gate_overrides(arguments: argparse.Namespace) -> dict[str, Scalar]:
    """Return the parameters that the two options set, where a command has them.

    Raises:
        UsageError: An unknown judge.
    """
    found: dict[str, Scalar] = {}
    if arguments.calibration is not None:
        found["gate_node.calibration"] = str(arguments.calibration)
    if (judge := getattr(arguments, "judge", None)) is not None:
        found["gate_node.judge.kind"] = str(parse_judge(judge))
    return found
