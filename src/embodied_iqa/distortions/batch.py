"""Distorting many pictures to files: what there is to do, and doing it in any number of processes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from hashlib import blake2b, sha256
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.distortions.catalogue import distort, entry
from embodied_iqa.distortions.image import Image
from embodied_iqa.distortions.manifest import Record
from embodied_iqa.distortions.references import read_picture
from embodied_iqa.distortions.region import distort_region
from embodied_iqa.distortions.spec import LEVELS, DistortionSpec
from embodied_iqa.distortions.stream import frame_generator
from embodied_iqa.errors import InputError, InternalError
from embodied_iqa.workers import Workers, result_of

__all__ = ["Job", "Region", "Setting", "expected_record", "random_level", "run_jobs", "sha256_of_source"]

_ENCODERS = {
    "png": (".png", (cv2.IMWRITE_PNG_COMPRESSION, 1)),
    "webp": (".webp", (cv2.IMWRITE_WEBP_QUALITY, 101)),
}
_WAITING_PER_WORKER = 3


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """Where the level of a specification holds, and which level holds elsewhere.

    Attributes:
        mask: ``(H, W)`` bool, true inside.
        outside: Level 1 to 5 outside of it.
    """

    mask: NDArray[np.bool_]
    outside: int

    def sha256(self) -> str:
        """Return the hash of the mask's pixels."""
        return sha256(np.ascontiguousarray(self.mask).data).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """What all jobs of a run share.

    Attributes:
        out: The folder that everything goes to.
        picture_format: ``png`` or ``webp``, both lossless.
        region: Two levels in one picture; None for one everywhere.
    """

    out: Path
    picture_format: str = "png"
    region: Region | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """One clean picture and what is to be made of it.

    Attributes:
        name: Its name without a suffix, with ``/`` between folders; outputs keep it.
        view: What stands for the camera in the random stream; for files their name.
        stamp_ns: The frame's stamp; 0 for files.
        source: The file, or the picture itself.
        specs: What is to be made.
    """

    name: str
    view: str
    stamp_ns: int
    source: Path | Image
    specs: tuple[DistortionSpec, ...]


def random_level(seed: int, distortion_id: str, name: str) -> int:
    """Return a level that depends on nothing but seed, type and picture."""
    digest = blake2b(f"{seed}|{distortion_id}|{name}".encode(), digest_size=8).digest()
    return LEVELS[int.from_bytes(digest, "little") % len(LEVELS)]


def sha256_of_source(source: Path | Image) -> str:
    """Return the hash of a file's bytes, or of a picture's pixels.

    Raises:
        InputError: The file cannot be read.
    """
    if isinstance(source, Path):
        try:
            return sha256(source.read_bytes()).hexdigest()
        except OSError as error:
            raise InputError("cannot read a picture", got=str(source)) from error
    return sha256(np.ascontiguousarray(source).data).hexdigest()


def expected_record(job: Job, spec: DistortionSpec, setting: Setting, source_sha256: str) -> Record:
    """Return the manifest's line of an output, as far as it is known before it is made."""
    line = entry(spec.id)
    region = setting.region
    folder = f"{line.id.replace(':', '-')}_{spec.level}"
    if region is not None:
        folder += f"in_{region.outside}out"
    return Record(
        output=f"{folder}/{job.name}{_ENCODERS[setting.picture_format][0]}",
        reference=str(job.source) if isinstance(job.source, Path) else job.name,
        reference_sha256=source_sha256,
        type=line.id,
        name=line.name,
        level=spec.level,
        parameters=dict(zip(line.parameter_names, line.parameters[spec.level - 1], strict=True)),
        seed=spec.seed,
        outside_level=None if region is None else region.outside,
        mask_sha256=None if region is None else region.sha256(),
    )


def run_jobs(jobs: Iterable[Job], setting: Setting, workers: int) -> Iterator[list[Record]]:
    """Do the jobs in ``workers`` processes and yield each one's records, in the order of the jobs.

    The files and records are the same for any number of workers.

    Raises:
        InputError: A picture cannot be read, or the folder cannot be written to.
    """
    pool = Workers(workers)
    try:
        waiting: deque[Future[list[Record]]] = deque()
        for job in jobs:
            waiting.append(pool.submit(_do, job, setting))
            if len(waiting) >= workers * _WAITING_PER_WORKER:
                yield result_of(waiting.popleft())
        while waiting:
            yield result_of(waiting.popleft())
    finally:
        pool.close()  # the pictures at hand are written whole


def _do(job: Job, setting: Setting) -> list[Record]:
    """Make all outputs of one picture."""
    source_sha256 = sha256_of_source(job.source)
    image = read_picture(job.source) if isinstance(job.source, Path) else job.source
    records = []
    for spec in job.specs:
        rng = frame_generator(spec, job.view, job.stamp_ns)
        if setting.region is None:
            distorted = distort(image, spec.id, spec.level, rng)
        else:
            levels = {"inside": spec.level, "outside": setting.region.outside}
            distorted = distort_region(image, spec.id, setting.region.mask, **levels, rng=rng)
        record = expected_record(job, spec, setting, source_sha256)
        _write(setting.out / record.output, distorted, setting.picture_format)
        height, width = distorted.shape[:2]
        digest = sha256(distorted.data).hexdigest()
        records.append(replace(record, sha256=digest, width_px=width, height_px=height))
    return records


def _write(path: Path, image: Image, picture_format: str) -> None:
    suffix, options = _ENCODERS[picture_format]
    done, data = cv2.imencode(suffix, cv2.cvtColor(image, cv2.COLOR_RGB2BGR), options)
    if not done:
        raise InternalError(f"OpenCV cannot encode {suffix}")
    partial = path.with_name(path.name + ".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(data.tobytes())
        partial.replace(path)
    except OSError as error:
        raise InputError(f"cannot write a picture: {error.strerror}", got=str(path)) from error
