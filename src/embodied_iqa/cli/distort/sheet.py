"""`embodied-iqa distort sheet`: every distortion at every level on one image."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

import cv2
import numpy as np

from embodied_iqa.base.errors import UsageError
from embodied_iqa.cli.distort.calibrate import rendered_references
from embodied_iqa.imaging.distortions import (
    LEVELS,
    DistortionSpec,
    Entry,
    FrameDistorter,
    catalogue,
    miqd_catalogue,
)
from embodied_iqa.imaging.distortions.image import Image
from embodied_iqa.imaging.distortions.references import read_reference, scikit_photographs
from embodied_iqa.imaging.images.codecs import write_image

DEFAULT_OUT: Final = Path("distortions.png")
CELL_PX: Final = (160, 120)
"""Width and height of an image on the sheet."""
LABEL_PX: Final = 22
_ENCODINGS: Final = {
    ".png": (cv2.IMWRITE_PNG_COMPRESSION, 9),
    ".jpg": (cv2.IMWRITE_JPEG_QUALITY, 88),
    ".webp": (cv2.IMWRITE_WEBP_QUALITY, 88),
}
_INK: Final = (30, 30, 30)
_PAPER: Final = 255
_SHOWN_PX: Final = (320, 240)
"""Size at which images are distorted; they are shown at half of it, so that blocks are visible."""


def run(arguments: argparse.Namespace) -> int:
    """Draw the sheet, or one for each class."""
    entries = miqd_catalogue() if getattr(arguments, "all_miqd", False) else catalogue()
    out = getattr(arguments, "out", DEFAULT_OUT)
    if out.suffix and out.suffix.lower() not in _ENCODINGS:
        raise UsageError("a sheet is an image, or a folder of them", got=str(out), available=_ENCODINGS)
    if hasattr(arguments, "reference"):
        references = [read_reference(arguments.reference)]
    else:
        references = [scikit_photographs()[2].image, rendered_references()[0].image]
    seed = getattr(arguments, "seed", 0)
    if out.suffix:
        _draw(out, entries, references, seed)
        return 0
    for distortion_class in dict.fromkeys(entry.distortion_class for entry in entries):
        rows = tuple(entry for entry in entries if entry.distortion_class is distortion_class)
        _draw(out / f"{out.name}-{distortion_class.lower()}.jpg", rows, references, seed)
    return 0


def _draw(out: Path, entries: tuple[Entry, ...], references: list[Image], seed: int) -> None:
    write_image(out, contact_sheet(entries, references, seed), _ENCODINGS[out.suffix.lower()])
    print(f"{len(entries)} distortions, {len(LEVELS)} levels, {len(references)} images: {out}")


def contact_sheet(entries: tuple[Entry, ...], references: list[Image], seed: int) -> Image:
    """Return the sheet: one row per distortion, with the clean image and five levels of each reference."""
    width, height = CELL_PX
    columns = 1 + len(LEVELS)
    across = columns * len(references)
    sheet = np.full((LABEL_PX + len(entries) * (height + LABEL_PX), across * width, 3), _PAPER, np.uint8)
    for column in range(across):
        level = column % columns
        text = f"level {level}" if level else "reference"
        _write(sheet, text, column * width + 4, LABEL_PX - 7)
    images = [
        cv2.resize(_cut(reference), _SHOWN_PX, interpolation=cv2.INTER_AREA) for reference in references
    ]
    for row, entry in enumerate(entries):
        top = LABEL_PX + row * (height + LABEL_PX)
        label = "   ".join("/".join(f"{value:g}" for value in values) for values in entry.parameters)
        names = "/".join(entry.parameter_names)
        _write(sheet, f"{entry.id}  {entry.name}    {names}:  {label}", 4, top + LABEL_PX - 7)
        for column in range(across):
            cell = _cell(images[column // columns], entry, column % columns, seed)
            left = column * width
            sheet[top + LABEL_PX : top + LABEL_PX + height, left : left + width] = cell
    return sheet


def _cut(image: Image) -> Image:
    """Return the centre of an image in the aspect ratio of a cell."""
    height, width = image.shape[:2]
    rows = min(height, width * CELL_PX[1] // CELL_PX[0])
    columns = min(width, height * CELL_PX[0] // CELL_PX[1])
    top, left = (height - rows) // 2, (width - columns) // 2
    return image[top : top + rows, left : left + columns]


def _cell(image: Image, entry: Entry, level: int, seed: int) -> Image:
    if level:
        image = FrameDistorter(DistortionSpec(entry.id, level, seed)).apply(image, "sheet", 0)
    small: Image = cv2.resize(image, CELL_PX, interpolation=cv2.INTER_AREA)
    return small


def _write(sheet: Image, text: str, x: int, y: int) -> None:
    cv2.putText(sheet, text, (x, y), cv2.FONT_HERSHEY_SIMPLEX, 0.42, _INK, 1, cv2.LINE_AA)
