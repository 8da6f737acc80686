"""The check of a fit on types of distortions that were left out of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.data.analysis.correlation import area_under_curve
from embodied_iqa.imaging.distortions import catalogue
from embodied_iqa.quality.gate.calibration_file import load_gate_file
from embodied_iqa.quality.gate.fitted import LossKind
from embodied_iqa.quality.gate.fitting.check import JudgedFrames
from embodied_iqa.quality.gate.fitting.frames import GateFrames
from embodied_iqa.quality.gate.fitting.unseen import GROUPS, UnseenFrames, check_unseen, type_groups
from gate_files import write_gate


def frames(kinds: list[str], loss: NDArray[np.float64], scenes: NDArray[np.str_]) -> GateFrames:
    clean = np.array([not kind for kind in kinds])
    return GateFrames(
        np.arange(len(kinds)).astype(str), scenes, np.array(kinds), clean, loss, loss / 2, (loss > 0.2) * 1.0
    )


def test_every_type_is_in_one_group_and_no_group_has_a_whole_class() -> None:
    entries = catalogue()
    kinds = ["", *(f"{entry.id}:{1 + number % 5}" for number, entry in enumerate(entries))]
    groups = type_groups(frames(kinds, np.zeros(31), np.array(["a"] * 31)))
    assert len(groups) == GROUPS
    assert np.array_equal(np.sum(groups, axis=0), [0, *[1] * 30])
    assert [group.sum() for group in groups] == [6] * 5
    for name in {entry.distortion_class for entry in entries}:
        own = np.array([False, *(entry.distortion_class is name for entry in entries)])
        assert own.sum() == 1 or not any((own <= group).all() for group in groups), name


def test_fewer_types_than_groups_are_not_left_out() -> None:
    kinds = ["", "01:1", "01:5", "miqd:fog:2", "02:1", "03:1"]
    assert type_groups(frames(kinds, np.zeros(6), np.array(["a"] * 6))) == ()


@pytest.fixture
def halves() -> tuple[UnseenFrames, UnseenFrames]:
    """40 scenes with two frames of each of two groups, judged well in the first and badly in the second."""
    rng, scenes = np.random.default_rng(3), np.repeat([f"s{number}" for number in range(40)], 2)
    loss = rng.uniform(0.0, 0.8, (2, 80))
    values = np.stack([loss[0] + rng.normal(0, 0.05, 80), rng.uniform(0.0, 0.8, 80)])
    rejected = np.zeros(80, np.bool_)
    first, second = (
        UnseenFrames(JudgedFrames(frames([kind] * 80, own, scenes), value, value, rejected), threshold)
        for kind, own, value, threshold in zip(("01:1", "02:3"), loss, values, (0.3, 0.4), strict=True)
    )
    return first, second


def test_each_frame_counts_once_with_the_threshold_of_its_own_fit(
    halves: tuple[UnseenFrames, UnseenFrames],
) -> None:
    found = check_unseen(halves, LossKind.DECISION)
    assert (found["types"], found["scenes"], found["frames"]) == (2, 40, 160)
    values, loss = (
        np.stack([getattr(part, name) for part in parts])
        for parts, name in (
            ([one.judged for one in halves], "value"),
            ([one.judged.frames for one in halves], "decision"),
        )
    )
    passes = values <= np.array([[0.3], [0.4]])
    assert found["risk"] == pytest.approx((loss * passes).mean(), abs=1e-4), "all scenes have four frames"
    assert found["passed"] == pytest.approx(passes.mean(), abs=1e-4)
    assert found["harmless_held"] == pytest.approx((~passes)[loss <= 0.02].mean(), abs=1e-4)
    assert found["harmful_stopped"] == pytest.approx((~passes)[loss > 0.2].mean(), abs=1e-4)
    assert found["wrong_motions_stopped"] == found["harmful_stopped"], "half of the loss is by motions"
    areas = [area_under_curve(value, own > 0.2) for value, own in zip(values, loss, strict=True)]
    assert areas[0] > 0.95
    assert areas[1] < 0.6
    assert found["auc_harmful"] == pytest.approx(np.mean(areas), abs=1e-4)
    for name in ("risk", "harmful_stopped", "wrong_motions_stopped"):
        low, value, high = (found[f"{name}{end}"] for end in ("_low", "", "_high"))
        assert low is not None
        assert value is not None
        assert high is not None
        assert low < value < high


def test_intervals_are_of_scenes_and_not_of_frames(halves: tuple[UnseenFrames, UnseenFrames]) -> None:
    """A hundred copies of each frame say nothing new."""
    once = check_unseen(halves, LossKind.DECISION)
    again = check_unseen(halves * 100, LossKind.DECISION)
    assert {**once, "frames": 16_000.0} == again


def test_a_group_without_a_threshold_passes_nothing(halves: tuple[UnseenFrames, UnseenFrames]) -> None:
    nothing = [UnseenFrames(one.judged, -np.inf) for one in halves]
    found = check_unseen(nothing, LossKind.DECISION)
    assert (found["risk"], found["passed"], found["harmful_stopped"]) == (0.0, 0.0, 1.0)
    assert found["risk_high"] is found["harmful_stopped_low"] is None


def test_a_file_of_an_earlier_version_says_that_it_is_not_known(tmp_path: Path) -> None:
    file = write_gate(tmp_path)
    (now,) = load_gate_file(file).fitted
    file.write_text(file.read_text().replace("  unseen: {}\n", ""))
    (fitted,) = load_gate_file(file).fitted
    assert "unseen" not in file.read_text()
    assert fitted == now
    assert "unknown (too few types or scenes, or a fit of an earlier version)" in fitted.unseen_in_words
    (known,) = load_gate_file(
        write_gate(
            tmp_path,
            unseen={
                "risk": 0.04125, "risk_low": 0.03, "risk_high": 0.05, "harmful_stopped": 0.8,
                "wrong_motions_stopped": None,
            },
        )
    ).fitted  # fmt: skip
    assert known.unseen_in_words == (
        "types that training has not seen: risk 0.0413 (0.0300 to 0.0500); "
        "stopped: 80% of the harmful frames, unknown of the wrong motions. This is not part of the promise."
    )
