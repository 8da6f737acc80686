"""Steps of episodes from the Parquet files of a LeRobot data set, with the cells that hold images."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from embodied_iqa.base.errors import InputError
from embodied_iqa.data.lerobot.episodes import Episode
from embodied_iqa.data.lerobot.info import ACTION, STATE, DatasetInfo
from embodied_iqa.data.lerobot.parquet import batches, column_types

_ROWS: Final = 16
"""Rows in memory at a time, with their images."""
_PLACES: Final = ("episode_index", "frame_index", "timestamp", "task_index")
_LONGEST_S: Final = 1e7


@dataclass(frozen=True, slots=True)
class Step:
    """A step of an episode.

    Attributes:
        episode: Number of the episode.
        index: Number of the step in it.
        time_s: Since its start, as stored.
        task: In words; None where the data set does not say.
        state: What the robot measured of itself, in the data set's units; None where it has none.
        action: What was done, likewise.
    """

    episode: int
    index: int
    time_s: float
    task: str | None
    state: tuple[float, ...] | None
    action: tuple[float, ...] | None

    @property
    def stamp_ns(self) -> int:
        """Time since the start of the episode, to the microsecond: it is stored with 24 bits."""
        return round(self.time_s * 1e6) * 1000


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file of a data set.

    Attributes:
        path: The file.
        info: Of the data set.
        tasks: By number.
    """

    path: Path
    info: DatasetInfo
    tasks: Mapping[int, str]

    def steps(
        self, episodes: Sequence[Episode], cells: Sequence[str] = ()
    ) -> Iterator[tuple[Episode, Step | InputError, dict[str, Any]]]:
        """Iterate over episodes of the file in its order: episode, step, and the cells of more columns.

        Instead of a step comes what is wrong with it, or with the number of steps; the rest of its episode
        is then left out.

        Args:
            episodes: Those that are wanted.
            cells: Columns; one that the file lacks gives None.

        Raises:
            InputError: The file is damaged.
        """
        wanted = {episode.index: episode for episode in episodes}
        present = column_types(self.path)
        for name in _PLACES:
            _check_type(self.path, name, present.get(name))
        numbers = [key for key in self.info.sizes if key in present]
        stored = [key for key in cells if key in present]
        counts = dict.fromkeys(wanted, 0)
        last: dict[int, Step] = {}
        for batch in batches(self.path, (*_PLACES, *numbers, *stored), _ROWS):
            for row, index in enumerate(batch["episode_index"]):
                if index not in wanted:
                    continue
                places = {name: batch[name][row] for name in (*_PLACES, *numbers)}
                step = self._step_or_fault(last.get(index), places)
                yield wanted[index], step, {key: batch[key][row] if key in stored else None for key in cells}
                if isinstance(step, InputError):
                    del wanted[index]
                else:
                    last[index] = step
                    counts[index] += 1
        for index, episode in wanted.items():
            if counts[index] != episode.steps:
                fault = f"{self.path}: episode {index} is not whole"
                expected = f"{episode.steps} steps"
                yield episode, InputError(fault, expected=expected, got=counts[index]), {}

    def _step_or_fault(self, last: Step | None, row: Mapping[str, Any]) -> Step | InputError:
        try:
            step = self._step(row)
            self._check_order(last, step)
        except InputError as error:
            return error
        return step

    def _step(self, row: Mapping[str, Any]) -> Step:
        time_s, index, number = row["timestamp"], row["frame_index"], row["task_index"]
        place = f"{self.path}: episode {row['episode_index']}"
        if type(index) is not int or index < 0:
            raise InputError(f"{place} has a step with a wrong frame_index", got=index)
        if type(time_s) is not float or not 0 <= time_s < _LONGEST_S:
            raise InputError(f"{place}, step {index}: wrong timestamp", expected="seconds from 0", got=time_s)
        return Step(
            row["episode_index"],
            index,
            time_s,
            self.tasks.get(number),
            self._numbers(f"{place}, step {index}", STATE, row),
            self._numbers(f"{place}, step {index}", ACTION, row),
        )

    def _numbers(self, place: str, key: str, row: Mapping[str, Any]) -> tuple[float, ...] | None:
        if key not in row:
            return None
        values = _flat(row[key])
        size = self.info.sizes[key]
        if len(values) != size or not all(map(_is_finite, values)):
            raise InputError(f"{place}: wrong {key}", expected=f"{size} finite numbers", got=row[key])
        return tuple(map(float, values))

    def _check_order(self, last: Step | None, step: Step) -> None:
        if last is not None and (step.index <= last.index or step.time_s <= last.time_s):
            raise InputError(
                f"{self.path}: episode {step.episode} goes backwards at step {step.index}",
                expected=f"a step after {last.index} and {last.time_s:.6f} s",
                got=f"{step.time_s:.6f} s",
            )


def _check_type(path: Path, name: str, kind: Any) -> None:
    is_time = name == "timestamp"
    if kind is not None and not (pa.types.is_floating(kind) if is_time else pa.types.is_integer(kind)):
        expected = "floating-point numbers" if is_time else "whole numbers"
        raise InputError(f"{path}: wrong column {name}", expected=expected, got=str(kind))


def _flat(value: Any) -> list[Any]:
    while isinstance(value, list) and any(isinstance(one, list) for one in value):
        value = list(chain.from_iterable(one if isinstance(one, list) else [one] for one in value))
    return value if isinstance(value, list) else [value]


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
