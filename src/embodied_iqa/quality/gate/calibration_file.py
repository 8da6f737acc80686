"""The gate's calibration as YAML: one file for all cameras of a robot, and what was fitted to a policy."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.lazy import Later
from embodied_iqa.base.records import structure, unstructure
from embodied_iqa.base.resources import shared_file
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.bounds import Bounds
from embodied_iqa.quality.gate.calibration import GateCalibration
from embodied_iqa.quality.gate.fitted import FittedGate
from embodied_iqa.quality.gate.image_statistics import STATISTICS_VERSION, Statistic

if TYPE_CHECKING:
    from embodied_iqa.base.user_files import yaml_files
else:  # a tenth of the time that the gate takes to import
    yaml_files = Later("embodied_iqa.base.user_files.yaml_files")

SHIPPED_CALIBRATION: Final = "config/gate/simulated.yaml"
"""Of the simulated cell with the default camera model; in the installed config folder."""

_FORMAT: Final = 1
_FITTED: Final = "fitted"
_SIDES: Final = ("hard_low", "soft_low", "soft_high", "hard_high")
_SIGNIFICANT_DIGITS: Final = 6
_MOST_KEYS: Final = 5
"""Of another file, in the message that refuses it."""
_HEAD: Final = (
    "# Ordinary ranges of the gate's image statistics, written by `embodied-iqa gate calibrate`.\n"
    "# [hard_low, soft_low, soft_high, hard_high]: beyond a soft bound HOLD, beyond a hard one REJECT.\n"
)


@dataclass(frozen=True, slots=True)
class GateFile:
    """Content of the file.

    Attributes:
        path: The file; networks are relative to its folder.
        cameras: Ordinary ranges of the cameras.
        fitted: What `embodied-iqa gate fit` found.
    """

    path: Path
    cameras: tuple[GateCalibration, ...]
    fitted: tuple[FittedGate, ...] = ()


def save_calibrations(
    calibrations: Sequence[GateCalibration], path: Path, fitted: Sequence[FittedGate] = ()
) -> None:
    """Write calibrations, whole or not at all; bounds keep six significant digits."""
    tree = {
        "format": _FORMAT,
        "statistics_version": STATISTICS_VERSION,
        "cameras": [_to_tree(calibration) for calibration in calibrations],
        **({_FITTED: [_fitted_tree(one) for one in fitted]} if fitted else {}),
    }
    text = _HEAD + yaml_files.dump_yaml(tree, width=110, flow_leaves=True)
    write_text_whole(path, text)


def load_gate_file(path: Path) -> GateFile:
    """Read a file that :func:`save_calibrations` wrote.

    Raises:
        InputError: The file is missing, broken, of another version, or something else.
    """
    tree = _load_tree(path)
    if not _is_of_this_version(tree):
        raise InputError(
            f"{path} cannot be used by this version: run `embodied-iqa gate calibrate` again",
            expected=f"format {_FORMAT} with statistics_version {STATISTICS_VERSION!r}",
            got={key: tree.get(key) for key in ("format", "statistics_version")},
        )
    cameras = tree.get("cameras")
    if not isinstance(cameras, list) or not cameras or len(tree) != (4 if _FITTED in tree else 3):
        raise InputError(f"{path} lists no cameras", got=sorted(tree))
    fitted = structure(tuple[FittedGate, ...], tree.get(_FITTED, ()), f"{path}: wrong fit")
    return GateFile(path, tuple(_from_tree(camera, path) for camera in cameras), fitted)


def stays_in(
    path: Path, *, keep: bool, replaces: Callable[[FittedGate], bool] = lambda _fitted: False
) -> GateFile:
    """Return what of an earlier file stays in the file that a command writes.

    Args:
        path: The file; it need not exist.
        keep: Whether all of it stays.
        replaces: Whether the command makes a fit anew.

    Raises:
        InputError: The file is something else, which no command may replace, or of another version and
            shall be kept.
        UsageError: A fit, which may have taken hours, would be lost, or calibrations.
    """
    empty = GateFile(path, ())
    if not path.exists() or not (keep or _is_of_this_version(_load_tree(path))):
        return empty
    before = load_gate_file(path)
    if keep:
        return before
    lost = [f"the judge {one.choice} of {one.view}" for one in before.fitted if not replaces(one)]
    if not before.fitted:
        lost = [f"the calibration of {one.view} {one.width_px}x{one.height_px}" for one in before.cameras]
    if lost:
        raise UsageError(
            f"{path} holds {', '.join(lost)}, which would be lost", expected="--keep, or another --out"
        )
    return empty


def _load_tree(path: Path) -> dict[str, Any]:
    tree = yaml_files.load_yaml(path)
    if "statistics_version" not in tree:
        raise InputError(
            f"{path} is not a calibration of the gate",
            expected="a file of `embodied-iqa gate calibrate` or `gate fit`",
            got=f"the keys {', '.join(sorted(tree)[:_MOST_KEYS])}" if tree else "an empty file",
        )
    return tree


def _is_of_this_version(tree: Mapping[str, Any]) -> bool:
    return (tree.get("format"), tree["statistics_version"]) == (_FORMAT, STATISTICS_VERSION)


def load_calibrations(path: Path) -> tuple[GateCalibration, ...]:
    """Read the ordinary ranges of the cameras; see `load_gate_file`."""
    return load_gate_file(path).cameras


def shared_gate_file(calibration: str) -> GateFile:
    """Read the file that the parameter of a node names; a relative path is in the installed config folder.

    Raises:
        InputError: The file is missing, broken, or of another version.
    """
    return load_gate_file(gate_file_path(calibration))


def gate_file_path(calibration: str) -> Path:
    """Return the path of the file that the parameter of a node names; see `shared_gate_file`."""
    path = Path(calibration)
    return path if path.is_absolute() else shared_file(calibration)


def _to_tree(calibration: GateCalibration) -> dict[str, object]:
    tolerated = {name: _ranges_to_tree(ranges) for name, ranges in calibration.tolerated.items()}
    return {
        "view": str(calibration.view),
        "width_px": calibration.width_px,
        "height_px": calibration.height_px,
        "n_frames": calibration.n_frames,
        "provenance": calibration.provenance,
        "bounds": _ranges_to_tree(calibration.bounds),
        **({"tolerated": tolerated} if tolerated else {}),
    }


def _fitted_tree(fitted: FittedGate) -> dict[str, object]:
    tree: dict[str, object] = json.loads(json.dumps(unstructure(fitted)))  # words instead of enums
    seen = {statistic.value: [_rounded(end) for end in ends] for statistic, ends in fitted.seen.items()}
    return tree | {"seen": seen}


def _ranges_to_tree(ranges: Mapping[Statistic, Bounds]) -> dict[str, list[float]]:
    return {
        statistic.value: [_rounded(getattr(bounds, side)) for side in _SIDES]
        for statistic, bounds in ranges.items()
    }


def _rounded(value: float) -> float:
    return float(f"{value:.{_SIGNIFICANT_DIGITS}g}")


@dataclass(frozen=True, slots=True)
class _Camera:
    view: View
    width_px: int
    height_px: int
    n_frames: int
    provenance: str
    bounds: dict[Statistic, list[Any]]
    tolerated: dict[str, dict[Statistic, list[Any]]] = field(default_factory=dict)


def _from_tree(tree: object, path: Path) -> GateCalibration:
    camera = structure(_Camera, tree, f"{path}: wrong camera")
    tolerated = {name: _ranges_of(ranges, path) for name, ranges in camera.tolerated.items()}
    size, bounds = (camera.width_px, camera.height_px), _ranges_of(camera.bounds, path)
    return GateCalibration(camera.view, *size, bounds, camera.n_frames, camera.provenance, tolerated)


def _ranges_of(tree: Mapping[Statistic, list[Any]], path: Path) -> dict[Statistic, Bounds]:
    return {name: _bounds_of(sides, f"{path}: wrong bounds of {name}") for name, sides in tree.items()}


def _bounds_of(sides: list[object], where: str) -> Bounds:
    """Return four numbers as bounds; infinity is one, where a side is not a fault."""
    numbers = [float(side) for side in sides if type(side) in {int, float}]  # type: ignore[arg-type]
    if len(sides) != len(_SIDES) or len(numbers) != len(_SIDES):
        raise InputError(where, expected="four numbers", got=sides)
    return Bounds(*numbers)
