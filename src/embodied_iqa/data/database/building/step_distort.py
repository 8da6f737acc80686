"""Step 3: the distorted images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Final

import pyarrow as pa

from embodied_iqa.base.jobs.engine import BlockReport, Job
from embodied_iqa.base.jobs.plan import digest_of
from embodied_iqa.base.tables import read_digest, read_table, rows_of, table_of, write_table
from embodied_iqa.data.database.attributes import attributes_of
from embodied_iqa.data.database.building.build_options import BLOCK, BuildPlan, ImageStorage
from embodied_iqa.data.database.database_images import distorted_frame, image_hash, read_frames
from embodied_iqa.data.database.schema import PAIRS, Pair, Reference
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.imaging.distortions import DistortionSpec, catalogue, entry
from embodied_iqa.imaging.distortions.batch import random_level
from embodied_iqa.imaging.distortions.spec import LEVELS
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.imaging.images.frame import Frame

_SEED_BITS: Final = 63


def specs_of(seed: int, reference_id: str, levels: Sequence[int] = ()) -> tuple[DistortionSpec, ...]:
    """Return the distortions of a reference: all 30 types, each at some levels or a random one.

    Levels and seeds depend on the arguments only.
    """
    found = []
    for line in catalogue():
        for level in levels or (random_level(seed, line.id, reference_id),):
            key = f"{seed}|{reference_id}|{line.id}|{level}".encode()
            number = int.from_bytes(blake2b(key, digest_size=8).digest(), "little") >> (64 - _SEED_BITS)
            found.append(DistortionSpec(line.id, level, number))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Block:
    """References to distort."""

    path: Path
    number: int
    references: tuple[Reference, ...]
    seed: int
    levels: tuple[int, ...]
    store: ImageStorage

    @property
    def digest(self) -> str:
        """Hash of everything that the pairs depend on."""
        images = [(row.reference_id, row.sha256) for row in self.references]
        levels = self.levels if self.levels not in {(), LEVELS} else bool(self.levels)
        return digest_of("pairs", 1, self.seed, levels, str(self.store), images)

    @property
    def file(self) -> Path:
        """Where the pairs are until all blocks are done."""
        return DatabaseStore(self.path).work / "pairs" / f"block-{self.number:06d}.parquet"


def make_pairs(store: DatabaseStore, plan: BuildPlan, run: Callable[[Sequence[Job]], object]) -> None:
    """Distort every reference and write `pairs.parquet`, unless the pairs of this plan exist.

    Args:
        store: The database, with its references.
        plan: Seed, levels and storage.
        run: Runs jobs.
    """
    rows = rows_of(Reference, store.references())
    blocks = [
        _Block(store.path, at // BLOCK, tuple(rows[at : at + BLOCK]), plan.seed, plan.levels, plan.store)
        for at in range(0, len(rows), BLOCK)
    ]
    final = digest_of(*(block.digest for block in blocks))
    if read_digest(store.pairs_file) == final:
        return
    run([partial(_make_block, block) for block in blocks if read_digest(block.file) != block.digest])
    parts = [read_table(block.file, PAIRS.names) for block in blocks]
    write_table(store.pairs_file, pa.concat_tables(parts), PAIRS, final)


def _make_block(block: _Block) -> BlockReport:
    rows: list[Pair] = []
    for reference in block.references:
        frame = read_frames(block.path, reference, [reference.view])[reference.view]
        specs = specs_of(block.seed, reference.reference_id, block.levels)
        rows += [_pair(block, reference.reference_id, frame, spec) for spec in specs]
    write_table(block.file, table_of(Pair, rows), PAIRS, block.digest)
    return BlockReport(block.number, len(rows))


def _pair(block: _Block, reference_id: str, frame: Frame, spec: DistortionSpec) -> Pair:
    line = entry(spec.id)
    rgb = distorted_frame(frame, spec).rgb
    relative = None
    if block.store is ImageStorage.IMAGES:
        relative = f"images/distorted/{spec.id}_{spec.level}/{reference_id}.png"
        file = block.path / relative
        write_image(file, rgb)
    return Pair(
        pair_id=f"{reference_id}-{spec.id}-{spec.level}",
        reference_id=reference_id,
        distortion_id=spec.id,
        distortion_name=line.name,
        distortion_class=str(line.distortion_class),
        level=spec.level,
        seed=spec.seed,
        image=relative,
        sha256=image_hash(rgb),
        **asdict(attributes_of(rgb)),
    )
