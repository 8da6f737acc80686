"""What takes long to open stays open while its owner works: renderers, models; each thread has its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar, cast

from embodied_iqa.base.workers import at_end_of_worker


class _Closable(Protocol):
    """What is closed at its end."""

    def close(self) -> object:
        """Close it."""
        ...


_Thing = TypeVar("_Thing", bound=_Closable)


class _Kept:
    """The things of one thread, and the number of owners that keep them open."""

    def __init__(self) -> None:
        self.owners = 0
        self.is_worker = False
        self.things: dict[Hashable, _Closable] = {}

    def close(self) -> None:
        while self.things:
            self.things.popitem()[1].close()


_threads = threading.local()


def _of_this_thread() -> _Kept:
    if not hasattr(_threads, "kept"):
        _threads.kept = _Kept()
    kept: _Kept = _threads.kept
    return kept


@contextmanager
def keep_open() -> Iterator[None]:
    """Own what `lent` opens in this thread: the outermost block closes it."""
    kept = _of_this_thread()
    kept.owners += 1
    try:
        yield
    finally:
        kept.owners -= 1
        if not kept.owners:
            kept.close()


def keep_open_in_worker() -> None:
    """Own what `lent` opens in this thread until its process ends; call it in a worker, again at will."""
    kept = _of_this_thread()
    if not kept.is_worker:
        kept.is_worker = True
        kept.owners += 1
        at_end_of_worker(kept.close)


@contextmanager
def lent(key: Hashable, make: Callable[[], _Thing]) -> Iterator[_Thing]:
    """Lend a thing of this thread; one that no owner keeps is made, and closed with the block.

    Args:
        key: What it is made from; things of equal keys are the same.
        make: Opens it.
    """
    with keep_open():
        things = _of_this_thread().things
        if key not in things:
            things[key] = make()
        yield cast("_Thing", things[key])


def kept_things() -> tuple[_Closable, ...]:
    """Return what is open in this thread."""
    return tuple(_of_this_thread().things.values())
