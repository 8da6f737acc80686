"""Distortions that others have too: speed beside imagecorruptions and albumentations, one run on one core.

The peers go to .build/bench-peers, without their dependencies (requirements/bench-peers.txt).
imagecorruptions is adapted to current NumPy, SciPy and scikit-image where it breaks; its arithmetic stays.

python benchmarks/bench_distortions_peers.py --json build/bench_distortions_peers.json
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
os.environ.update(NO_ALBUMENTATIONS_UPDATE="1")

import cv2
import numpy as np
import scipy.ndimage
import skimage.filters
from PIL import Image as Pillow
from rich.console import Console
from rich.table import Table

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.imaging.distortions import entry
from embodied_iqa.imaging.distortions.image import Image
from embodied_iqa.imaging.distortions.references import scikit_photographs

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".build" / "bench-peers"
PINS = ROOT / "requirements" / "bench-peers.txt"
Run = Callable[[Image], object]


def install_peers() -> None:
    stamp = FOLDER / "installed.txt"
    if not stamp.exists() or stamp.read_text() != PINS.read_text():
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--upgrade",
            "--target",
            str(FOLDER),
        ]
        subprocess.run([*command, "-r", str(PINS)], check=True)
        stamp.write_text(PINS.read_text())
    sys.path.append(str(FOLDER))


def adapted_imagecorruptions() -> types.ModuleType:
    """Import imagecorruptions with the names that its imports miss today."""
    old_place = types.ModuleType("scipy.ndimage.interpolation")
    vars(old_place)["map_coordinates"] = scipy.ndimage.map_coordinates
    sys.modules.setdefault("scipy.ndimage.interpolation", old_place)
    resources = types.ModuleType("pkg_resources")
    vars(resources)["resource_filename"] = lambda _package, name: str(FOLDER / "imagecorruptions" / name)
    sys.modules.setdefault("pkg_resources", resources)
    vars(np).setdefault("float_", np.float64)
    module = importlib.import_module("imagecorruptions.corruptions")

    def gaussian(
        image: np.ndarray, sigma: float, *, multichannel: bool = False, **more: object
    ) -> np.ndarray:
        axis = -1 if multichannel else None
        blurred: np.ndarray = skimage.filters.gaussian(image, sigma=sigma, channel_axis=axis, **more)
        return blurred

    vars(module)["gaussian"] = gaussian
    return module


def ours(distortion_id: str, *parameters: float) -> Run:
    operator = entry(distortion_id).operator
    rng = np.random.default_rng(0)
    return lambda image: operator(image, rng, *parameters)


def pairs(corruptions: types.ModuleType, albumentations: types.ModuleType) -> dict[str, tuple[Run, Run, Run]]:
    """Ours, imagecorruptions' at severity 3, albumentations', with parameters that do the same."""
    a = albumentations

    def peer(name: str) -> Run:
        return lambda image: np.uint8(getattr(corruptions, name)(Pillow.fromarray(image), 3))

    def album(transform: Callable[..., dict[str, Image]]) -> Run:
        return lambda image: transform(image=image)["image"]

    return {
        "Gaussian noise": (
            ours("12", 0.18**2),
            peer("gaussian_noise"),
            album(a.GaussNoise(std_range=(0.18, 0.18), p=1)),
        ),
        "impulse noise": (
            ours("14", 0.09),
            peer("impulse_noise"),
            album(a.SaltAndPepper(amount=(0.09, 0.09), p=1)),
        ),
        "motion blur": (
            ours("miqd:motion-blur", 15, 8),
            peer("motion_blur"),
            album(a.MotionBlur(blur_limit=(31, 31), p=1)),
        ),
        "defocus blur": (
            ours("miqd:defocus-blur", 6, 0.5),
            peer("defocus_blur"),
            album(a.Defocus(radius=(6, 6), alias_blur=(0.5, 0.5), p=1)),
        ),
        "glass blur": (
            ours("miqd:glass-blur", 0.9, 2, 1),
            peer("glass_blur"),
            album(a.GlassBlur(sigma=0.9, max_delta=2, iterations=1, p=1)),
        ),
        "JPEG": (
            ours("10", 15),
            peer("jpeg_compression"),
            album(a.ImageCompression(quality_range=(15, 15), p=1)),
        ),
        "pixelate": (
            ours("miqd:pixelate", 0.4),
            peer("pixelate"),
            album(a.Downscale((0.4, 0.4), {"downscale": cv2.INTER_AREA, "upscale": cv2.INTER_NEAREST}, p=1)),
        ),
        "contrast": (
            ours("miqd:contrast", 0.2),
            peer("contrast"),
            album(a.RandomBrightnessContrast((0, 0), (-0.8, -0.8), p=1)),
        ),
        "fog": (
            ours("miqd:fog", 1.0, 1.7),
            peer("fog"),
            album(a.RandomFog(fog_coef_range=(0.5, 0.5), p=1)),
        ),
        "snow": (
            ours("miqd:snow", 0.55, 0.3, 4, 0.9, 12, 8, 0.7),
            peer("snow"),
            album(a.RandomSnow(snow_point_range=(0.3, 0.3), p=1)),
        ),
    }


def milliseconds(runs: list[Run], image: Image, repeats: int) -> list[float]:
    """Median processor time of each, measured in turns."""
    times: list[list[float]] = [[] for _ in runs]
    for number in range(repeats + 1):
        for run, kept in zip(runs, times, strict=True):
            copy = image.copy()
            before = time.process_time()
            run(copy)
            if number:
                kept.append(1e3 * (time.process_time() - before))
    return [statistics.median(kept) for kept in times]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--size", default="640x480")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    install_peers()
    corruptions, albumentations = adapted_imagecorruptions(), importlib.import_module("albumentations")
    cv2.setNumThreads(1)
    width, height = (int(side) for side in options.size.split("x"))
    image = cv2.resize(scikit_photographs()[3].image, (width, height), interpolation=cv2.INTER_AREA)
    records = []
    for name, runs in pairs(corruptions, albumentations).items():
        own, first, second = milliseconds(list(runs), image, options.repeats)
        records.append(
            {"type": name, "ours_ms": own, "imagecorruptions_ms": first, "albumentations_ms": second}
        )
    show(records, options.size)
    if options.json:
        write_text_whole(options.json, json.dumps({"size": options.size, "types": records}, indent=1))


def show(records: list[dict[str, Any]], size: str) -> None:
    table = Table(
        "type",
        "ours",
        "imagecorruptions",
        "albumentations",
        "to faster peer",
        title=f"{size}: ms on one core",
    )
    ratios, slower = [], []
    for record in records:
        own, first, second = (record[f"{who}_ms"] for who in ("ours", "imagecorruptions", "albumentations"))
        ratios.append(first / own)
        if own > min(first, second):
            slower.append(record["type"])
        faster = min(first, second) / own
        table.add_row(record["type"], f"{own:.2f}", f"{first:.2f}", f"{second:.2f}", f"{faster:.1f} x")
    Console(width=110).print(table)
    print(f"median speed beside imagecorruptions: {statistics.median(ratios):.1f} x (target 3)")
    print("slower than the faster peer: " + (", ".join(slower) or "none"))


if __name__ == "__main__":
    main()
