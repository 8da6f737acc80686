"""Drift: a warning exactly when live images are worse than the scenes of the calibration."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.calibration_file import load_gate_file
from embodied_iqa.quality.gate.drift import DriftWatch
from embodied_iqa.quality.gate.fitted import Expected
from embodied_iqa.quality.gate.judge import ImageQuality
from embodied_iqa.quality.gate.judgement import JudgeChoice, Judgement, parse_judge
from embodied_iqa.quality.gate.second_stage import Prediction
from gate_files import write_gate

EXPECTED = Expected(prediction=0.1, deviation=0.02, held=0.2, held_deviation=0.1)
ENOUGH = 150


def quality(value: float | None, verdict: Verdict = Verdict.PASS, view: View = View.TOP) -> ImageQuality:
    prediction = None if value is None else Prediction(value, 0.3)
    return ImageQuality(view, 0, Judgement(verdict, "", prediction=prediction), verdict, verdict, "")


def watched(*qualities: ImageQuality) -> DriftWatch:
    watch = DriftWatch({View.TOP: EXPECTED})
    for one in qualities:
        watch.add(one)
    return watch


@pytest.mark.parametrize(
    ("qualities", "words"),
    [
        ([quality(0.15)] * ENOUGH, ""),
        ([quality(0.17)] * ENOUGH, "predicted worse than those of the calibration: 0.170 on average"),
        ([quality(0.17)] * (ENOUGH - 1), ""),
        ([quality(0.1), quality(0.1, Verdict.HOLD)] * ENOUGH, ""),
        ([quality(0.1), *[quality(0.1, Verdict.HOLD)] * 2] * ENOUGH, "67% of the images of the top camera"),
        ([*[quality(0.1)] * 49, quality(None)] * 4, ""),
        ([*[quality(0.1)] * 30, quality(None, Verdict.REJECT)] * 5, "3% of the images of the top camera"),
        ([quality(None, Verdict.REJECT)] * ENOUGH, "100% of the images"),
        ([quality(0.9, Verdict.HOLD, View.SIDE)] * ENOUGH, ""),
        ([*[quality(0.9, Verdict.HOLD)] * ENOUGH, *[quality(0.1)] * 900], ""),
    ],
)  # fmt: skip
def test_a_warning_names_what_left_the_calibration(qualities: list[ImageQuality], words: str) -> None:
    warning = watched(*qualities).warning()
    assert bool(warning) == bool(words)
    assert words in warning


def test_the_values_are_means_over_the_newest_images() -> None:
    watch = watched(quality(0.1), quality(0.3, Verdict.HOLD), quality(None, Verdict.REJECT))
    assert watch.values() == {"top mean prediction": 0.2, "top held": 0.6667}
    assert watched().values() == {}


def test_only_the_chosen_judge_is_watched(tmp_path: Path) -> None:
    fitted = load_gate_file(write_gate(tmp_path)).fitted
    other = replace(fitted[0], judge="metric:piqe", networks=None)
    for choice, count in ((JudgeChoice(), 0), (parse_judge("learned"), 1)):
        watch = DriftWatch.of((*fitted, other), choice)
        for _ in range(ENOUGH):
            watch.add(quality(0.9, Verdict.HOLD))
        assert len(watch.values()) == 2 * count
        assert bool(watch.warning()) == bool(count)


def test_a_gate_that_was_fitted_to_another_policy_is_a_warning(tmp_path: Path) -> None:
    fitted, learned = load_gate_file(write_gate(tmp_path)).fitted, parse_judge("learned")
    warning = DriftWatch.of(fitted, learned, "classical-vla").warning()
    assert warning == "it is for a policy, and the policy is classical-vla"
    for watch in (DriftWatch.of(fitted, learned, "a policy"), DriftWatch.of(fitted, learned)):
        assert not watch.warning()
    assert not DriftWatch.of(fitted, parse_judge("statistics"), "classical-vla").warning()
