"""The images of an annotated database as an image set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.jobs.plan import digest_of
from embodied_iqa.base.tables import rows_of
from embodied_iqa.data.database.database_images import distorted_frame, image_hash, read_frames, spec_of
from embodied_iqa.data.database.schema import Pair, Reference
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.imaging.images.codecs import read_image
from embodied_iqa.imaging.images.frame import Frame
from embodied_iqa.quality.metrics.image_set import PairImages
from embodied_iqa.quality.metrics.metric import Image, MetricContext


@dataclass(frozen=True, slots=True)
class DatabaseImages:
    """Images of a database: distorted ones from their files, or again from their seeds.

    Attributes:
        path: The database.
    """

    path: Path

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self.path.resolve().name

    def read(self, pair_ids: Sequence[str]) -> Iterator[PairImages]:
        """Yield pairs; a reference is read once for its neighbouring pairs.

        Raises:
            InputError: A pair does not exist, or a file is missing, damaged or another image.
        """
        pairs, references = tables_of(self.path)
        missing = [name for name in pair_ids if name not in pairs]
        if missing:
            raise InputError(f"{self.path} has no such pair", got=missing[0])
        for owner, group in groupby((pairs[name] for name in pair_ids), lambda pair: pair.reference_id):
            reference = references[owner]
            frame = read_frames(self.path, reference, [reference.view])[reference.view]
            context = MetricContext(reference.view, reference.instruction)
            for pair in group:
                yield PairImages(pair.pair_id, self._distorted(pair, frame), frame.rgb, context)

    def digest(self, pair_ids: Sequence[str]) -> str:
        """Return the hash of the images' hashes."""
        pairs, references = tables_of(self.path)
        owners = {pairs[name].reference_id for name in pair_ids}
        return digest_of(
            "images",
            [(name, pairs[name].sha256) for name in pair_ids],
            sorted((name, references[name].sha256, str(references[name].view)) for name in owners),
        )

    def _distorted(self, pair: Pair, frame: Frame) -> Image:
        if pair.image is None:
            return distorted_frame(frame, spec_of(pair)).rgb
        rgb = read_image(self.path / pair.image)
        if image_hash(rgb) != pair.sha256:
            raise InputError(f"{self.path / pair.image} is not the image that was written")
        return rgb


def tables_of(path: Path) -> tuple[dict[str, Pair], dict[str, Reference]]:
    """Return pairs and references by id; read again when a file has changed."""
    store = DatabaseStore(path)
    files = (store.pairs_file, store.references_file)
    return _read(store, tuple(file.stat().st_mtime_ns for file in files if file.is_file()))


@lru_cache(maxsize=2)
def _read(store: DatabaseStore, _: tuple[int, ...]) -> tuple[dict[str, Pair], dict[str, Reference]]:
    pairs = {row.pair_id: row for row in rows_of(Pair, store.pairs())}
    return pairs, {row.reference_id: row for row in rows_of(Reference, store.references())}
