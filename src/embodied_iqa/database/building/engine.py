"""Does blocks in any number of processes, here or on a Ray cluster; the results are the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from itertools import islice
from types import TracebackType
from typing import Any, Final, Self

import cv2

from embodied_iqa.database.building.settings import EngineKind, EngineOptions
from embodied_iqa.errors import EmbodiedIqaError, InputError, MissingDependencyError
from embodied_iqa.workers import Workers, one_thread_each

__all__ = ["BlockReport", "Engine", "Job", "run_jobs"]

_WAITING_A_WORKER: Final = 2
"""Blocks that are handed out ahead: bounds memory however many there are."""
_RESTARTS: Final = 3
_OBJECT_STORE_BYTES: Final = 100_000_000


@dataclass(frozen=True, slots=True)
class BlockReport:
    """What became of a block; its rows are on the disk.

    Attributes:
        block: Its number.
        rows: How many rows were made.
        failures: Subject or kind of reason to how often.
        busy_s: Time a worker spent on it, without loading models.
        inference_s: Part of that inside of models.
    """

    block: int
    rows: int
    failures: dict[str, int] = field(default_factory=dict)
    busy_s: float = 0.0
    inference_s: float = 0.0


Job = Callable[[], BlockReport]
"""Can be pickled, may be done twice, writes its results whole or not at all."""


def run_jobs(jobs: Iterable[Job], options: EngineOptions) -> Iterator[BlockReport]:
    """Do jobs with workers of their own, see `Engine.run`."""
    with Engine(options) as engine:
        yield from engine.run(jobs)


class Engine:
    """Workers, which start with the first block and stay until all steps of a build are done.

    Args:
        options: Who does the blocks.
    """

    def __init__(self, options: EngineOptions) -> None:
        self._options = options
        self._pool: Workers | None = None
        self._ray: Any = None

    def run(self, jobs: Iterable[Job]) -> Iterator[BlockReport]:
        """Do jobs and yield what became of each as soon as it is done, in any order.

        A worker that is lost has its blocks done again by another one.

        Raises:
            InputError: A job failed, or workers are lost again and again.
            MissingDependencyError: Ray is asked for and not installed.
        """
        if self._options.kind is EngineKind.RAY:
            yield from self._on_ray(jobs)
        elif self._options.workers == 1:
            for job in jobs:
                yield job()
        else:
            yield from self._in_pool(jobs)

    def close(self) -> None:
        """End the workers; blocks that were not begun are left undone."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None
        if self._ray is not None:
            self._ray.shutdown()
            self._ray = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and self._pool is not None:
            self._pool.end()
            self._pool = None
        self.close()

    def _in_pool(self, jobs: Iterable[Job]) -> Iterator[BlockReport]:
        source, again, lost = iter(jobs), list[Job](), 0
        while True:
            waiting: dict[Future[BlockReport], Job] = {}
            ahead: list[Job] = []
            try:
                while True:
                    free = self._options.workers * _WAITING_A_WORKER - len(waiting)
                    ahead = [*_take(again, free), *islice(source, max(0, free - len(again)))]
                    while ahead:
                        future = self._workers().submit(_call, ahead[0])
                        waiting[future] = ahead.pop(0)
                    if not waiting:
                        return
                    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                    for future in done:
                        report = future.result()
                        del waiting[future]
                        lost = 0
                        yield report
            except BrokenProcessPool as error:
                self.close()
                again += [*waiting.values(), *ahead]
                lost += 1
                if lost > _RESTARTS:
                    raise InputError(
                        "workers are ended from outside again and again (out of memory?); "
                        "what is done is kept",
                        expected="the same command again, perhaps with fewer workers",
                    ) from error

    def _workers(self) -> Workers:
        if self._pool is None:
            self._pool = Workers(self._options.workers)
        return self._pool

    def _on_ray(self, jobs: Iterable[Job]) -> Iterator[BlockReport]:
        ray, source, waiting = _ray(), iter(jobs), list[Any]()
        try:
            while True:
                ahead = list(islice(source, self._options.workers * _WAITING_A_WORKER - len(waiting)))
                if ahead and not ray.is_initialized():
                    _connect(ray, self._options)
                    self._ray = ray
                remote = ray.remote(num_cpus=1, max_retries=_RESTARTS)(_call)
                waiting += [remote.remote(job) for job in ahead]
                if not waiting:
                    return
                done, waiting = ray.wait(waiting, num_returns=1)
                yield _result(ray, done[0])
        finally:
            for reference in waiting:
                ray.cancel(reference, force=True)


def _take(jobs: list[Job], count: int) -> list[Job]:
    taken, jobs[:] = jobs[:count], jobs[count:]
    return taken


def _call(job: Job) -> BlockReport:
    cv2.setNumThreads(1)
    return job()


def _ray() -> Any:
    try:
        import ray  # noqa: PLC0415 - only where it is asked for
    except ImportError:
        raise MissingDependencyError(
            "Ray is not installed", expected="pip install -r requirements/ray.txt"
        ) from None
    return ray


def _connect(ray: Any, engine: EngineOptions) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    one_thread_each()
    try:
        if engine.address:
            ray.init(address=engine.address, log_to_driver=False)
            return
        ray.init(
            num_cpus=engine.workers,
            include_dashboard=False,
            log_to_driver=False,
            object_store_memory=_OBJECT_STORE_BYTES,
        )
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        raise InputError(f"no Ray at {engine.address or 'this machine'}: {error}") from error


def _result(ray: Any, reference: Any) -> BlockReport:
    try:
        report: BlockReport = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        if isinstance(cause, EmbodiedIqaError):
            raise cause from None
        raise
    except ray.exceptions.RayError as error:
        raise InputError(
            f"Ray lost a worker again and again: {error}; what is done is kept",
            expected="the same command again, perhaps with fewer workers",
        ) from error
    return report
