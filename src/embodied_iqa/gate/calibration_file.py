"""Calibrations of the gate as YAML: one file for all the cameras of a robot."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import yaml

from embodied_iqa.config import load_yaml
from embodied_iqa.errors import InputError
from embodied_iqa.gate.bounds import Bounds
from embodied_iqa.gate.calibration import GateCalibration
from embodied_iqa.gate.statistics import STATISTICS_VERSION, Statistic
from embodied_iqa.images.frame import View

__all__ = ["FORMAT", "find_calibration", "load_calibrations", "save_calibrations"]

FORMAT: Final = 1
"""Version of the file format."""

_SIDES: Final = ("hard_low", "soft_low", "soft_high", "hard_high")
_SIGNIFICANT_DIGITS: Final = 6
_HEAD: Final = (
    "# Ordinary ranges of the gate's picture statistics, written by `embodied-iqa gate calibrate`.\n"
    "# [hard_low, soft_low, soft_high, hard_high]: beyond a soft bound HOLD, beyond a hard one REJECT.\n"
)


def save_calibrations(calibrations: Sequence[GateCalibration], path: Path) -> None:
    """Write calibrations, whole or not at all; bounds keep six significant digits."""
    tree = {
        "format": FORMAT,
        "statistics_version": STATISTICS_VERSION,
        "cameras": [_to_tree(calibration) for calibration in calibrations],
    }
    text = _HEAD + yaml.safe_dump(tree, sort_keys=False, width=110, default_flow_style=None)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        whole = Path(folder) / path.name
        whole.write_text(text, encoding="utf-8")
        whole.replace(path)


def load_calibrations(path: Path) -> tuple[GateCalibration, ...]:
    """Read a file that :func:`save_calibrations` wrote.

    Raises:
        InputError: The file is missing, broken, or of another version.
    """
    tree = load_yaml(path)
    if tree.get("format") != FORMAT or tree.get("statistics_version") != STATISTICS_VERSION:
        raise InputError(
            f"{path} holds no calibration that this version can use: run `embodied-iqa gate calibrate` again",
            expected=f"format {FORMAT} with statistics_version {STATISTICS_VERSION!r}",
            got={key: tree.get(key) for key in ("format", "statistics_version")},
        )
    cameras = tree.get("cameras")
    if not isinstance(cameras, list) or not cameras or len(tree) != 3:
        raise InputError(f"{path} lists no cameras", got=sorted(tree))
    return tuple(_from_tree(camera, path) for camera in cameras)


def find_calibration(
    calibrations: Sequence[GateCalibration], view: View, width_px: int, height_px: int
) -> GateCalibration | None:
    """Return the calibration of a camera at a resolution, or None."""
    for calibration in calibrations:
        if (calibration.view, calibration.width_px, calibration.height_px) == (view, width_px, height_px):
            return calibration
    return None


def _to_tree(calibration: GateCalibration) -> dict[str, object]:
    return {
        "view": calibration.view.value,
        "width_px": calibration.width_px,
        "height_px": calibration.height_px,
        "n_frames": calibration.n_frames,
        "provenance": calibration.provenance,
        "bounds": {
            statistic.value: [_rounded(getattr(bounds, side)) for side in _SIDES]
            for statistic, bounds in calibration.bounds.items()
        },
    }


def _rounded(value: float) -> float:
    return float(f"{value:.{_SIGNIFICANT_DIGITS}g}")


def _from_tree(tree: object, path: Path) -> GateCalibration:
    match tree:
        case {
            "view": str(view),
            "width_px": int(width_px),
            "height_px": int(height_px),
            "n_frames": int(n_frames),
            "provenance": str(provenance),
            "bounds": dict(bounds),
            **rest,
        } if not rest and view in set(View):
            return GateCalibration(
                View(view), width_px, height_px, _bounds_of(bounds, path), n_frames, provenance
            )
    raise InputError(
        f"{path}: wrong camera",
        expected="view, width_px, height_px, n_frames, provenance and bounds",
        got=sorted(tree) if isinstance(tree, dict) else tree,
    )


def _bounds_of(tree: dict[object, object], path: Path) -> dict[Statistic, Bounds]:
    bounds: dict[Statistic, Bounds] = {}
    for name, sides in tree.items():
        if name not in set(Statistic):
            raise InputError(f"{path}: unknown statistic", got=name, available=list(Statistic))
        numbers = [side for side in sides if _is_number(side)] if isinstance(sides, list) else []
        if len(numbers) != len(_SIDES):
            raise InputError(f"{path}: wrong bounds of {name}", expected="four numbers", got=sides)
        bounds[Statistic(str(name))] = Bounds(*(float(number) for number in numbers))
    return bounds


def _is_number(value: object) -> bool:
    return type(value) in {int, float} and not math.isnan(value)  # type: ignore[arg-type]
