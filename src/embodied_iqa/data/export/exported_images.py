"""Image files of a database; distorted ones that are not stored are made again from their seeds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, InternalError
from embodied_iqa.base.tables import rows_of
from embodied_iqa.data.database.database_images import image_hash, spec_of
from embodied_iqa.data.database.schema import Pair, Reference
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.imaging.distortions.stream import FrameDistorter
from embodied_iqa.imaging.images.codecs import read_image
from embodied_iqa.models.subjects.constants_files import file_stem


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image as a file.

    Attributes:
        id: Of the pair or reference.
        name: A unique file name.
        data: The file's bytes.
    """

    id: str
    name: str
    data: bytes


def reference_images(store: DatabaseStore) -> Iterator[ImageFile]:
    """Yield the images of the references by id."""
    for row in store.references(["reference_id", "image"]).sort_by("reference_id").to_pylist():
        yield _stored(store, row["reference_id"], row["image"])


def distorted_images(store: DatabaseStore, pair_ids: Iterable[str]) -> Iterator[ImageFile]:
    """Yield the images of these pairs, in their order; consecutive ones of a reference read it once.

    Raises:
        InputError: A file is missing or damaged, or an image made from its seed is not the one that was
            scored.
    """
    pairs = {pair.pair_id: pair for pair in rows_of(Pair, store.pairs())}
    references = {row.reference_id: row for row in rows_of(Reference, store.references())}
    last, rgb = "", np.zeros((0, 0, 3), np.uint8)
    for pair_id in pair_ids:
        pair = pairs[pair_id]
        if pair.image is not None:
            yield _stored(store, pair_id, pair.image)
            continue
        reference = references[pair.reference_id]
        if reference.reference_id != last:
            last, rgb = reference.reference_id, read_image(store.path / reference.image)
        yield ImageFile(pair_id, f"{file_stem(pair_id)}.png", _png(_distorted(rgb, reference, pair)))


def _stored(store: DatabaseStore, name: str, image: str) -> ImageFile:
    file = store.path / image
    try:
        return ImageFile(name, f"{file_stem(name)}{file.suffix}", file.read_bytes())
    except OSError as error:
        raise InputError(f"the image {file} cannot be read: {error.strerror}") from None


def _distorted(rgb: NDArray[np.uint8], reference: Reference, pair: Pair) -> NDArray[np.uint8]:
    made = FrameDistorter(spec_of(pair)).apply(rgb, reference.view, reference.noise_stamp_ns)
    if image_hash(made) != pair.sha256:
        raise InputError(f"the image of {pair.pair_id} made from its seed is not the one that was scored")
    return made


def _png(rgb: NDArray[np.uint8]) -> bytes:
    done, data = cv2.imencode(".png", cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR))
    if not done:
        raise InternalError("an image could not be encoded")
    return bytes(data)
