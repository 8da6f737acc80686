"""Worker processes: single-threaded, and stopped with the process that started them."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing.connection import Connection
from multiprocessing.util import Finalize
from typing import Any, Final, ParamSpec, Self, TypeVar

_ONE_THREAD: Final = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENCV_FOR_THREADS_NUM",  # a fork does not have the threads that OpenCV has started before
)
_OURS: Final = ("LP_NUM_THREADS", "OPJ_NUM_THREADS")
"""Threads of Mesa's rasteriser and of OpenJPEG, which `world.simulation` and `imaging.distortions` set."""

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def one_thread_each() -> None:
    """Limit processes that start from now on to one thread; their libraries read this when they load.

    Values of the user are kept, except for those that the package sets for this process itself.
    """
    for variable in _ONE_THREAD:
        os.environ.setdefault(variable, "1")
    os.environ.update(dict.fromkeys(_OURS, "1"))


class Workers:
    """Pool of processes, forked from one that has nothing open: a graphics context does not survive a fork.

    They stop with this process, however it ends, and ignore Ctrl-C. Leaving the ``with`` block waits for
    running jobs; leaving it with an exception kills them.

    Args:
        count: Number of processes.
        modules: Names of what jobs import. The first pool of a process has them imported once, for all
            workers.
    """

    def __init__(self, count: int, modules: Sequence[str] = ()) -> None:
        one_thread_each()
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([*modules, "cv2"])
        # Nothing is written: the workers wait for the end of file, when this process closes it or dies.
        watched, self._kept_open = context.Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(count, context, _begin, (watched, dict(os.environ)))
        # All workers start with the first job: nobody ends one that starts while the pool shuts down after
        # another one died, and the pool waits for it forever.
        pool: Any = self._pool
        pool._safe_to_dynamically_spawn_children = False  # noqa: SLF001 - has no public name

    def submit(
        self,
        job: Callable[_Arguments, _Result],
        *arguments: _Arguments.args,
        **named: _Arguments.kwargs,
    ) -> Future[_Result]:
        """Submit a job."""
        return self._pool.submit(job, *arguments, **named)

    def close(self) -> None:
        """Wait for running jobs; jobs that have not started do not run."""
        self._pool.shutdown(cancel_futures=True)
        self._kept_open.close()

    def end(self) -> None:
        """Stop the workers at once."""
        self._kept_open.close()
        self._pool.shutdown(cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.end()


def at_end_of_worker(action: Callable[[], object]) -> None:
    """Call an action in the main thread of this worker process before it ends, unless it is killed."""
    Finalize(None, action, exitpriority=0)


def _begin(watched: Connection, environment: Mapping[str, str]) -> None:
    import cv2  # noqa: PLC0415 - only after the number of threads is set

    os.environ.clear()  # what the first pool found may be of another time
    os.environ.update(environment)
    cv2.setNumThreads(1)
    # A forked process of multiprocessing ends without them.
    Finalize(None, atexit._run_exitfuncs, exitpriority=-1)  # noqa: SLF001 - has no public name
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, args=(watched,), daemon=True).start()


def _end_with_parent(watched: Connection) -> None:
    try:
        watched.recv_bytes()
    except (EOFError, OSError):
        os._exit(1)
