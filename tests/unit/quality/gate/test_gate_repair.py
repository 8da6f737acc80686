"""Repair and judge again: never of an image that passes, never worse than before, the same every time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.bounds import Bounds, Fault
from embodied_iqa.quality.gate.calibration import GateCalibration
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.image_statistics import Statistic, measure
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.judgement import Judgement
from embodied_iqa.quality.gate.repair import RepairOptions, judge_repaired
from embodied_iqa.quality.gate.repairs import Repair, apply_repair, next_repair
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge

MS = 1_000_000
ON = RepairOptions(enabled=True, allowed=tuple(Repair))
ANYTHING = dict.fromkeys(Statistic, Bounds(-np.inf, -np.inf, np.inf, np.inf))
Image = NDArray[np.uint8]


def scene(width: int = 64, height: int = 48) -> Image:
    """A table with a red and a blue object, a little noise."""
    rgb = np.full((height, width, 3), 150, np.uint8)
    cv2.rectangle(rgb, (10, 10), (25, 30), (200, 40, 40), -1)
    cv2.circle(rgb, (45, 24), 9, (40, 60, 190), -1)
    noise = np.random.default_rng(3).normal(0, 1.5, rgb.shape)
    return np.clip(rgb + noise, 0, 255).astype(np.uint8)


def judge(**bounds: tuple[float, float]) -> StatisticsJudge:
    """Everything is usual but for the given statistics, with wide hard bounds."""
    named = {Statistic(name): Bounds(-np.inf, low, high, np.inf) for name, (low, high) in bounds.items()}
    return StatisticsJudge([GateCalibration(View.TOP, 64, 48, ANYTHING | named, 100, "made up")])


def around(statistic: Statistic, share: float = 0.4) -> dict[str, tuple[float, float]]:
    """Return the ordinary range of a statistic around that of the scene."""
    value = measure(scene()).value(statistic)
    return {statistic.value: (value * (1 - share), value * (1 + share))}


def darker(rgb: Image) -> Image:
    return (rgb * 0.4).astype(np.uint8)


def noisy(rgb: Image) -> Image:
    return np.clip(rgb + np.random.default_rng(1).normal(0, 9, rgb.shape), 0, 255).astype(np.uint8)


def blocky(rgb: Image) -> Image:
    steps = np.random.default_rng(1).integers(-6, 7, (6, 8, 1)).repeat(8, 0).repeat(8, 1)
    return np.clip(rgb + steps, 0, 255).astype(np.uint8)


def cast(rgb: Image) -> Image:
    return np.clip(rgb + np.array([40, 0, -40]), 0, 255).astype(np.uint8)


def blurred(rgb: Image) -> Image:
    return np.asarray(cv2.GaussianBlur(rgb, (0, 0), 0.6), np.uint8)


REPAIRED: tuple[tuple[Repair, Callable[[Image], Image], Statistic], ...] = (
    (Repair.EXPOSURE, darker, Statistic.EXPOSURE),
    (Repair.WHITE_BALANCE, cast, Statistic.CHROMA),
    (Repair.DENOISE, noisy, Statistic.NOISE),
    (Repair.DEBLOCK, blocky, Statistic.BLOCKINESS),
    (Repair.SHARPEN, blurred, Statistic.SHARPNESS),
)


@pytest.mark.parametrize(("repair", "harm", "statistic"), REPAIRED)
def test_each_repair_brings_its_statistic_back(
    repair: Repair, harm: Callable[[Image], Image], statistic: Statistic
) -> None:
    harmed, found = harm(scene()), judge(**around(statistic))
    before = harmed.copy()
    received = found.judge(View.TOP, harmed)
    assert received.verdict is Verdict.HOLD
    after = judge_repaired(found, View.TOP, harmed, received, ON)
    assert (after.verdict, after.repairs, after.received) == (Verdict.PASS, (repair,), received)
    assert after.reason == f"repaired ({repair}): {received.reason}"
    assert after.repaired is not None
    assert after.statistics == measure(after.repaired)
    assert np.array_equal(harmed, before)  # the image as received is not changed


@pytest.mark.parametrize(("repair", "harm", "statistic"), REPAIRED[:3])
def test_the_repaired_image_is_nearer_to_the_clean_one(
    repair: Repair, harm: Callable[[Image], Image], statistic: Statistic
) -> None:
    harmed = harm(scene())
    after = apply_repair(repair, harmed, judge(**around(statistic)).judge(View.TOP, harmed).faults)
    error = [float(np.mean((p.astype(float) - scene()) ** 2)) for p in (harmed, after)]
    assert error[1] < error[0] / 2


@pytest.mark.parametrize("repair", Repair)
def test_a_repair_is_repeatable_and_leaves_the_image_alone(repair: Repair) -> None:
    faults = [
        Fault(statistic, value, 1.0, 2.0) for statistic in Statistic for value in (0.5, 4.0)
    ]  # the last of a statistic counts
    faults = [replace(fault, value=0.5) if repair is Repair.SHARPEN else fault for fault in faults]
    rgb = noisy(scene())
    before = rgb.copy()
    once, again = (apply_repair(repair, rgb, faults) for _ in range(2))
    assert (once.shape, once.dtype) == (rgb.shape, np.uint8)
    assert np.array_equal(once, again)
    assert np.array_equal(rgb, before)


class Counted:
    """A judge that counts its images, and passes those that a random number generator chooses."""

    def __init__(self, seed: int, passes: float) -> None:
        self.seen = 0
        self._rng, self._passes = np.random.default_rng(seed), passes

    def judge(self, view: View, rgb: Image | None) -> Judgement:
        self.seen += 1
        assert rgb is not None
        verdict = Verdict.PASS if self._rng.random() < self._passes else Verdict(self._rng.integers(1, 3))
        statistic = list(Statistic)[self._rng.integers(len(Statistic))]
        fault = Fault(statistic, float(self._rng.choice([0.5, 4.0])), 1.0, 2.0)
        return Judgement(verdict, "" if verdict is Verdict.PASS else "a fault", measure(rgb), faults=(fault,))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 1000),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.integers(1, 5),
    st.lists(st.sampled_from(Repair), unique=True),
)
def test_a_passing_image_is_never_repaired_and_a_verdict_never_gets_worse(
    seed: int, passes: float, most: int, allowed: list[Repair]
) -> None:
    found, options = Counted(seed, passes), replace(ON, max_steps=most, allowed=tuple(allowed))
    received = found.judge(View.TOP, scene())
    after = judge_repaired(found, View.TOP, scene(), received, options)
    if received.verdict is Verdict.PASS:
        assert after is received
        assert found.seen == 1
    elif after.repairs:
        assert after.verdict is Verdict.PASS
        assert set(after.repairs) <= set(allowed)
        assert list(after.repairs) == [repair for repair in Repair if repair in after.repairs]
        assert len(set(after.repairs)) == len(after.repairs) == found.seen - 1 <= most
    else:
        assert after == replace(received, reason=after.reason)
        assert after.reason.startswith(received.reason)
        assert after.repaired is None


@pytest.mark.parametrize(
    "lost", [Statistic.CLIPPED_DARK, Statistic.CLIPPED_BRIGHT, Statistic.FLAT, Statistic.REPEATED]
)
def test_what_is_lost_is_not_hidden(lost: Statistic) -> None:
    dark = Fault(Statistic.EXPOSURE, 0.1, 0.3, 0.5)
    assert next_repair([dark], tuple(Repair)) is Repair.EXPOSURE
    assert next_repair([dark, Fault(lost, 0.5, -np.inf, 0.1)], tuple(Repair)) is None


def test_what_hides_wrong_hues_and_moved_blocks_is_only_tried_if_named() -> None:
    for repair, harm, statistic in REPAIRED:
        found, harmed = judge(**around(statistic)), harm(scene())
        after = judge_repaired(
            found, View.TOP, harmed, found.judge(View.TOP, harmed), RepairOptions(enabled=True)
        )
        hides = repair in {Repair.WHITE_BALANCE, Repair.DEBLOCK}
        assert (after.verdict is Verdict.HOLD, after.repairs) == (hides, () if hides else (repair,))


@pytest.mark.parametrize("mode", GateMode)
def test_only_an_obeyed_gate_repairs_and_only_if_enabled(mode: GateMode) -> None:
    found = judge(**around(Statistic.EXPOSURE))
    for options in (RepairOptions(), ON):
        keeper = Gatekeeper(found, GateOptions(mode=mode, repair=options))
        quality, lease = keeper.judge(View.TOP, MS, darker(scene()), MS)
        repairs = options.enabled and mode is GateMode.ON
        assert keeper.options.repairs is repairs
        assert (quality.repaired is not None) is repairs
        assert lease.verdict is (Verdict.HOLD if mode is GateMode.ON and not repairs else Verdict.PASS)


def test_a_repaired_image_counts_as_good_and_says_so_while_the_gate_recovers() -> None:
    keeper = Gatekeeper(judge(**around(Statistic.EXPOSURE)), GateOptions(repair=ON))
    small = np.zeros((12, 12, 3), np.uint8)
    keeper.judge(View.TOP, MS, small, MS)
    quality, lease = keeper.judge(View.TOP, 2 * MS, darker(scene()), 2 * MS)
    assert lease.verdict is not Verdict.PASS
    assert quality.frame_verdict is Verdict.PASS
    size = "expected (H, W, 3) uint8 of at least 16 x 16; got (12, 12, 3) uint8"
    cause = f"the image cannot be measured; {size}"
    assert quality.reason.startswith(f"1 of 5 good frames since: {cause}; this one repaired (exposure): ")


def test_nothing_that_was_not_measured_is_repaired() -> None:
    keeper = Gatekeeper(judge(), GateOptions(repair=ON))
    for rgb in (None, scene(12, 12), scene(96, 48)):
        quality, _ = keeper.judge(View.TOP, MS, rgb, MS)
        assert quality.verdict is not Verdict.PASS
        assert "repair" not in quality.reason


class FailsLater:
    """Judges the first image and fails on the second."""

    def __init__(self) -> None:
        self._judge, self._calls = judge(**around(Statistic.EXPOSURE)), count()

    def judge(self, view: View, rgb: Image | None) -> Judgement:
        if next(self._calls):
            raise MemoryError("no memory left")
        return self._judge.judge(view, rgb)


def test_a_failing_repair_holds() -> None:
    quality, lease = Gatekeeper(FailsLater(), GateOptions(repair=ON)).judge(View.TOP, MS, darker(scene()), MS)
    assert (quality.verdict, lease.verdict, quality.repaired) == (Verdict.HOLD, Verdict.HOLD, None)
    assert "repair (exposure) failed: " in quality.reason
    assert "no memory left" in quality.reason


def clock_of(step_ms: int) -> Iterator[int]:
    return count(0, step_ms * MS)


@pytest.mark.parametrize(("step_ms", "verdict"), [(50, Verdict.PASS), (51, Verdict.HOLD)])
def test_a_late_repair_is_not_used(step_ms: int, verdict: Verdict) -> None:
    times = clock_of(step_ms)
    keeper = Gatekeeper(judge(**around(Statistic.EXPOSURE)), GateOptions(repair=ON), lambda: next(times))
    quality, lease = keeper.judge(View.TOP, MS, darker(scene()), MS)
    assert (quality.verdict, lease.verdict) == (verdict, verdict)
    assert ("took 51 ms of 50 ms" in quality.reason) is (verdict is Verdict.HOLD)
