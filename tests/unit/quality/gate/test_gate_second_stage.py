"""The second stage: verdicts on decisions, what it is fitted from, and that what is missing moves nothing."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.api.gate import Gate
from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.calibration_file import load_gate_file
from embodied_iqa.quality.gate.fitting.second import JudgedMotions, fit_second_stage, fit_weights
from embodied_iqa.quality.gate.fitting.split import SceneSplit
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.judgement import JudgeChoice, JudgeKind
from embodied_iqa.quality.gate.judges import load_judge
from embodied_iqa.quality.gate.risk_control import Promise
from embodied_iqa.quality.gate.second_stage import (
    GateDecision,
    Prediction,
    SecondStage,
    judge_decision,
    logistic,
    terms,
)
from gate_files import HEIGHT_PX, WIDTH_PX, write_gate

LEARNED = JudgeChoice(JudgeKind.LEARNED)
POLICY = "a policy"
"""Of the gate that `write_gate` writes."""
STAGE = SecondStage((0.0, 0.0, 0.0, -1.0, *[0.0] * 6), threshold=0.5, screen=0.9)
"""The expected loss is the probability that the target is not seen."""
DIM = np.full((HEIGHT_PX, WIDTH_PX, 3), 50, np.uint8)
"""The first stage expects a loss of 0.8: above its own threshold, below the screen."""
PREDICTION = Prediction(0.3, 0.9, 0.1)
SIGNAL = st.floats(0.0, 1.0)


def decision(seen: float | None, sequence: int = 7, stamp_ns: int = 1_000) -> GateDecision:
    return GateDecision(View.TOP, stamp_ns, sequence, seen)


@pytest.mark.parametrize(
    ("prediction", "seen", "verdict", "words"),
    [
        (PREDICTION, 0.9, Verdict.PASS, ""),
        (PREDICTION, 0.1, Verdict.HOLD, "expected loss of this motion 0.900 above 0.500: the policy sees"),
        (PREDICTION, None, Verdict.REJECT, "does not report"),
        (PREDICTION, math.nan, Verdict.REJECT, "does not report"),
        (PREDICTION, 1.5, Verdict.REJECT, "does not report"),
        (None, 0.9, Verdict.REJECT, "nothing is predicted"),
        (Prediction(0.3, 0.9), 0.9, Verdict.REJECT, "nothing is predicted"),
    ],
)
def test_the_verdict_on_a_decision(
    prediction: Prediction | None, seen: float | None, verdict: Verdict, words: str
) -> None:
    found, reason = judge_decision(STAGE, prediction, decision(seen))
    assert found is verdict
    assert words in reason
    assert bool(reason) == (verdict is not Verdict.PASS)


@given(st.tuples(SIGNAL, SIGNAL, SIGNAL))
def test_an_expected_loss_is_a_number_from_0_to_1(signals: tuple[float, float, float]) -> None:
    wild = replace(STAGE, weights=(9.0, -50.0, 50.0, 50.0, 50.0, -50.0, 50.0, -50.0, 50.0, 50.0))
    assert 0.0 <= float(wild.expected(np.array([signals]))[0]) <= 1.0


@pytest.mark.parametrize(
    "changes", [{"weights": (1.0,)}, {"weights": (math.nan, *[0.0] * 9)}, {"threshold": math.inf}]
)
def test_a_damaged_stage_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(InputError, match="second stage is damaged"):
        replace(STAGE, **changes)


def gatekeeper(folder: Path, policy: str = POLICY, mode: GateMode = GateMode.ON) -> Gatekeeper:
    file = write_gate(folder, second=STAGE)
    return Gatekeeper(load_judge(LEARNED, file, policy), GateOptions(mode=mode))


def test_the_stage_survives_the_file(tmp_path: Path) -> None:
    (fitted,) = load_gate_file(write_gate(tmp_path, second=STAGE)).fitted
    assert fitted.second == STAGE


def test_a_frame_below_the_screen_needs_a_verdict_on_the_decision(tmp_path: Path) -> None:
    keeper = gatekeeper(tmp_path)
    _, lease = keeper.judge(View.TOP, 1_000, DIM, 1_000)
    assert (lease.verdict, lease.needs_decision, lease.decision) == (Verdict.PASS, True, None)
    good, bad = (keeper.judge_decision(decision(seen), 1_000) for seen in (0.9, 0.1))
    assert good is not None
    assert bad is not None
    assert (good.verdict, good.decision, good.frame_stamp_ns, good.reason) == (Verdict.PASS, 7, 1_000, "")
    assert (bad.verdict, bad.judged) == (Verdict.HOLD, Verdict.HOLD)
    assert good.expires_ns == lease.expires_ns


def test_the_python_interface_has_the_second_stage(tmp_path: Path) -> None:
    file = write_gate(tmp_path, second=STAGE)
    gate = Gate(file, judge="learned", policy=POLICY)
    quality = gate.judge(DIM, "top", 1_000)
    good, bad = (gate.judge_motion(seen, quality.stamp_ns) for seen in (0.9, 0.1))
    assert good is not None
    assert bad is not None
    assert (quality.verdict, good.verdict, bad.verdict) == (Verdict.PASS, Verdict.PASS, Verdict.HOLD)
    assert bad.decision == 2
    assert "sees its target with probability 0.10" in bad.reason
    assert gate.judge_motion(0.9, 2_000) is None, "no image of this stamp was judged"
    assert Gate(file, GateOptions(kind=LEARNED)).judge_motion(0.9, 1_000) is None, "the policy is not named"
    with pytest.raises(UsageError, match="not the name of a camera view"):
        gate.judge_motion(0.9, 1_000, view="at the back")


def test_another_policy_has_the_first_stage_alone(tmp_path: Path) -> None:
    keeper = gatekeeper(tmp_path, "another policy")
    _, lease = keeper.judge(View.TOP, 1_000, DIM, 1_000)
    assert (lease.verdict, lease.needs_decision) == (Verdict.HOLD, False)
    assert keeper.judge_decision(decision(0.9), 1_000) is None


def test_shadow_judges_decisions_and_lets_them_pass(tmp_path: Path) -> None:
    keeper = gatekeeper(tmp_path, mode=GateMode.SHADOW)
    _, lease = keeper.judge(View.TOP, 1_000, DIM, 1_000)
    judged = keeper.judge_decision(decision(0.1), 1_000)
    assert judged is not None
    assert (lease.needs_decision, judged.verdict, judged.judged) == (False, Verdict.PASS, Verdict.HOLD)


def test_a_decision_on_a_frame_that_is_not_known_has_no_verdict(tmp_path: Path) -> None:
    keeper = gatekeeper(tmp_path)
    assert keeper.judge_decision(decision(0.9), 1_000) is None
    for stamp in range(1_000, 1_100):
        keeper.judge(View.TOP, stamp, DIM, stamp)
    assert keeper.judge_decision(decision(0.9), 2_000) is None  # forgotten
    assert keeper.judge_decision(decision(0.9, stamp_ns=1_099), 2_000) is not None


def motions(scenes: int, seed: int, each: int = 40) -> JudgedMotions:
    """Half of the loss depends on what the image predicts, half on what the policy sees."""
    rng = np.random.default_rng(seed)
    count = scenes * each
    signals = rng.uniform(0.02, 0.98, (count, 3))
    risk = logistic(4.0 * (signals[:, 0] - signals[:, 2]) - 2.5)
    clean = np.arange(count) % each == 0
    return JudgedMotions(
        np.repeat([f"scene {number}" for number in range(scenes)], each),
        clean,
        signals,
        np.where(clean, 0.0, (rng.random(count) < risk) * rng.uniform(0.3, 1.0, count)),
        np.zeros(count, np.bool_),
    )


def test_the_regression_finds_weights_that_explain_the_loss() -> None:
    train, test = motions(40, 1), motions(40, 2)
    found = replace(STAGE, weights=fit_weights(train)).expected(test.signals)
    truth = logistic(4.0 * (test.signals[:, 0] - test.signals[:, 2]) - 2.5) * 0.65 * (~test.clean)
    assert np.corrcoef(found, truth)[0, 1] > 0.9
    assert terms(test.signals).shape == (len(test.signals), len(STAGE.weights))


def test_the_promise_holds_on_fresh_scenes_and_the_policys_word_helps() -> None:
    risks = []
    for seed in range(20):
        parts = (motions(count, 10 * seed + k) for k, count in enumerate((12, 60, 60)))
        stage = fit_second_stage(*parts, Promise(0.06), screen=0.0)
        assert stage is not None
        assert stage.check["auc_wrong_motion"] > stage.check["auc_first_stage"]
        risks.append(stage.check["risk"])
    assert np.mean(risks) <= 0.06
    assert stage.check["risk_without_gate"] > 0.08
    assert "the motions that pass cost at most 0.06 of the full loss per motion" in stage.promise


def test_the_screen_holds_few_motions_that_would_pass() -> None:
    parts = [motions(count, count) for count in (12, 60, 61)]
    stage = fit_second_stage(*parts, Promise(0.06), screen=0.1)
    assert stage is not None
    passing = parts[1].signals[stage.expected(parts[1].signals) <= stage.threshold, 0]
    assert np.mean(passing > stage.screen) <= 0.01
    assert fit_second_stage(*parts, Promise(0.06), screen=0.99).screen >= 0.99


def test_no_scene_of_the_second_stage_trains_the_first() -> None:
    split = SceneSplit(tuple(f"{n:03d}" for n in range(50)), ("c",), ("d",))
    assert len(split.second) == 10
    assert set(split.first).isdisjoint(split.second)
    assert len(split.first) == 40
