"""Step 3: the distorted pictures: which, from which seeds, what they look like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Final

import pyarrow as pa

from embodied_iqa.database.attributes import attributes_of
from embodied_iqa.database.building.engine import BlockReport, Job
from embodied_iqa.database.building.settings import BLOCK, BuildPlan, Store, digest_of
from embodied_iqa.database.pictures import distorted_frame, picture_hash, read_frames
from embodied_iqa.database.schema import PAIRS
from embodied_iqa.database.store import DatabaseStore, Row, read_digest, read_table, write_table
from embodied_iqa.distortions import DistortionSpec, catalogue, entry
from embodied_iqa.distortions.batch import random_level
from embodied_iqa.distortions.spec import LEVELS
from embodied_iqa.images.codecs import write_picture
from embodied_iqa.images.frame import Frame, View

__all__ = ["DistortStep", "specs_of"]

_SEED_BITS: Final = 63


def specs_of(seed: int, reference_id: str, *, all_levels: bool) -> tuple[DistortionSpec, ...]:
    """Return the distortions of a reference: all 30 types, at one random level or at each of the five.

    Levels and seeds depend on nothing but the arguments.
    """
    found = []
    for line in catalogue():
        levels = LEVELS if all_levels else (random_level(seed, line.id, reference_id),)
        for level in levels:
            key = f"{seed}|{reference_id}|{line.id}|{level}".encode()
            number = int.from_bytes(blake2b(key, digest_size=8).digest(), "little") >> (64 - _SEED_BITS)
            found.append(DistortionSpec(line.id, level, number))
    return tuple(found)


class DistortStep:
    """Distorts every reference and writes `pairs.parquet`.

    Args:
        store: The database, with its references.
        plan: What is wanted.
    """

    def __init__(self, store: DatabaseStore, plan: BuildPlan) -> None:
        self._store = store
        self._plan = plan
        self._rows = store.references().to_pylist()
        self._blocks = [self._rows[at : at + BLOCK] for at in range(0, len(self._rows), BLOCK)]

    def is_done(self) -> bool:
        """Say whether the pairs of exactly this plan are there."""
        return read_digest(self._store.pairs_file) == self._final

    @property
    def _final(self) -> str:
        return digest_of(*(self._digest(block) for block in self._blocks))

    def run(self, run: Callable[[list[Job]], None]) -> None:
        """Make the blocks that are missing, then join all."""
        plan = self._plan
        job = partial(_make_block, _Setting(self._store.path, plan.seed, plan.all_levels, plan.store))
        run(
            [
                partial(job, number, block, self._digest(block))
                for number, block in enumerate(self._blocks)
                if read_digest(_file(self._store, number)) != self._digest(block)
            ]
        )
        parts = [read_table(_file(self._store, number), PAIRS) for number in range(len(self._blocks))]
        write_table(self._store.pairs_file, pa.concat_tables(parts), PAIRS, self._final)

    def _digest(self, block: list[Row]) -> str:
        pictures = [(row["reference_id"], row["sha256"]) for row in block]
        plan = self._plan
        return digest_of("pairs", 1, plan.seed, plan.all_levels, str(plan.store), pictures)


def _file(store: DatabaseStore, number: int) -> Path:
    return store.work / "pairs" / f"block-{number:06d}.parquet"


@dataclass(frozen=True, slots=True)
class _Setting:
    """What all blocks have in common."""

    path: Path
    seed: int
    all_levels: bool
    store: Store


def _make_block(setting: _Setting, number: int, block: list[Row], digest: str) -> BlockReport:
    rows: list[Row] = []
    for reference in block:
        view, name = View(reference["view"]), reference["reference_id"]
        frame = read_frames(setting.path, reference, [view])[view]
        specs = specs_of(setting.seed, name, all_levels=setting.all_levels)
        rows += [_pair(setting, name, frame, spec) for spec in specs]
    write_table(_file(DatabaseStore(setting.path), number), rows, PAIRS, digest)
    return BlockReport(number, len(rows))


def _pair(setting: _Setting, reference_id: str, frame: Frame, spec: DistortionSpec) -> Row:
    line = entry(spec.id)
    rgb = distorted_frame(frame, spec).rgb
    relative = None
    if setting.store is Store.PICTURES:
        relative = f"pictures/distorted/{spec.id}_{spec.level}/{reference_id}.png"
        file = setting.path / relative
        file.parent.mkdir(parents=True, exist_ok=True)
        write_picture(file, rgb)
    return {
        "pair_id": f"{reference_id}-{spec.id}-{spec.level}",
        "reference_id": reference_id,
        "distortion_id": spec.id,
        "distortion_name": line.name,
        "distortion_class": str(line.distortion_class),
        "level": spec.level,
        "seed": spec.seed,
        "picture": relative,
        "sha256": picture_hash(rgb),
    } | attributes_of(rgb).row()
