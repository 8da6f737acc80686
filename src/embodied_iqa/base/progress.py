"""Progress bars on standard error; plain lines, a few a minute, where it is not a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Self, TypeVar

_LINE_PERIOD_S: Final = 15.0

_Item = TypeVar("_Item")


@dataclass(slots=True)
class _Stage:
    """A stage of the work: its bar, or what its plain lines say."""

    task: Any
    started_s: float
    printed_s: float
    done: float = 0
    total: float | None = None
    line: str = ""


class ProgressBars:
    """One bar per stage, used as a context manager.

    Args:
        transient: Remove the bars at the end.
        in_bytes: Count bytes instead of items.
    """

    def __init__(self, *, transient: bool = True, in_bytes: bool = False) -> None:
        self._bars = _rich_bars(transient=transient, in_bytes=in_bytes) if sys.stderr.isatty() else None
        self._stages: dict[str, _Stage] = {}

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def update(
        self, stage: str, done: float, total: float | None = None, *, title: str = "", note: str = ""
    ) -> None:
        """Set how much of a stage is done; its first update shows its bar.

        Args:
            stage: Identifies the stage.
            done: Finished items or bytes.
            total: All of them; None keeps the last value, at first "unknown".
            title: Shown instead of ``stage``.
            note: Shown behind the bar.
        """
        now_s = time.monotonic()
        if stage not in self._stages:
            task = None if self._bars is None else self._bars.add_task(title or stage, total=total, note=note)
            begun_s = min((other.started_s for other in self._stages.values()), default=now_s)
            self._stages[stage] = _Stage(task, now_s, begun_s)  # long work names each stage as it begins
        state = self._stages[stage]
        state.done = done
        state.total = total if total is not None else state.total
        if self._bars is not None:
            self._bars.update(
                state.task, completed=done, total=state.total, description=title or stage, note=note
            )
        elif now_s - state.printed_s > _LINE_PERIOD_S:
            of_all = "" if state.total is None else f" of {state.total:,.0f}"
            line = ": ".join(filter(None, [title or stage, f"{done:,.0f}{of_all}", note]))
            if line != state.line:  # an unchanged line is not printed again
                state.printed_s, state.line = now_s, line
                sys.stderr.write(f"{line}\n")

    def advance(self, stage: str, *, note: str = "") -> None:
        """Count one more item of a stage as done."""
        self.update(stage, self._stages[stage].done + 1, note=note)

    def per_second(self, stage: str, count: float) -> float:
        """Return ``count`` divided by the time since the first update of a stage (1/s)."""
        return count / max(time.monotonic() - self._stages[stage].started_s, 1e-3)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Hide the bars while the terminal is used for something else."""
        if self._bars is None:
            yield
            return
        self._bars.stop()
        try:
            yield
        finally:
            self._bars.start()


def track(items: Iterable[_Item], title: str, total: int | None = None) -> Iterator[_Item]:
    """Iterate over ``items`` and show a bar; ``total`` is needed where the items have no length."""
    number = len(items) if total is None and isinstance(items, Sized) else total
    with ProgressBars() as bars:
        for index, item in enumerate(items):
            bars.update(title, index, number)
            yield item


def _rich_bars(*, transient: bool, in_bytes: bool) -> Any:
    """Return the bars; None with the extra `gate` alone, which prints plain lines."""
    try:
        from rich.console import Console  # noqa: PLC0415 - short start-up
        from rich.progress import (  # noqa: PLC0415 - short start-up
            BarColumn,
            DownloadColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
    except ModuleNotFoundError:
        return None

    return Progress(
        TextColumn("{task.description}", markup=False),  # a task may have brackets
        BarColumn(),
        DownloadColumn() if in_bytes else MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        console=Console(stderr=True),
        transient=transient,
    )
