"""What `gate calibrate` says about the clean images: how many pass, the ten worst, a tolerance that helps."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, MissingDependencyError
from embodied_iqa.base.files import require_writable
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.stored_images import Coding
from embodied_iqa.quality.gate.calibration import GateCalibration, Margins
from embodied_iqa.quality.gate.clean_review import SAMPLE, CleanReview, Suggestion, review, suggested
from embodied_iqa.quality.gate.image_statistics import ImageStatistics

Image = NDArray[np.uint8]
Named = tuple[View, str, Image, Coding]
"""Camera, name and pixels of a clean image, and how it was stored."""
_SOURCES: Final = {Coding.JPEG: "JPEG images", Coding.VIDEO: "a video"}
"""Where images of a lossy coding are from."""
_WORST: Final = re.compile(r"(.+-\d+x\d+)-\d\d\.png")


@dataclass(slots=True)
class CleanGroup:
    """Clean images of one camera and size.

    Attributes:
        names: Of the images.
        clean: Their statistics.
        tolerated: Statistics of images with each disturbance that shall pass.
        codings: Number of images by how they were stored; the traces of a lossy coding are then normal.
    """

    names: list[str] = field(default_factory=list)
    clean: list[ImageStatistics] = field(default_factory=list)
    tolerated: dict[str, list[ImageStatistics]] = field(default_factory=dict)
    codings: Counter[Coding] = field(default_factory=Counter)
    _first: dict[bytes, str] = field(default_factory=dict)
    _same: list[tuple[str, str]] = field(default_factory=list)

    def add(self, name: str, clean: ImageStatistics, rgb: Image, coding: Coding = Coding.LOSSLESS) -> None:
        """Add an image with its statistics."""
        self.codings[coding] += 1
        self.clean.append(clean)
        self.names.append(name)
        first = self._first.setdefault(hashlib.sha256(np.ascontiguousarray(rgb).data).digest(), name)
        if first != name:
            self._same.append((name, first))

    def repeated(self, camera: str) -> str:
        """Return how many images of a camera are identical to others, in words; empty for none."""
        if not self._same:
            return ""
        name, first = self._same[0]
        counts = f"{len(self._same)} of {len(self.names)} images"
        return (
            f"{camera}: {counts} are identical to another one, such as {name} to {first}, and teach nothing"
        )


@dataclass(frozen=True, slots=True)
class CleanReport:
    """A camera and size in the report.

    Attributes:
        review: What is noticed of its images.
        names: Of all images.
        files: Of the worst images, in their order; empty where none are written.
        suggestion: A tolerance that helps.
        codings: Number of the images by how they were stored.
    """

    review: CleanReview
    names: Sequence[str]
    files: tuple[Path, ...] = ()
    suggestion: Suggestion | None = None
    codings: Counter[Coding] = field(default_factory=Counter)

    def lines(self) -> list[str]:
        """Return the report as text."""
        made = self.review.calibration
        size = f"{made.width_px}x{made.height_px}"
        lines = [f"  {made.view:5s} {size} from {made.n_frames} frames, of which {self.review.passed} pass"]
        for coding, source in _SOURCES.items():
            count = self.codings[coding]
            if count == made.n_frames:
                lines.append(f"    from {source}: raw images of this camera will be rejected")
            elif count:
                separate = "JPEG, video and raw images need separate calibrations"
                lines.append(f"    {count} of {made.n_frames} from {source}: {separate}")
        if made.tolerated:
            lines.append(f"    tolerates {', '.join(made.tolerated)}")
        for one, file in zip(self.review.worst, self.files or [None] * len(self.review.worst), strict=True):
            shown = f"  [{file}]" if file else ""
            verdict = one.verdict.name.lower()
            lines.append(f"    {verdict:6s} {self.names[one.index]}  {one.reason}{shown}")
        if self.suggestion is not None:
            words, count = _words(self.suggestion), self.suggestion.passed
            lines.append(
                f"    if such images are normal: {words}, with which {count} of {made.n_frames} pass"
            )
        return lines

    def values(self) -> dict[str, Any]:
        """Return the report for programs."""
        made = self.review.calibration
        worst = [
            {
                "name": self.names[one.index],
                "verdict": one.verdict.name.lower(),
                "reason": one.reason,
                "image": str(self.files[place]) if self.files else None,
            }
            for place, one in enumerate(self.review.worst)
        ]
        return {
            "view": made.view,
            "width_px": made.width_px,
            "height_px": made.height_px,
            "frames": made.n_frames,
            "passed": self.review.passed,
            "jpeg_images": self.codings[Coding.JPEG],
            "video_images": self.codings[Coding.VIDEO],
            "tolerated": list(made.tolerated),
            "worst": worst,
            "tolerate": _words(self.suggestion).split()[1] if self.suggestion else None,
        }


def reports(
    calibrated: Sequence[tuple[GateCalibration, CleanGroup]],
    again: Iterable[Named] | None,
    folder: Path,
    margins: Margins,
) -> list[CleanReport]:
    """Return the report of each calibration, and write the worst images.

    Args:
        calibrated: Calibrations and the images that they are made of.
        again: The images once more; None where they are not looked at again.
        folder: Where the worst images are written, if there are any.
        margins: Of the calibrations.

    Raises:
        InputError: The images are others this time.
    """
    found = [(review(calibration, group.clean), group) for calibration, group in calibrated]
    if again is None or not any(one.failing for one, _ in found):
        return [CleanReport(one, group.names, codings=group.codings) for one, group in found]
    images = _wanted(again, [(one, group) for one, group in found if one.failing])
    return [_report(one, group, images, folder, margins) for one, group in found]


def remove_worst(folder: Path, kept: Iterable[GateCalibration] = ()) -> None:
    """Remove the worst images of earlier calibrations, but for those that are kept."""
    stays = {_stem(_key(one)) for one in kept}
    for file in folder.glob("*.png"):
        match = _WORST.fullmatch(file.name)
        if match is not None and match[1] not in stays:
            file.unlink()
    with suppress(OSError):  # others may have put files there
        folder.rmdir()


def _report(
    reviewed: CleanReview,
    group: CleanGroup,
    images: dict[tuple[Any, ...], Image],
    folder: Path,
    margins: Margins,
) -> CleanReport:
    if not reviewed.failing:
        return CleanReport(reviewed, group.names, codings=group.codings)
    key = _key(reviewed.calibration)
    sample = [images[(*key, index)] for index in _sample(len(group.clean))]
    files = _written(reviewed, [images[(*key, one.index)] for one in reviewed.worst], folder)
    suggestion = None
    with suppress(MissingDependencyError):  # with the extra `gate` alone there are no distortions to try
        suggestion = suggested(reviewed, group.clean, sample, margins)
    return CleanReport(reviewed, group.names, files, suggestion, group.codings)


def _key(calibration: GateCalibration) -> tuple[View, int, int]:
    return calibration.view, calibration.width_px, calibration.height_px


def _stem(key: tuple[View, int, int]) -> str:
    view, width, height = key
    return f"{view}-{width}x{height}"


def _sample(count: int) -> list[int]:
    """Return the places of a few images, spread over all of them."""
    return sorted({round(place) for place in np.linspace(0, count - 1, min(SAMPLE, count))})


def _wanted(
    again: Iterable[Named], reviews: Sequence[tuple[CleanReview, CleanGroup]]
) -> dict[tuple[Any, ...], Image]:
    """Return the worst images and the samples, by camera, size and place.

    Raises:
        InputError: Some are not there any more.
    """
    wanted = {
        (*_key(one.calibration), index)
        for one, group in reviews
        for index in (*(each.index for each in one.worst), *_sample(len(group.clean)))
    }
    images: dict[tuple[Any, ...], Image] = {}
    counts: dict[tuple[View, int, int], int] = {}
    for view, _, rgb, _ in again:
        key = (view, rgb.shape[1], rgb.shape[0])
        place = (*key, counts.get(key, 0))
        counts[key] = place[-1] + 1
        if place in wanted:
            images[place] = rgb.copy()
        if len(images) == len(wanted):
            return images
    raise InputError("clean images changed while the gate was calibrated: it is calibrated, without a report")


def _written(reviewed: CleanReview, images: Sequence[Image], folder: Path) -> tuple[Path, ...]:
    from embodied_iqa.imaging.images.codecs import write_image

    stem = _stem(_key(reviewed.calibration))
    require_writable(folder.parent)
    folder.mkdir(exist_ok=True)
    files = tuple(folder / f"{stem}-{number:02d}.png" for number in range(1, len(images) + 1))
    for file, image in zip(files, images, strict=True):
        write_image(file, image)
    return files


def _words(suggestion: Suggestion) -> str:
    tolerance = suggestion.tolerance
    return f"--tolerate {tolerance.distortion_id}:{tolerance.level}"
