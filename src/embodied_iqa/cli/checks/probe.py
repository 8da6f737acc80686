"""Tries things out in a process of their own: what crashes or hangs there does not end the doctor."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

__all__ = ["Outcome", "try_code"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a try ended.

    Attributes:
        worked: Whether the code ran to its end.
        text: Its last line of output, or the reason why it failed.
    """

    worked: bool
    text: str


def try_code(code: str, *, timeout_s: float = 30.0) -> Outcome:
    """Run Python code in a fresh interpreter.

    Args:
        code: The program; its last printed line becomes the text.
        timeout_s: Longest time to wait [s].
    """
    try:
        done = subprocess.run(  # noqa: S603 - our own code in our own interpreter
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
    """Return the last line that is not indented: of a traceback, the one with the exception."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip() and not line[0].isspace()]
    return lines[-1] if lines else ""
