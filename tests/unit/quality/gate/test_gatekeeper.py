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
        (View.TOP, image()[..., 0], "got (48, 64) uint8"),
        (View.TOP, image() / 255, "got (48, 64, 3) float64"),
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


def still_keeper(still_s: float) -> Gatekeeper:
    judge = StatisticsJudge([CALIBRATION, replace(CALIBRATION, view=View.SIDE)])
    return Gatekeeper(judge, GateOptions(still_s=still_s))


def noisy(seed: int) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (48, 64, 3), dtype=np.uint8)


@pytest.mark.parametrize(("still_s", "holds"), [(0.0, False), (0.5, True)])
def test_a_camera_that_repeats_an_image_is_held_until_it_shows_new_ones(still_s: float, holds: bool) -> None:
    keeper, frame, period_ns = still_keeper(still_s), noisy(0), 100 * MS
    verdicts = [
        keeper.judge(View.TOP, place * period_ns, frame, place * period_ns)[0].verdict for place in range(8)
    ]
    assert verdicts == [Verdict.PASS] * 6 + [Verdict.HOLD if holds else Verdict.PASS] * 2, "above 0.5 s"
    after = []
    for place in range(8, 14):
        frame[:] = noisy(place)  # in the same memory, as a driver may
        after.append(keeper.judge(View.TOP, place * period_ns, frame, place * period_ns)[0])
    assert [one.verdict for one in after] == [Verdict.HOLD if holds else Verdict.PASS] * 4 + [
        Verdict.PASS
    ] * 2
    cause = "no pixel has changed for 0.7 s: camera or driver repeats an image (still_s)"
    assert after[3].reason == (f"4 of 5 good frames since: {cause}" if holds else "")


def test_cameras_are_still_by_themselves_and_after_a_clock_was_set_back_anew() -> None:
    keeper = Gatekeeper(
        StatisticsJudge([CALIBRATION, replace(CALIBRATION, view=View.SIDE)]), GateOptions(still_s=0.5)
    )
    for place in range(8):
        keeper.judge(View.SIDE, place * 100 * MS, noisy(0), place * 100 * MS)
        quality, _ = keeper.judge(View.TOP, place * 100 * MS, noisy(place), place * 100 * MS)
        assert quality.verdict is Verdict.PASS
    assert keeper.judge(View.SIDE, 800 * MS, noisy(0), 800 * MS)[0].verdict is Verdict.HOLD
    judged = keeper.judge(View.SIDE, 10 * MS, noisy(0), 10 * MS)[0]
    assert "repeats an image" not in judged.reason
