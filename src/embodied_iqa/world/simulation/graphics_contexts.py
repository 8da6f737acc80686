"""Graphics contexts that are open: each is closed by its owner, in the thread that made it.

EGL binds a context to a thread: to close it anywhere else fails (``EGL_BAD_ACCESS``) or leaks. The garbage
collector runs in any thread, so that it must not close one. What an owner forgot stays here, untouched, and
is reported at the end of the process.
"""

from __future__ import annotations

import atexit
import contextlib
import inspect
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from embodied_iqa.base.errors import InternalError

_NOT_CALLERS: Final = (str(Path(__file__).parent), contextlib.__file__)
_CALLERS: Final = 3

_open: set[GraphicsContext] = set()
"""Keeps the engine's renderers alive: their finalizers call EGL."""


class GraphicsContext:
    """A renderer of the engine, bound to the thread that opened it.

    Attributes:
        renderer: The engine's renderer; None while it is closed.
        thread: The thread that opened it.
        made_at: File and line of the caller outside of this package's `simulation`, and of its callers.
    """

    def __init__(self) -> None:
        self.renderer: Any = None
        self.thread = threading.current_thread()
        self.made_at = " < ".join(_callers())

    def open(self, kind: Any, *arguments: object, **named: object) -> None:
        """Make a renderer.

        Args:
            kind: The engine's class of renderers, with `close`.
            arguments: Of its constructor.
            named: Of its constructor.
        """
        self.close()
        self.thread = threading.current_thread()
        # in two steps: what fails half-way holds a context too, and is closed here
        self.renderer = kind.__new__(kind)
        _open.add(self)
        try:
            self.renderer.__init__(*arguments, **named)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Release the context; calling it twice is fine.

        Raises:
            InternalError: Another thread made it.
        """
        if self.renderer is not None:
            self.check_thread()
            self.renderer.close()
            self.renderer = None
            _open.discard(self)

    def check_thread(self) -> None:
        """Check that this thread made the context.

        Raises:
            InternalError: Another one did.
        """
        here = threading.current_thread()
        if here is not self.thread:
            raise InternalError(
                f"a graphics context belongs to the thread that made it: expected {self.thread.name}, "
                f"got {here.name}; made at {self.made_at}"
            )


def open_contexts() -> tuple[GraphicsContext, ...]:
    """Return the contexts that no owner has closed, also those whose owner is gone."""
    return tuple(_open)


@atexit.register
def report_open_contexts() -> None:
    """Report each context that was left open, in one line on stderr."""
    for context in open_contexts():
        sys.stderr.write(
            f"embodied-iqa: internal: a graphics context of thread {context.thread.name} was left open; "
            f"made at {context.made_at}\n"
        )


def _callers() -> Iterator[str]:
    """Yield file and line of the nearest callers outside of this folder."""
    frame, left = inspect.currentframe(), _CALLERS
    while frame is not None and left:
        file = frame.f_code.co_filename
        if not file.startswith(_NOT_CALLERS):
            yield f"{file}:{frame.f_lineno}"
            left -= 1
        frame = frame.f_back
