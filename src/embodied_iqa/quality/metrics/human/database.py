"""A database of human opinions, in memory without its images."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.jobs.plan import digest_of
from embodied_iqa.base.lazy import load
from embodied_iqa.imaging.images.codecs import read_image
from embodied_iqa.quality.metrics.image_set import PairImages
from embodied_iqa.quality.metrics.metric import Image


@dataclass(frozen=True, slots=True)
class HumanPair:
    """A rated image.

    Attributes:
        pair_id: Path of the image in the database.
        reference_id: Path of its reference; its own where there is none.
        opinion: Mean opinion score, higher is better.
        has_reference: Whether `reference_id` is another image.
    """

    pair_id: str
    reference_id: str
    opinion: float
    has_reference: bool = True


@dataclass(frozen=True, slots=True)
class HumanDatabase:
    """A database of human opinions; an `ImageSet`.

    Attributes:
        name: Short name.
        path: Its folder.
        pairs: Those of one reference are neighbours.
    """

    name: str
    path: Path
    pairs: tuple[HumanPair, ...]
    _by_id: Mapping[str, HumanPair] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_id", {pair.pair_id: pair for pair in self.pairs})
        if not self.pairs or len(self._by_id) != len(self.pairs):
            raise InputError(f"{self.path} is empty or lists an image twice", got=len(self.pairs))
        missing = [file for file in self._files() if not (self.path / file).is_file()]
        if missing:
            shown = f"{missing[0]} and {len(missing) - 1} more" if len(missing) > 1 else missing[0]
            raise InputError(f"{self.path} lacks images of {self.name}", got=shown)

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the name of the folder to other processes, which read it once each."""
        return _again, (self.name, self.path)

    @property
    def has_references(self) -> bool:
        """Whether full-reference metrics can be measured."""
        return all(pair.has_reference for pair in self.pairs)

    @property
    def pair_ids(self) -> NDArray[np.str_]:
        """``(N,)`` images."""
        return np.array([pair.pair_id for pair in self.pairs])

    @property
    def reference_ids(self) -> NDArray[np.str_]:
        """``(N,)`` references."""
        return np.array([pair.reference_id for pair in self.pairs])

    @property
    def opinions(self) -> NDArray[np.float64]:
        """``(N,)`` mean opinion scores, higher is better."""
        return np.array([pair.opinion for pair in self.pairs])

    def read(self, pair_ids: Sequence[str]) -> Iterator[PairImages]:
        """Yield images with their references.

        Raises:
            InputError: An image does not exist or is damaged.
        """
        kept: dict[str, Image] = {}
        for name in pair_ids:
            if name not in self._by_id:
                raise InputError(f"{self.name} has no such image", got=name)
            pair = self._by_id[name]
            if pair.has_reference and pair.reference_id not in kept:
                kept = {pair.reference_id: read_image(self.path / pair.reference_id)}
            yield PairImages(name, read_image(self.path / name), kept.get(pair.reference_id))

    def digest(self, pair_ids: Sequence[str]) -> str:
        """Return a hash of names and file sizes."""
        pairs = [self._by_id[name] for name in pair_ids]
        files = {name for pair in pairs for name in (pair.pair_id, pair.reference_id)}
        return digest_of(self.name, [(name, (self.path / name).stat().st_size) for name in sorted(files)])

    def _files(self) -> dict[str, None]:
        return dict.fromkeys(name for pair in self.pairs for name in (pair.reference_id, pair.pair_id))


@lru_cache(maxsize=4)
def _again(name: str, path: Path) -> HumanDatabase:
    found: HumanDatabase = load("embodied_iqa.quality.metrics.human.catalogue:read_human")(f"{name}:{path}")
    return found


def csv_rows(file: Path, columns: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file with a header.

    Raises:
        InputError: It cannot be read, or lacks a column.
    """
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream)
            found = reader.fieldnames or []
            if not set(columns) <= set(found):
                raise InputError(
                    f"{file} has other columns", expected=", ".join(columns), got=", ".join(found)
                )
            yield from reader
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{file} cannot be read: {error}") from error


def opinion_of(text: str, file: Path) -> float:
    """Return a finite number.

    Raises:
        InputError: It is none.
    """
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise InputError(f"{file} holds an opinion that is not a number", got=text)
    return value
