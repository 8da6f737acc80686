"""What takes long to open stays open while its owner works: renderers, models; each thread has its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from embodied_iqa.base.workers import at_end_of_worker

_Thing = TypeVar("_Thing")


class _Kept(threading.local):
    """What one thread has open, and the number of owners that keep it so."""

    def __init__(self) -> None:
        self.owners = 0
        self.is_worker = False
        self.things: dict[Hashable, Any] = {}

    def close(self) -> None:
        while self.things:
            self.things.popitem()[1].close()


_kept = _Kept()


@contextmanager
def keep_open() -> Iterator[None]:
    """Own what `lent` opens in this thread: the outermost block closes it."""
    _kept.owners += 1
    try:
        yield
    finally:
        _kept.owners -= 1
        if not _kept.owners:
            _kept.close()


def keep_open_in_worker() -> None:
    """Own what `lent` opens until this process ends: in the main thread of a worker, again at will."""
    if not _kept.is_worker:
        _kept.is_worker = True
        _kept.owners += 1
        at_end_of_worker(_kept.close)


@contextmanager
def lent(key: Hashable, make: Callable[[], _Thing]) -> Iterator[_Thing]:
    """Lend a thing of this thread; one that no owner keeps is made, and closed with the block.

    Args:
        key: What it is made from; things of equal keys are the same.
        make: Opens it; it has a method ``close``.
    """
    with keep_open():
        if key not in _kept.things:
            _kept.things[key] = make()
        thing: _Thing = _kept.things[key]
        yield thing


def kept_things() -> tuple[Any, ...]:
    """Return what is open in this thread."""
    return tuple(_kept.things.values())
