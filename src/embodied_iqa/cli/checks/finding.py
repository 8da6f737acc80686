"""Checks, their findings, and code that is tried in a process of its own."""

from __future__ import annotations

import enum
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

from embodied_iqa.base.resources import source_checkout


class Status(enum.StrEnum):
    """Result of a check."""

    OK = "ok"
    MISSING = "missing"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """One row of the table.

    Attributes:
        name: What was checked.
        status: Result.
        detail: Versions, numbers, the reason.
        fix: How to fix it, one line; empty if nothing is wrong.
        required: Whether the simulated trial needs it, or what else `doctor --for` names.
    """

    name: str
    status: Status
    detail: str
    fix: str = ""
    required: bool = False

    @property
    def stops(self) -> bool:
        """Whether this finding prevents what it is required for."""
        return self.required and self.status is not Status.OK


@dataclass(frozen=True, slots=True)
class Check:
    """A check.

    Attributes:
        group: Of its findings.
        run: Makes them.
        uses: Words of `doctor --for` that need all of its findings; of the trial each finding says it itself.
    """

    group: str
    run: Callable[[], list[Finding]]
    uses: frozenset[str] = frozenset()


def install_with(target: str, extra: str) -> str:
    """Return the command that installs what is missing: of `make` in a checkout, else of pip."""
    return target if source_checkout() is not None else f"pip install 'embodied_iqa[{extra}]'"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of trying code.

    Attributes:
        worked: Whether the code ran to its end.
        text: Its last line of output, or the reason of the failure.
    """

    worked: bool
    text: str


def try_code(code: str, *, timeout_s: float = 30.0) -> Outcome:
    """Run Python code in a new interpreter: a crash or a hang there does not end the doctor.

    Args:
        code: The program; its last printed line becomes the text.
        timeout_s: Longest time to wait [s].
    """
    try:
        done = subprocess.run(  # noqa: S603 - code of this package, in this interpreter
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=timeout_s,
        )
    except subprocess.TimeoutExpired:
        return Outcome(worked=False, text=f"no answer within {timeout_s:.0f} s")
    if done.returncode == 0:
        return Outcome(worked=True, text=_last_line(done.stdout))
    if done.returncode < 0:
        return Outcome(worked=False, text=f"crashed with signal {-done.returncode}")
    return Outcome(worked=False, text=_last_line(done.stderr) or f"exit code {done.returncode}")


def _last_line(text: str) -> str:
    """Return the last line that is not indented: the exception of a traceback."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip() and not line[0].isspace()]
    return lines[-1] if lines else ""
