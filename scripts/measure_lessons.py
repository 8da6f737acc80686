"""Measures and shows what docs/results/lessons.md says of structure: MS-SSIM of each distortion.

Writes docs/results/tables/lessons.csv and docs/results/images/lessons.webp, from 12 simulated frames. Takes
minutes; prints each distortion as it begins, and the files in the end.
"""

from __future__ import annotations

import csv
import time
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import embodied_iqa

RESULTS = Path(__file__).resolve().parents[1] / "docs/results"
SHOWN = ("12", "15", "07", "06")
"""Two that policies bear and structure metrics do not, and two of the reverse."""


def _mean(images: list[NDArray[np.uint8]], references: list[NDArray[np.uint8]], metric: str) -> float:
    pairs = zip(images, references, strict=True)
    return fmean(float(embodied_iqa.measure(image, reference, metric)) for image, reference in pairs)


def main() -> None:
    """Measure each distortion at levels 3 and 5, and write the table and the image."""
    began_s = time.monotonic()
    table, image = RESULTS / "tables/lessons.csv", RESULTS / "images/lessons.webp"
    frames = [embodied_iqa.simulated_frame(seed, view="top").rgb for seed in range(12)]
    names = embodied_iqa.list_distortions()[:30]
    with table.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["distortion", "level", "ms_ssim", "psnr_db", "ssim"])
        for number, name in enumerate(names, 1):
            print(f"{number} of {len(names)}: {name}", flush=True)
            for level in (3, 5):
                images = [
                    embodied_iqa.distort(rgb, f"{name}:{level}", seed=seed) for seed, rgb in enumerate(frames)
                ]
                values = [_mean(images, frames, metric) for metric in ("ms-ssim", "psnr", "ssim")]
                writer.writerow([name, level, *(round(value, 3) for value in values)])
    shown = [frames[0], *(embodied_iqa.distort(frames[0], f"{number}:5", seed=0) for number in SHOWN)]
    row = np.hstack([rgb[60:380, 240:560] for rgb in shown])
    Image.fromarray(row).save(image, quality=60, method=6)
    print(f"wrote {table} and {image} in {time.monotonic() - began_s:.0f} s")


if __name__ == "__main__":
    main()
