"""Execution of jobs in any number of processes, on this machine or on a Ray cluster."""

from __future__ import annotations

import logging
import os
import pickle
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from itertools import chain, islice
from typing import Any, Final, Self, TypeVar

from embodied_iqa.base.errors import EmbodiedIqaError, InputError, InternalError, UsageError, first_line
from embodied_iqa.base.kept import keep_open, keep_open_in_worker
from embodied_iqa.base.lazy import load
from embodied_iqa.base.workers import Workers, one_thread_each

_JOBS_PER_WORKER: Final = 2
"""Jobs that are submitted ahead: bounds the memory, however many there are."""
_RESTARTS: Final = 3
_OBJECT_STORE_BYTES: Final = 100_000_000
_CONNECT_S: Final = 300.0
"""Longer than the steps for which Ray has limits of its own, of 30 and 60 s."""
_ADVICE: Final = "the same command again, perhaps with fewer workers"

_Result = TypeVar("_Result")


class EngineKind(StrEnum):
    """What runs the jobs."""

    PROCESSES = "processes"
    RAY = "ray"


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What runs the jobs.

    Attributes:
        kind: A pool of processes on this machine, or Ray.
        workers: Number of jobs in parallel; 1 runs them in this process.
        address: Of a Ray cluster; empty to start one on this machine.
    """

    kind: EngineKind = EngineKind.PROCESSES
    workers: int = 1
    address: str = ""

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise UsageError("wrong number of workers", expected="1 or more", got=self.workers)


@dataclass(frozen=True, slots=True)
class BlockReport:
    """Result of a job that writes its rows to the disk.

    Attributes:
        block: Number of the block.
        rows: Number of new rows.
        failures: Number of failures by subject or kind of reason.
        busy_s: Time of the worker, without loading models.
        inference_s: Part of this time inside of models.
    """

    block: int
    rows: int
    failures: Mapping[str, int] = field(default_factory=dict)
    busy_s: float = 0.0
    inference_s: float = 0.0


Job = Callable[[], BlockReport]
"""Can be pickled, may run twice, writes its results whole or not at all."""


def run_jobs(
    jobs: Iterable[Callable[[], _Result]], options: EngineOptions, *, in_order: bool = False
) -> Iterator[_Result]:
    """Run jobs with an engine of their own, see `Engine.run`."""
    with Engine(options) as engine:
        yield from engine.run(jobs, in_order=in_order)


class Engine:
    """Workers that start with the first job and stay until the end of the ``with`` block.

    They end with this process. What their jobs keep open, see `base.kept`, stays open as long.

    Args:
        options: What runs the jobs.
    """

    def __init__(self, options: EngineOptions) -> None:
        self._options = options
        self._pool: Workers | None = None
        self._ray = ExitStack()
        self._kept = ExitStack()

    def run(self, jobs: Iterable[Callable[[], _Result]], *, in_order: bool = False) -> Iterator[_Result]:
        """Run jobs and yield each result as soon as it is there.

        Jobs of a lost worker run again on another one.

        Args:
            jobs: Can be pickled, may run twice.
            in_order: Yield the results in the order of the jobs; otherwise in any order.

        Raises:
            InputError: A job failed, or workers are lost repeatedly.
            MissingDependencyError: Ray is requested and not installed.
        """
        if self._options.kind is EngineKind.RAY:
            yield from self._on_ray(jobs, in_order=in_order)
        elif self._options.workers == 1:
            for job in jobs:
                yield job()
        else:
            yield from self._in_pool(jobs, in_order=in_order)

    def close(self) -> None:
        """Stop the workers; jobs that have not started do not run."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None
        self._ray.close()

    def __enter__(self) -> Self:
        self._kept.enter_context(keep_open())
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and self._pool is not None:
            self._pool.end()
            self._pool = None
        self.close()
        self._kept.close()

    def _in_pool(self, jobs: Iterable[Callable[[], _Result]], *, in_order: bool) -> Iterator[_Result]:
        source, lost = iter(jobs), 0
        while True:
            running: dict[Future[_Result], Callable[[], _Result]] = {}
            ahead: list[Callable[[], _Result]] = []
            try:
                while True:
                    ahead = list(islice(source, self._options.workers * _JOBS_PER_WORKER - len(running)))
                    while ahead:
                        future = self._workers_for(ahead[0]).submit(_call, ahead[0])
                        running[future] = ahead.pop(0)
                    if not running:
                        return
                    first = [next(iter(running))] if in_order else running
                    done, _ = wait(first, return_when=FIRST_COMPLETED)
                    for future in done:
                        result = future.result()
                        del running[future]
                        lost = 0
                        yield result
            except BrokenProcessPool as error:
                self.close()
                source = chain([*running.values(), *ahead], source)
                lost += 1
                if lost > _RESTARTS:
                    raise InputError(
                        "workers are killed repeatedly (out of memory?); finished work is kept",
                        expected=_ADVICE,
                    ) from error

    def _workers_for(self, job: Callable[[], object]) -> Workers:
        if self._pool is None:
            self._pool = Workers(self._options.workers, [_module_of(job), __name__])
        return self._pool

    def _on_ray(self, jobs: Iterable[Callable[[], _Result]], *, in_order: bool) -> Iterator[_Result]:
        ray = load("ray", install="pip install -r requirements/ray.txt")
        source, running = iter(jobs), list[Any]()
        try:
            while True:
                ahead = list(islice(source, self._options.workers * _JOBS_PER_WORKER - len(running)))
                if ahead and not ray.is_initialized():
                    over = _connect(ray, self._options)
                    self._ray.callback(over.set)
                    self._ray.callback(ray.shutdown)
                remote = ray.remote(num_cpus=1, max_retries=_RESTARTS)(_call)
                running += [remote.remote(job) for job in ahead]
                if not running:
                    return
                done, _ = ray.wait(running[:1] if in_order else running, num_returns=1)
                running.remove(done[0])
                yield _result(ray, done[0])
        finally:
            for reference in running:
                ray.cancel(reference, force=True)


def _module_of(job: Callable[[], object]) -> str:
    """Return the name of the module that defines a job, which may be a function with its arguments."""
    function = job.func if isinstance(job, partial) else job
    function = getattr(function, "__func__", function)
    return str(getattr(function, "__module__", type(function).__module__))


def _call(job: Callable[[], _Result]) -> _Result:
    import cv2  # noqa: PLC0415 - only in workers, after the number of threads is set

    cv2.setNumThreads(1)
    keep_open_in_worker()
    try:
        return job()
    except Exception as error:
        if _can_be_sent(error):
            raise
        raise InternalError(f"{type(error).__name__}: {first_line(error)}") from error


def _can_be_sent(error: Exception) -> bool:
    """Return whether an error survives pickling; one that does not ends the pool, as if it were killed."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - what this process has written
    except Exception:  # noqa: BLE001 - the error of another library may raise anything
        return False
    return True


def _connect(ray: Any, options: EngineOptions, deadline_s: float = _CONNECT_S) -> threading.Event:
    """Start Ray or reach its cluster, in a thread: not all of Ray's own waits have an end.

    Returns:
        Ends the thread once Ray is shut down: Linux ends Ray's processes with the thread that started them.

    Raises:
        InputError: Ray is missing, or did not respond in time.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")  # that of the command, as in a pool
    one_thread_each()
    local: dict[str, Any] = {
        "num_cpus": options.workers,
        "include_dashboard": False,
        "object_store_memory": _OBJECT_STORE_BYTES,
    }
    where = options.address or "this machine"
    started, over = Future[None](), threading.Event()

    def start() -> None:
        try:
            ray.init(
                **({"address": options.address} if options.address else local),
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        except Exception as error:  # noqa: BLE001 - Ray raises Exception itself when a node does not start
            started.set_exception(error)
        else:
            started.set_result(None)
            over.wait()

    threading.Thread(target=start, name="start of Ray", daemon=True).start()
    if not wait([started], deadline_s).done:
        raise InputError(f"no Ray at {where} after {deadline_s:g} s", expected="one that starts and answers")
    if (error := started.exception()) is not None:
        raise InputError(f"no Ray at {where}: {first_line(error)}") from error
    return over


def _result(ray: Any, reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, EmbodiedIqaError):
            raise error.cause from None
        raise
    except ray.exceptions.RayError as error:
        raise InputError(
            f"Ray lost a worker repeatedly: {error}; finished work is kept", expected=_ADVICE
        ) from error
