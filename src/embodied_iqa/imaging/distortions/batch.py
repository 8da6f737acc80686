"""Distorting many images to files, in any number of processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache, partial
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import sha256_of
from embodied_iqa.base.jobs.engine import Engine, EngineOptions
from embodied_iqa.imaging.distortions.catalogue import distort, entry
from embodied_iqa.imaging.distortions.image import Image
from embodied_iqa.imaging.distortions.manifest import Failure, Record
from embodied_iqa.imaging.distortions.references import read_reference
from embodied_iqa.imaging.distortions.region import distort_region
from embodied_iqa.imaging.distortions.spec import LEVELS, DistortionSpec
from embodied_iqa.imaging.distortions.stream import frame_generator, stamp_of_pixels
from embodied_iqa.imaging.images.codecs import write_image


class ImageFormat(StrEnum):
    """Lossless format of the outputs."""

    PNG = "png"
    WEBP = "webp"


_ENCODINGS: Final = {
    ImageFormat.PNG: (cv2.IMWRITE_PNG_COMPRESSION, 1),
    ImageFormat.WEBP: (cv2.IMWRITE_WEBP_QUALITY, 101),
}


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """A region that has the level of the specification, and the level elsewhere.

    Attributes:
        mask: ``(H, W)`` bool, true inside.
        outside: Level 1 to 5 outside the region.
    """

    mask: NDArray[np.bool_]
    outside: int

    def sha256(self) -> str:
        """Return the hash of the mask's pixels."""
        return sha256(np.ascontiguousarray(self.mask).data).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class BatchOptions:
    """Options that all jobs of a run share.

    Attributes:
        out: Folder of the outputs.
        image_format: Format of the outputs.
        region: Two levels in one image; None for one level everywhere.
    """

    out: Path
    image_format: ImageFormat = ImageFormat.PNG
    region: Region | None = None


@dataclass(frozen=True, slots=True, eq=False)
class CleanImage:
    """An image to distort.

    Attributes:
        name: Name of its outputs, without a suffix, with ``/`` between folders.
        view: Camera of a recorded frame, so that it is distorted as it was live; `VIEW_OF_FILES` of a file.
        stamp_ns: Stamp of a recorded frame; None for a file, whose stamp follows from its pixels.
        source: The file, or the frame.
    """

    name: str
    view: str
    stamp_ns: int | None
    source: Path | Image

    @property
    def reference(self) -> str:
        """The file, or the name of a recorded frame."""
        return str(self.source) if isinstance(self.source, Path) else self.name

    def sha256(self) -> str:
        """Return the hash of the file's bytes, or of the frame's pixels.

        Raises:
            InputError: The file cannot be read.
        """
        if isinstance(self.source, Path):
            return sha256_of(self.source)
        return sha256(np.ascontiguousarray(self.source).data).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """An output: a clean image and the distortion to make of it."""

    image: CleanImage
    spec: DistortionSpec


def random_level(seed: int, distortion_id: str, name: str) -> int:
    """Return a level that depends only on seed, type and image, by its hash or its name."""
    digest = blake2b(f"{seed}|{distortion_id}|{name}".encode(), digest_size=8).digest()
    return LEVELS[int.from_bytes(digest, "little") % len(LEVELS)]


def expected_record(
    image: CleanImage, spec: DistortionSpec, options: BatchOptions, source_sha256: str
) -> Record:
    """Return the record of an output, as far as it is known before the output is made."""
    distortion, region = entry(spec.id), options.region
    folder = f"{distortion.id.replace(':', '-')}_{spec.level}"
    if region is not None:
        folder += f"in_{region.outside}out"
    return Record(
        output=f"{folder}/{image.name}.{options.image_format}",
        reference=image.reference,
        reference_sha256=source_sha256,
        type=distortion.id,
        name=distortion.name,
        level=spec.level,
        # as they are read back: a manifest is the same after an interrupted run
        parameters={name: float(value) for name, value in distortion.named_parameters(spec.level).items()},
        seed=spec.seed,
        view=image.view,
        stamp_ns=image.stamp_ns or 0,
        outside_level=None if region is None else region.outside,
        mask_sha256=None if region is None else region.sha256(),
    )


def run_jobs(jobs: Iterable[Job], options: BatchOptions, workers: int) -> Iterator[Record | Failure]:
    """Do the jobs in ``workers`` processes and yield the result of each, in the order of the jobs.

    The files and records are the same for any number of workers.

    Raises:
        InputError: The folder cannot be written to, or a worker was killed.
    """
    engine = Engine(EngineOptions(workers=workers))
    try:
        yield from engine.run((partial(_do, job, options) for job in jobs), in_order=True)
    finally:
        engine.close()  # images in progress are finished


def _do(job: Job, options: BatchOptions) -> Record | Failure:
    """Make an output; an image that cannot be distorted is a failure of that image."""
    source, spec = job.image, job.spec
    try:
        clean, source_sha256 = _clean(source)
        stamp_ns = stamp_of_pixels(clean) if source.stamp_ns is None else source.stamp_ns
        distorted = _distorted(clean, job, stamp_ns, options.region)
    except InputError as error:
        named = source.reference in str(error)
        return Failure(source.reference, str(error) if named else f"{source.reference!r}: {error}")
    record = expected_record(source, spec, options, source_sha256)
    write_image(options.out / record.output, distorted, _ENCODINGS[options.image_format])
    height, width = distorted.shape[:2]
    digest = sha256(distorted.data).hexdigest()
    return replace(record, stamp_ns=stamp_ns, sha256=digest, width_px=width, height_px=height)


def _clean(image: CleanImage) -> tuple[Image, str]:
    """Return pixels and hash of a clean image."""
    if not isinstance(image.source, Path):
        return image.source, image.sha256()
    found = _of_file(image.source)
    if isinstance(found, InputError):
        raise found
    return found


@lru_cache(maxsize=1)
def _of_file(path: Path) -> tuple[Image, str] | InputError:
    """Return pixels and hash of a file, or its error; a worker makes the outputs of an image in sequence."""
    try:
        return read_reference(path), sha256_of(path)
    except InputError as error:
        return error


def _distorted(image: Image, job: Job, stamp_ns: int, region: Region | None) -> Image:
    spec = job.spec
    rng = frame_generator(spec, job.image.view, stamp_ns)
    if region is None:
        return distort(image, spec.id, spec.level, rng)
    levels = {"inside": spec.level, "outside": region.outside}
    return distort_region(image, spec.id, region.mask, **levels, rng=rng)
