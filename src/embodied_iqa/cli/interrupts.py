"""Ctrl-C at a command: while it is imported, while it runs, and where Python ignores exceptions.

`main` imports this module before all others. What nothing but imports has happened in ends at once: an
exception would leave an import in the middle, from where it comes with a traceback, or as another error of an
extension module.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sys import UnraisableHookArgs
    from types import FrameType

INTERRUPTED: Final = "embodied-iqa: interrupted"
EXIT_CODE: Final = 130
_AGAIN_S: Final = 0.05
_COMMAND: Final = ("/embodied-iqa", "/embodied_iqa/__main__.py", "/embodied_iqa/cli/main.py")
"""Ends of the name under which the process of a command was started."""


def _end_at_once(_number: int, _frame: FrameType | None) -> None:
    os.write(2, f"{INTERRUPTED}\n".encode())
    os._exit(EXIT_CODE)


if sys.argv[0].endswith(_COMMAND):
    signal.signal(signal.SIGINT, _end_at_once)


def raise_interrupts() -> None:
    """Let Ctrl-C raise `KeyboardInterrupt` from now on: the command begins."""
    if signal.getsignal(signal.SIGINT) is _end_at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def keep_interrupts() -> None:
    """Raise Ctrl-C again that arrived while Python finalized an object, where exceptions are ignored."""
    report = sys.unraisablehook

    def hook(ignored: UnraisableHookArgs) -> None:
        if issubclass(ignored.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
        else:
            report(ignored)

    signal.signal(signal.SIGALRM, signal.default_int_handler)
    sys.unraisablehook = hook
