"""The Gate of the Python interface keeps leases: until when a robot may move, and on which cameras."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embodied_iqa import Gate, GateOptions, InputError, LeaseOptions, UsageError
from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.bounds import Bounds
from embodied_iqa.quality.gate.calibration_file import save_calibrations
from gate_files import HEIGHT_PX, WIDTH_PX, calibration

MS = 1_000_000
GOOD = np.full((HEIGHT_PX, WIDTH_PX, 3), 200, np.uint8)
DARK = np.zeros((HEIGHT_PX, WIDTH_PX, 3), np.uint8)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    top = calibration(exposure=Bounds(0.1, 0.3, np.inf, np.inf))
    save_calibrations([top, replace(top, view=View.WRIST)], tmp_path / "gate.yaml")
    return tmp_path / "gate.yaml"


def test_the_robot_may_move_until_the_lease_of_the_newest_image_ends(file: Path) -> None:
    gate = Gate(file)
    assert gate.lease("top") is None
    assert gate.permission(0).reason == "no camera is judged"
    assert gate.judge(GOOD, "top", 1000 * MS).verdict is Verdict.PASS
    lease = gate.lease("top")
    assert lease is not None
    assert (lease.frame_stamp_ns, lease.expires_ns) == (1000 * MS, 1120 * MS)
    assert gate.allows(1120 * MS)
    assert not gate.allows(1120 * MS + 1)
    gate.judge(DARK, "top", 1010 * MS)
    assert not gate.allows(1010 * MS)
    assert "exposure" in gate.permission(1010 * MS).reason
    with pytest.raises(UsageError, match="views is a list of names; got 'top'"):
        gate.permission(1010 * MS, "top")


def test_only_a_permission_is_true_or_false(file: Path) -> None:
    """PASS is 0: a bare ``if verdict`` would move the robot on all but PASS."""
    gate = Gate(file)
    assert not gate.permission(1000 * MS)
    quality = gate.judge(GOOD, "top", 1000 * MS)
    assert gate.permission(1000 * MS)
    for vague in (quality, quality.verdict, Verdict.REJECT, gate.lease("top")):
        with pytest.raises(TypeError, match=r"is neither true nor false; expected .* is Verdict.PASS"):
            bool(vague)
    gate.judge(DARK, "top", 1010 * MS)
    assert not gate.permission(1010 * MS)


def test_without_a_calibration_every_image_is_measured_and_rejected() -> None:
    gate = Gate()
    for stamp_ms in (1000, 1010):
        quality = gate.judge(GOOD, "top", stamp_ms * MS)
        assert (quality.verdict, quality.statistics is None) == (Verdict.REJECT, False)
        assert "the top camera is not calibrated at 64x48" in quality.reason
        assert quality.reason.endswith("; no calibration was given, such as Gate('mine.yaml')")
        assert not gate.allows(stamp_ms * MS)
    with pytest.raises(InputError, match="no calibration for the judge learned"):
        Gate(judge="learned")


def test_every_verdict_of_the_simulated_cells_calibration_says_so(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("embodied_iqa.api.gate.SHIPPED_CALIBRATION", str(file))
    gate, note = Gate("simulated"), "calibrated for the simulated cell, not for a camera of your own"
    found = [gate.judge(image, "top", (1000 + at) * MS) for at, image in enumerate((GOOD, DARK))]
    assert [one.verdict for one in found] == [Verdict.PASS, Verdict.REJECT]
    assert [note in one.reason for one in found] == [True, True]
    assert note in gate.permission(1001 * MS).reason
    assert note not in Gate(file).judge(DARK, "top", 1000 * MS).reason


def test_images_of_one_time_are_judged_together_and_all_have_to_pass(file: Path) -> None:
    gate = Gate(file, GateOptions(lease=LeaseOptions(ttl_s=0.5)))
    found = gate.judge_views({"top": GOOD, "wrist": DARK}, 1000 * MS)
    assert {view: quality.verdict for view, quality in found.items()} == {
        "top": Verdict.PASS,
        "wrist": Verdict.REJECT,
    }
    assert not gate.allows(1400 * MS)
    assert gate.allows(1400 * MS, ["top"])
    assert not gate.allows(1400 * MS, ["top", "side"]), "the side camera has never been seen"


def test_a_stamp_in_seconds_is_named_where_the_time_of_the_motion_is_now(file: Path) -> None:
    gate = Gate(file)
    gate.judge_views({"top": GOOD, "wrist": GOOD}, round(time.time()))
    assert not gate.allows()
    note = "the stamp is not of now: expected nanoseconds, such as time.time_ns()"
    assert gate.permission().reason.endswith(f" ms ago; {note}")
    assert note not in gate.permission(2000 * MS).reason, "both may be of a recording"
    gate.judge_views({"top": DARK, "wrist": GOOD}, time.time_ns())
    assert note not in gate.permission().reason


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"mode": "onn"}, r"mode in GateOptions; got 'onn'; did you mean on\?; available: on, shadow, off"),
        ({"mode": None}, "mode in GateOptions; available: on, shadow, off"),
        ({"mode": True}, "mode in GateOptions; got True"),
        ({"kind": "lerned"}, "unknown judge; expected statistics, learned or metric:NAME"),
        ({"trip_frames": 0}, "trip_frames in GateOptions; expected 1 to 100; got 0"),
        ({"trip_frames": 3.5}, "trip_frames in GateOptions; expected a value of type int"),
        ({"reset_gap_ms": -5}, "reset_gap_ms in GateOptions; expected 1 to 60000"),
        ({"lease": 0.2}, r"wrong lease; expected LeaseOptions\(\.\.\.\); got 'float'"),
        ({"repair": True}, r"wrong repair; expected RepairOptions\(\.\.\.\); got 'bool'"),
    ],
)
def test_rules_that_are_none_are_refused(rules: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        GateOptions(**rules)


@pytest.mark.parametrize("mode", ["on", GateMode.ON])
def test_a_mode_may_be_its_word(file: Path, mode: Any) -> None:
    gate = Gate(file, GateOptions(mode=mode, trip_frames=np.int64(3), reset_gap_ms=np.float32(500)))
    assert gate.judge(DARK, "top", 1000 * MS).verdict is Verdict.REJECT
    assert not gate.allows(1000 * MS)
    shadow = Gate(file, GateOptions(mode=str(GateMode.SHADOW)))  # type: ignore[arg-type] # a word
    shadow.judge(DARK, "top", 1000 * MS)
    assert shadow.allows(1000 * MS)


def test_options_of_another_class_are_refused(file: Path) -> None:
    with pytest.raises(UsageError, match=r"expected GateOptions\(lease=\.\.\.\); got 'LeaseOptions'"):
        Gate(file, LeaseOptions(ttl_s=0.2))


def test_shadow_allows_what_it_rejects(file: Path) -> None:
    gate = Gate(file, GateOptions(mode=GateMode.SHADOW))
    gate.judge(DARK, "top", 1000 * MS)
    lease = gate.lease("top")
    assert lease is not None
    assert (lease.judged, gate.allows(1000 * MS)) == (Verdict.REJECT, True)


def test_a_camera_without_calibration_is_named_in_every_verdict(file: Path) -> None:
    gate = Gate(file)
    for stamp_ms in (1000, 1010):
        quality = gate.judge(GOOD, "side", stamp_ms * MS)
        assert "the side camera is not calibrated at 64x48" in quality.reason
        assert quality.reason.endswith("(embodied-iqa gate calibrate); available: top, wrist")
    assert "not calibrated" in gate.permission(1010 * MS).reason
    assert gate.judge(GOOD, "Top", 1020 * MS).reason.endswith("; did you mean top?; available: top, wrist")
    small = gate.judge(GOOD[:32], "top", 1030 * MS).reason
    assert "not calibrated at 64x32" in small
    assert "available" not in small


def test_an_image_without_a_view_is_that_of_the_only_camera(file: Path, tmp_path: Path) -> None:
    """An image of another camera never gets the lease of the top camera."""
    gate, only = Gate(file), tmp_path / "wrist.yaml"
    several = r"the gate has several cameras; expected a view; available: top, wrist"
    for call in (lambda: gate.judge(GOOD), gate.lease, lambda: gate.judge_motion(0.9, 1000 * MS)):
        with pytest.raises(UsageError, match=several):
            call()
    assert gate.permission(1000 * MS).reason == "no camera is judged"
    save_calibrations([replace(calibration(), view=View.WRIST)], only)
    alone = Gate(only)
    assert alone.judge(GOOD, stamp_ns=1000 * MS).view == "wrist"
    assert alone.lease() == alone.lease("wrist") is not None
    assert alone.judge_motion(0.9, 1000 * MS) is None, "it has no second stage"
    assert Gate().judge(GOOD).verdict is Verdict.REJECT, "without any camera all images are alike"


def test_images_without_the_names_of_their_cameras_are_refused(file: Path) -> None:
    with pytest.raises(UsageError, match=r"a mapping from cameras to images, .*; got 'list'"):
        Gate(file).judge_views([GOOD], 1000 * MS)  # type: ignore[arg-type]


def test_a_batch_with_a_wrong_name_changes_nothing(file: Path) -> None:
    gate = Gate(file)
    with pytest.raises(UsageError, match="view"):
        gate.judge_views({"top": GOOD, "no view": GOOD}, 1000 * MS)
    assert gate.lease("top") is None


def test_threads_share_a_gate_as_if_they_took_turns(file: Path) -> None:
    gate, alone = Gate(file), Gate(file)
    views = ("top", "wrist")
    images = [DARK if stamp % 7 == 0 else GOOD for stamp in range(200)]

    def judged(by: Gate, view: str) -> list[Verdict]:
        return [by.judge(image, view, 1000 * MS + number).verdict for number, image in enumerate(images)]

    with ThreadPoolExecutor(2) as threads:
        together = list(threads.map(lambda view: judged(gate, view), views))
    assert together == [judged(alone, view) for view in views]
    assert [gate.lease(view) for view in views] == [alone.lease(view) for view in views]


def test_the_gate_needs_neither_ros_nor_torch() -> None:
    code = (
        "import sys; sys.modules |= dict.fromkeys(('rclpy', 'torch', 'mujoco', 'pyarrow'))\n"
        "import embodied_iqa; embodied_iqa.Gate('simulated')"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_no_views_are_those_that_were_judged() -> None:
    gate = Gate("simulated")
    quality = gate.judge(np.full((480, 640, 3), 9, np.uint8), "top")
    assert gate.permission(quality.stamp_ns, views=None) == gate.permission(quality.stamp_ns)
    assert gate.allows(quality.stamp_ns, views=None) == gate.allows(quality.stamp_ns)
