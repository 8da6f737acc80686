"""Worker processes: one processor each, and none outlives the process that began it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Final, ParamSpec, Self, TypeVar

from embodied_iqa.errors import InputError

__all__ = ["Workers", "one_thread_each", "result_of"]

_ONE_THREAD: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_RASTERISER: Final = "LP_NUM_THREADS"

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def one_thread_each() -> None:
    """Let processes that are begun from now on work with one thread; read by their libraries at the start.

    What the user has set stays, but for Mesa: `simulation` sets that for this process itself.
    """
    for variable in _ONE_THREAD:
        os.environ.setdefault(variable, "1")
    os.environ[_RASTERISER] = "1"


class Workers:
    """Processes that do jobs; new ones, since a graphics context does not survive a fork.

    They end with this process, however it ends, and leave Ctrl-C to it. Leaving the ``with`` block waits for
    the jobs under way; leaving it by an error ends them.

    Args:
        count: How many.
        begin: Called once in each, before its first job.
        arguments: Its arguments.
    """

    def __init__(self, count: int, begin: Callable[..., object] | None = None, *arguments: Any) -> None:
        one_thread_each()
        context = multiprocessing.get_context("spawn")
        # Nobody writes: the workers wait for its end, which comes when this process closes it or dies.
        watched, self._kept_open = context.Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(count, context, _begin, (watched, begin, arguments))

    def submit(
        self,
        job: Callable[_Arguments, _Result],
        *arguments: _Arguments.args,
        **named: _Arguments.kwargs,
    ) -> Future[_Result]:
        """Hand out a job."""
        return self._pool.submit(job, *arguments, **named)

    def close(self) -> None:
        """Wait for the jobs under way; those not begun are left undone."""
        self._pool.shutdown(cancel_futures=True)
        self._kept_open.close()

    def end(self) -> None:
        """End the workers at once, whatever they do."""
        self._kept_open.close()
        self._pool.shutdown(cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.end()


def result_of(job: Future[_Result]) -> _Result:
    """Wait for a job.

    Raises:
        InputError: Its worker was ended from outside.
    """
    try:
        return job.result()
    except BrokenProcessPool as error:
        raise InputError(
            "a worker was ended from outside (out of memory?); what is done is kept",
            expected="the same command again, perhaps with fewer workers",
        ) from error


def _begin(watched: Connection, begin: Callable[..., object] | None, arguments: tuple[Any, ...]) -> None:
    import cv2  # noqa: PLC0415 - not before the number of threads is known

    cv2.setNumThreads(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, args=(watched,), daemon=True).start()
    if begin is not None:
        begin(*arguments)


def _end_with_parent(watched: Connection) -> None:
    try:
        watched.recv_bytes()
    except (EOFError, OSError):
        os._exit(1)
