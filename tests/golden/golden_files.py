"""Files of expected values: one flat JSON object per group, compared item by item.

Floats are compared to nine digits, because Python 3.12 sums floats more exactly than 3.11. Hashes of floats
are taken of rounded numbers, except items named "exact". Hashes and everything that depends on rendered
images hold for one kind of processor and one OpenGL implementation only: other ones may differ in the last
bits. `machine.json` identifies those of the expected values; elsewhere `require_same_machine` skips a test.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import cv2
import mujoco
import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parent
DIGITS = 9
TOLERANCE = 2e-9
HASH = "sha256:"

_PROBE = """
<mujoco><worldbody>
  <light pos="0.3 -0.2 1" dir="-0.3 0.2 -1"/>
  <geom type="plane" size="1 1 0.1" rgba="0.6 0.5 0.4 1"/>
  <geom type="box" size="0.1 0.05 0.08" pos="0.1 0 0.08" euler="0 0 25" rgba="0.8 0.1 0.2 1"/>
  <geom type="sphere" size="0.07" pos="-0.15 0.1 0.07" rgba="0.1 0.3 0.9 1"/>
  <camera name="probe" pos="0 -0.6 0.5" xyaxes="1 0 0 0 0.64 0.77"/>
</worldbody></mujoco>
"""
"""A scene that does not depend on the package: its image identifies the OpenGL implementation."""


def digest(content: bytes) -> str:
    """Return the SHA-256 of bytes."""
    return HASH + hashlib.sha256(content).hexdigest()


def digest_array(array: Any) -> str:
    """Return the SHA-256 of an array's type, shape and bytes."""
    values = np.ascontiguousarray(array)
    return digest(f"{values.dtype.str}{values.shape}".encode() + values.tobytes())


def digest_rounded(array: Any, decimals: int) -> str:
    """Return the SHA-256 of an array of floats, rounded; minus zero is zero."""
    return digest_array(np.round(np.asarray(array, dtype=np.float64), decimals) + 0.0)


def digest_values(values: Iterable[Any]) -> str:
    """Return the SHA-256 of JSON values, floats to nine digits."""
    return digest(json.dumps(rounded(list(values)), sort_keys=True, ensure_ascii=True).encode())


def rounded(value: Any) -> Any:
    """Return a JSON value with floats of nine digits; numpy's numbers become Python's."""
    match value:
        case bool() | None:
            return value
        case Mapping():
            return {str(key): rounded(item) for key, item in value.items()}
        case list() | tuple() | np.ndarray():
            return [rounded(item) for item in value]
        case float() | np.floating():
            return float(f"{float(value):.{DIGITS}g}") if math.isfinite(value) else str(value)
        case int() | np.integer():
            return int(value)
        case _:
            return str(value)


def flat(value: Any, name: str = "") -> dict[str, Any]:
    """Return the leaves of nested objects and lists by path, as `rounded`."""
    value = rounded(value)
    if isinstance(value, Mapping):
        pairs = [(str(key), item) for key, item in value.items()]
    elif isinstance(value, list):
        pairs = [(str(index), item) for index, item in enumerate(value)]
    else:
        return {name: value}
    leaves: dict[str, Any] = {}
    for key, item in pairs:
        leaves |= flat(item, f"{name}/{key}" if name else key)
    return leaves or {name: "empty"}


@cache
def machine() -> dict[str, str]:
    """Identify the processor and the OpenGL implementation."""
    model = mujoco.MjModel.from_xml_string(_PROBE)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    with mujoco.Renderer(model, 120, 160) as renderer:
        renderer.update_scene(data, camera="probe")
        image = digest_array(renderer.render())
    return {"architecture": platform.machine(), "features": cv2.getCPUFeaturesLine(), "image": image}


def require_same_machine() -> None:
    """Skip a test whose values need the processor and OpenGL implementation of the expected values."""
    expected = json.loads((FOLDER / "machine.json").read_text(encoding="utf-8"))
    other = [name for name, value in machine().items() if value != expected[name]]
    if other:
        pytest.skip(f"the expected values are of another machine: {', '.join(other)}")


def write(group: str, values: Mapping[str, Any]) -> Path:
    """Write the values of a group, one line per item."""
    path = FOLDER / f"{group}.json"
    path.write_text(json.dumps(values, indent=0, ensure_ascii=True) + "\n", encoding="utf-8")
    return path


def differences(expected: Mapping[str, Any], got: Mapping[str, Any]) -> list[str]:
    """List the items that differ."""
    lines = [f"missing: {name}" for name in expected if name not in got]
    lines += [f"new: {name}" for name in got if name not in expected]
    for name in expected:
        if name in got and not _equal(expected[name], got[name]):
            lines.append(f"{name}: expected {expected[name]!r}, got {got[name]!r}")
    return lines


def assert_same(group: str, got: Mapping[str, Any]) -> None:
    """Compare values with those of the file and list every item that differs."""
    expected = json.loads((FOLDER / f"{group}.json").read_text(encoding="utf-8"))
    found = differences(expected, got)
    assert not found, f"{len(found)} of {len(expected)} items of {group}.json differ:\n" + "\n".join(found)


def _equal(expected: Any, got: Any) -> bool:
    if isinstance(expected, float) and isinstance(got, int | float):
        return math.isclose(expected, got, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(type(expected) is type(got) and expected == got)
