"""The gatekeeper: every odd image is decided here, the same in each mode."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.bounds import Bounds
from embodied_iqa.quality.gate.calibration import GateCalibration
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.image_statistics import Statistic
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge

MS = 1_000_000
ANYTHING = dict.fromkeys(Statistic, Bounds(-np.inf, -np.inf, np.inf, np.inf))
CALIBRATION = GateCalibration(View.TOP, 64, 48, ANYTHING, 100, "made up")


def image(width: int = 64, height: int = 48) -> NDArray[np.uint8]:
    return np.random.default_rng(1).integers(0, 256, (height, width, 3), dtype=np.uint8)


def gatekeeper(mode: GateMode = GateMode.ON, *calibrations: GateCalibration) -> Gatekeeper:
    return Gatekeeper(StatisticsJudge(calibrations or (CALIBRATION,)), GateOptions(mode=mode))


@pytest.mark.parametrize("mode", GateMode)
@pytest.mark.parametrize(
    ("view", "rgb", "words"),
    [
        (View.TOP, image(15, 48), "cannot be measured; expected (H, W, 3) uint8 of at least 16 x 16"),
        (View.TOP, None, "cannot be measured: there is none"),
        (View.TOP, image()[..., 0], "got '(48, 64) uint8'"),
        (View.TOP, image() / 255, "got '(48, 64, 3) float64'"),
        (View.TOP, [[[0, 0, 0]]], "got 'list'"),
        (View.TOP, image(48, 48), "not calibrated at 48x48"),
        (View.SIDE, image(), "the side camera is not calibrated"),
        (View.TOP, image(), ""),
    ],
)
def test_what_cannot_be_judged_is_rejected_unless_the_gate_is_off(
    mode: GateMode, view: View, rgb: NDArray[np.uint8] | None, words: str
) -> None:
    quality, lease = gatekeeper(mode).judge(view, 1000 * MS, rgb, 1001 * MS)
    judged = Verdict.REJECT if words and mode is not GateMode.OFF else Verdict.PASS
    assert (quality.frame_verdict, quality.verdict, lease.judged) == (judged, judged, judged)
    assert lease.verdict is (judged if mode is GateMode.ON else Verdict.PASS)
    assert (words in quality.reason) if judged is Verdict.REJECT else not quality.reason
    assert lease.expires_ns == 1120 * MS


@pytest.mark.parametrize("mode", GateMode)
def test_a_stale_stamp_is_held_in_its_camera_alone(mode: GateMode) -> None:
    keeper = gatekeeper(mode, CALIBRATION, replace(CALIBRATION, view=View.SIDE))
    for view, stamp_ns, expected in (
        (View.TOP, 900 * MS, Verdict.PASS),
        (View.TOP, 900 * MS, Verdict.HOLD),
        (View.TOP, 800 * MS, Verdict.HOLD),
        (View.SIDE, 800 * MS, Verdict.PASS),
        (View.TOP, 901 * MS, Verdict.PASS),
    ):
        quality, lease = keeper.judge(view, stamp_ns, image(), stamp_ns)
        assert (quality.verdict, lease.judged) == (expected, expected)
        assert lease.verdict is (expected if mode is GateMode.ON else Verdict.PASS)


def test_a_gate_that_is_off_measures_nothing() -> None:
    assert not gatekeeper(GateMode.OFF).measures
    quality, _ = gatekeeper(GateMode.OFF).judge(View.TOP, MS, image(), MS)
    assert quality.statistics is None


@pytest.mark.parametrize("mode", GateMode)
def test_a_gate_without_a_judge_passes_only_what_it_does_not_measure(mode: GateMode) -> None:
    quality, lease = Gatekeeper(None, GateOptions(mode=mode)).judge(View.TOP, MS, image(), MS)
    judged = Verdict.PASS if mode is GateMode.OFF else Verdict.REJECT
    assert (quality.verdict, lease.judged) == (judged, judged)
    assert quality.reason == ("" if mode is GateMode.OFF else "the gate has no judge")


def test_the_first_calibration_of_a_camera_and_size_counts() -> None:
    strict = replace(CALIBRATION, bounds=dict.fromkeys(Statistic, Bounds(0.0, 0.0, 0.0, 0.0)))
    verdicts = [
        gatekeeper(GateMode.ON, *order).judge_alone(View.TOP, image()).verdict
        for order in ((CALIBRATION, strict), (strict, CALIBRATION))
    ]
    assert verdicts == [Verdict.PASS, Verdict.REJECT]
