"""Many references x 30 types to disk with the command's own workers, beside the encoder alone.

python benchmarks/bench_distortions_disk.py --references 1000 --workers 2
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
from pathlib import Path

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import cv2
from rich.console import Console
from rich.table import Table

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.imaging.distortions import DistortionSpec, catalogue
from embodied_iqa.imaging.distortions.batch import (
    BatchOptions,
    CleanImage,
    ImageFormat,
    Job,
    random_level,
    run_jobs,
)
from embodied_iqa.imaging.distortions.image import Image
from embodied_iqa.imaging.distortions.references import scikit_photographs

SIZE_PX = (640, 480)


def references(count: int) -> list[Image]:
    """Crops of the photographs, no two the same."""
    images = [reference.image for reference in scikit_photographs()]
    made = []
    for number in range(count):
        image = images[number % len(images)]
        cut = 4 + 4 * (number // len(images) % 20)
        made.append(cv2.resize(image[cut:-cut, cut:-cut], SIZE_PX, interpolation=cv2.INTER_AREA))
    return made


def images_per_second(
    folder: Path, images: list[Image], workers: int, image_format: str
) -> tuple[float, float]:
    """All 30 types of each reference at one random level, as in the database.

    The second number counts the workers' processor time only: what the cores do when nothing else runs.
    """
    jobs = []
    for number, image in enumerate(images):
        name = f"{number:04d}"
        specs = [DistortionSpec(line.id, random_level(0, line.id, name)) for line in catalogue()]
        jobs += [Job(CleanImage(name, name, 0, image), spec) for spec in specs]
    before = time.perf_counter()
    busy = _children_s()
    options = BatchOptions(folder, ImageFormat(image_format))
    made = sum(1 for _ in run_jobs(jobs, options, workers))
    return made / (time.perf_counter() - before), workers * made / (_children_s() - busy)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def encoder_limit(folder: Path, workers: int, image_format: str) -> float:
    """The same files written again by one process, processor time, times the number of workers."""
    suffix = ".png" if image_format == "png" else ".webp"
    files = sorted(folder.rglob(f"*{suffix}"))[::7][:200]
    options = [cv2.IMWRITE_PNG_COMPRESSION, 1] if image_format == "png" else [cv2.IMWRITE_WEBP_QUALITY, 101]
    images = [cv2.imread(str(file)) for file in files]
    before = time.process_time()
    for number, image in enumerate(images):
        data = cv2.imencode(suffix, image, options)[1]
        (folder / f"again{number}{suffix}").write_bytes(data.tobytes())
    return workers * len(images) / (time.process_time() - before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--references", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    images = references(options.references)
    table = Table(
        "format",
        "images/s",
        "by processor time",
        "encoder's own limit",
        title=f"{options.references} references x 30 at 640x480, {options.workers} workers",
    )
    record = {"references": options.references, "workers": options.workers, "formats": {}}
    for image_format in ("png", "webp"):
        with tempfile.TemporaryDirectory() as folder:
            speed, idle_speed = images_per_second(Path(folder), images, options.workers, image_format)
            limit = encoder_limit(Path(folder), options.workers, image_format)
        table.add_row(image_format, f"{speed:.1f}", f"{idle_speed:.1f}", f"{limit:.1f}")
        record["formats"][image_format] = {
            "images_per_s": speed,
            "images_per_processor_s": idle_speed,
            "encoder_limit_per_s": limit,
        }
    Console(width=100).print(table)
    print("target: 60 images/s, or the encoder's own limit where that is lower")
    if options.json:
        write_text_whole(options.json, json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
