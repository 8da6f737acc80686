"""An observation reaches the policy, and an answer the client, only if every image passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.wire.errors import ProtocolError, ServerError
from embodied_iqa.models.subjects.wire.msgpack_arrays import pack, unpack
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.proxy.gated_policy import GATE, GatedPolicy, ProxyOptions, observation_rules
from embodied_iqa.quality.gate.proxy.hold_answers import HeldError, HoldKind, HoldOptions
from embodied_iqa.quality.gate.proxy.observed_images import ProxyCamera
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge
from gated_policies import (
    CAMERAS,
    KEY,
    WRIST,
    calibrations,
    covered,
    damaged,
    observation,
    rules,
    scene_image,
)
from manual_clock import ManualClock


class Policy:
    """Answers with its count, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.error: Exception | None = None

    def __call__(self, seen: Any) -> dict[str, Any]:
        self.asked.append(seen)
        if self.error is not None:
            raise self.error
        return {"actions": np.full((4, 8), float(len(self.asked))), "state": seen.get("prompt")}


def gated(policy: Any, mode: GateMode = GateMode.ON, clock: Any = None, **options: Any) -> GatedPolicy:
    gate = Gatekeeper(StatisticsJudge(calibrations()), rules(mode))
    clock = clock or ManualClock()
    return GatedPolicy(gate, ProxyOptions(**{"cameras": CAMERAS, **options}), policy, clock)


def bad() -> dict[str, Any]:
    return {**observation(), KEY: covered(scene_image(100))}


def test_a_good_observation_is_answered_by_the_policy_as_it_came():
    policy, seen = Policy(), observation()
    answer = gated(policy).respond(seen)
    assert policy.asked == [seen]
    assert np.array_equal(answer["actions"], np.full((4, 8), 1.0))
    assert answer["state"] == "pick the red cube"
    told = answer[GATE]
    assert (told["verdict"], told["reason"], told["answer"]) == ("PASS", "", "policy")
    assert told["expected_loss"] is None, "the statistics predict no loss"
    assert set(told["views"]) == {"top", "wrist"}


def test_a_covered_image_is_held_and_the_policy_is_not_asked():
    policy = Policy()
    with pytest.raises(HeldError, match=r"the gate holds: top: .*; no action is released"):
        gated(policy).respond(bad())
    assert policy.asked == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({KEY: None}, "not an image"),
        ({KEY: b"jpeg"}, "not an image"),
        ({KEY: scene_image(1).astype(np.float32)}, "not an image"),
        ({KEY: scene_image(1)[:, :, 0]}, "not an image"),
        ({KEY: np.zeros((0, 0, 3), np.uint8)}, "not an image"),
        ({KEY: np.zeros((2, 2, 3), np.uint8)}, "cannot be measured"),
        ({KEY: scene_image(1, 96)}, "not calibrated at 96x96"),
        ({KEY: scene_image(1)[None]}, "not an image"),
        ({"observation": {"exterior_image_1_left": scene_image(1)}}, "ambiguous"),
        ({"observation/extra": scene_image(1)}, "observation/extra has no --view"),
        ({"videos": [scene_image(1)]}, "videos/0 has no --view"),
        ({"grey": scene_image(1)[:, :, 0]}, "grey has no --view"),
        ({"grey": scene_image(1)[:, :, 0] / np.float32(255)}, "grey has no --view"),
        ({"flat": scene_image(1).ravel().astype(np.int16)}, "flat has no --view"),
        ({"jpeg": bytes(2000)}, "jpeg has no --view"),
        ({"base64": "A" * 2000}, "base64 has no --view"),
        ({"pixels": scene_image(1)[:, :, 0].tolist()}, "pixels has no --view"),
        ({"a": {"rows": list(scene_image(1)[:, :, 0])}}, "a/rows has no --view"),
        ({"parts": [bytes(600), bytes(600)]}, "parts has no --view"),
        ({"many": [[0] * 200] * 200}, "too many values"),
    ],
)
def test_what_cannot_be_judged_is_held(change: dict[str, Any], words: str):
    policy = Policy()
    with pytest.raises(HeldError, match=words):
        gated(policy).respond({**observation(), **change})
    assert policy.asked == []


def test_a_missing_image_is_held_and_what_there_is_is_named():
    seen = observation()
    del seen[WRIST]
    with pytest.raises(HeldError, match=f"wrist: the observation has no {WRIST}.*{KEY}"):
        gated(Policy()).respond(seen)


def test_a_view_without_calibration_is_held():
    cameras = (CAMERAS[0], ProxyCamera(WRIST, View("other")))
    with pytest.raises(HeldError, match="other: the other camera is not calibrated"):
        gated(Policy(), cameras=cameras).respond(observation())


def test_a_gate_that_fails_holds_and_in_shadow_reports():
    class Broken(Gatekeeper):
        def judge(self, *_args: Any) -> Any:
            raise MemoryError("no room")

    for mode in (GateMode.ON, GateMode.SHADOW):
        policy = Policy()
        broken = Broken(StatisticsJudge(calibrations()), rules(mode))
        session = GatedPolicy(broken, ProxyOptions(CAMERAS), policy)
        if mode is GateMode.ON:
            with pytest.raises(HeldError, match="the gate failed: no room"):
                session.respond(observation())
            assert policy.asked == []
        else:
            assert session.respond(observation())[GATE]["verdict"] == "REJECT"


def test_images_are_read_by_nested_keys_in_planes_and_upside_down():
    cameras = (ProxyCamera("images/high", View.TOP), ProxyCamera("left", View.WRIST, turned=True))
    seen = {"images": {"high": scene_image(7).transpose(2, 0, 1)}, "left": scene_image(8)[::-1, ::-1]}
    assert gated(Policy(), cameras=cameras).respond(seen)[GATE]["verdict"] == "PASS"


def test_an_ignored_image_passes_without_a_judgement():
    seen = {**observation(), "observation/extra": np.zeros((9, 9, 3), np.uint8)}
    assert gated(Policy(), ignored=frozenset({"observation/extra"})).respond(seen)[GATE]["verdict"] == "PASS"


def test_an_ignored_list_and_short_ones_pass():
    seen = {**observation(), "pixels": [[0] * 64] * 64, "history": [[0.0] * 14] * 50, "0": bytes(600)}
    assert gated(Policy(), ignored=frozenset({"pixels"})).respond(seen)[GATE]["verdict"] == "PASS"


def test_shadow_reports_and_never_holds():
    policy = Policy()
    session = gated(policy, GateMode.SHADOW)
    for seen in (bad(), {"prompt": "nothing"}, {**observation(), "extra": scene_image(1)}):
        told = session.respond(seen)[GATE]
        assert told["verdict"] in {"HOLD", "REJECT"}
        assert told["reason"]
        assert told["answer"] == "policy"
    assert len(policy.asked) == 3


def test_a_hold_outlasts_a_pause_of_the_client():
    clock = ManualClock()
    gate = Gatekeeper(StatisticsJudge(calibrations()), observation_rules(recover_frames=2))
    session = GatedPolicy(gate, ProxyOptions(CAMERAS), Policy(), clock)
    with pytest.raises(HeldError):
        session.respond(bad())
    clock.advance(3600.0)
    with pytest.raises(HeldError, match="1 of 2 good frames since"):
        session.respond(observation())
    assert session.respond(observation())[GATE]["verdict"] == "PASS"


def test_the_state_is_repeated_in_the_shape_of_the_policy():
    keys = ("observation/joint_position", "observation/gripper_position")
    session = gated(Policy(), hold=HoldOptions(HoldKind.REPEAT, state=keys))
    with pytest.raises(HeldError, match="the policy has not answered yet"):
        session.respond(bad())
    session.respond(observation())
    answer = session.respond(bad())
    assert np.array_equal(answer["actions"], np.tile([*np.arange(7.0), 0.5], (4, 1)))
    assert answer[GATE]["answer"] == "repeat"
    broken = np.where(np.arange(7.0) < 2, np.nan, np.inf)
    for state, words in (
        (broken, "is not a state; expected finite numbers in one dimension; got 'inf, nan'"),
        (np.zeros(3), "not as wide"),
        (b"x", "not a state"),
        ([0.1] * 7, f"{keys[0]} is not one value; expected an array; got a list"),
    ):
        with pytest.raises(HeldError, match=words):
            session.respond({**bad(), keys[0]: state})


def test_deltas_are_zero_and_absolute_columns_keep_their_state():
    hold = HoldOptions(HoldKind.ZERO, absolute=((7, "observation/gripper_position"),))
    session = gated(Policy(), hold=hold)
    session.respond(observation())
    assert np.array_equal(session.respond(bad())["actions"], np.tile([0.0] * 7 + [0.5], (4, 1)))
    with pytest.raises(HeldError, match="the observation has no observation/gripper_position"):
        session.respond({key: value for key, value in bad().items() if "gripper" not in key})


def test_an_absolute_column_can_be_one_number_of_a_state():
    hold = HoldOptions(HoldKind.ZERO, absolute=((7, "state:6"),))
    session, state = gated(Policy(), hold=hold), np.arange(8.0)
    session.respond({**observation(), "state": state})
    held = session.respond({**bad(), "state": state})["actions"]
    assert np.array_equal(held, np.tile([0.0] * 7 + [6.0], (4, 1)))
    with pytest.raises(HeldError, match="state has no number 6; expected 0 to 2"):
        session.respond({**bad(), "state": state[:3]})


@pytest.mark.parametrize(
    ("hold", "words"),
    [
        (HoldOptions(HoldKind.REPEAT, state=("state",)), "the observation has no state"),
        (HoldOptions(HoldKind.REPEAT, state=("prompt",)), "prompt is not a state; .*; got '<U17'"),
        (HoldOptions(HoldKind.REPEAT, state=("observation/joint_position",)), "not as wide as an action"),
        (
            HoldOptions(HoldKind.ZERO, absolute=((8, "observation/gripper_position"),)),
            "no column 8 for .*; expected one of 0 to 7",
        ),
        (
            HoldOptions(HoldKind.ZERO, absolute=((7, "observation/joint_position"),)),
            r"not the state of a column; expected one number, or such as .*position:\d for the last one",
        ),
    ],
)
def test_an_answer_that_no_hold_could_get_is_found_with_the_first_actions(hold: HoldOptions, words: str):
    session = gated(Policy(), hold=hold)
    for _ in range(2):
        with pytest.raises(HeldError, match=f"--on-hold {hold.kind} could not answer a hold: .*{words}"):
            session.respond(observation())


def test_the_last_answer_is_repeated_until_it_is_too_old():
    clock = ManualClock()
    session = gated(Policy(), clock=clock, hold=HoldOptions(HoldKind.LAST, last_s=1.0))
    with pytest.raises(HeldError, match="no answer was released within 1 s"):
        session.respond(bad())
    session.respond(observation())
    clock.advance(1.0)
    answer = session.respond(bad())
    assert np.array_equal(answer["actions"], np.full((4, 8), 1.0))
    assert answer[GATE]["verdict"] != "PASS"
    clock.advance(0.001)  # the age is that of the passed observation: a hold does not renew it
    with pytest.raises(HeldError, match="no answer was released"):
        session.respond(bad())


def test_the_last_answer_is_not_repeated_for_another_prompt():
    session = gated(Policy(), hold=HoldOptions(HoldKind.LAST))
    session.respond({**observation(), "prompt": "pick the red cube"})
    for seen in ({**bad(), "prompt": "press the blue button"}, {**bad(), "language": "press"}):
        with pytest.raises(HeldError, match=r"another text at (prompt|language)"):
            session.respond(seen)
    assert np.array_equal(session.respond(bad())["actions"], np.full((4, 8), 1.0))


def test_always_asks_but_releases_nothing_more():
    policy = Policy()
    hold = HoldOptions(HoldKind.LAST)
    session = gated(policy, always=True, hold=hold)
    with pytest.raises(HeldError):
        session.respond(bad())
    session.respond(observation())
    assert np.array_equal(session.respond(bad())["actions"], np.full((4, 8), 2.0))
    assert len(policy.asked) == 3


def test_a_failure_of_the_policy_is_passed_on_and_releases_nothing():
    policy = Policy()
    session = gated(policy, hold=HoldOptions(HoldKind.LAST))
    policy.error = ServerError("out of memory")
    with pytest.raises(ServerError, match="out of memory"):
        session.respond(observation())
    with pytest.raises(HeldError):
        session.respond(bad())


def test_who_looks_on_is_told_what_the_client_got():
    seen: list[Any] = []
    policy, options = Policy(), ProxyOptions(CAMERAS, hold=HoldOptions(HoldKind.ZERO))
    gate = Gatekeeper(StatisticsJudge(calibrations()), rules())
    one = GatedPolicy(gate, options, policy, ManualClock(), lambda answered: seen.append(answered.report))
    with pytest.raises(HeldError):  # the shape of its actions is not known yet
        one.respond(bad())
    policy.error = ServerError("no memory")
    with pytest.raises(ServerError):
        one.respond(observation())
    policy.error = None
    one.respond(observation())
    one.respond(bad())
    assert [report["answer"] for report in seen] == ["error", None, "policy", "zero"]
    assert [report["verdict"] for report in seen] == ["REJECT", "PASS", "PASS", "REJECT"]


def test_two_thousand_hostile_observations_release_no_action_without_a_pass():
    """Whatever the bytes are: if the policy was asked, both images of the message pass on their own."""
    judge, random = StatisticsJudge(calibrations()), np.random.default_rng(39)
    policy, passed, refused = Policy(), 0, 0
    session = gated(policy)
    whole = [pack(observation()), pack(bad()), pack({**observation(), "extra": {"a": scene_image(3)}})]
    for number in range(2000):
        try:
            seen = unpack(damaged(whole[number % 3], random), 1 << 20)
        except ProtocolError:
            refused += 1
            continue
        if not isinstance(seen, dict):
            refused += 1
            continue
        before = len(policy.asked)
        try:
            answer = session.respond(seen)
        except HeldError:
            assert len(policy.asked) == before
            refused += 1
            continue
        verdicts = [judge.judge(camera.view, policy.asked[-1][camera.key]).verdict for camera in CAMERAS]
        assert [verdict.name for verdict in verdicts] == ["PASS", "PASS"]
        assert answer[GATE]["verdict"] == "PASS"
        passed += 1
    assert passed > 20 < refused, "both happen"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ProxyOptions(()), "no image is judged"),
        (lambda: ProxyOptions((CAMERAS[0], ProxyCamera("b", View.TOP))), "two cameras have one view"),
        (lambda: ProxyOptions((CAMERAS[0], ProxyCamera(KEY, View.WRIST))), "two cameras have one key"),
        (lambda: ProxyCamera.parse("top"), "wrong --view"),
        (lambda: ProxyCamera.parse("a=top:rot90"), "wrong --view"),
        (lambda: ProxyCamera.parse("a=1st"), "not the name of a camera view"),
        (lambda: HoldOptions(HoldKind.REPEAT), "--state-key KEY"),
        (lambda: HoldOptions(HoldKind.ERROR, state=("a",)), "--state-key KEY"),
        (lambda: HoldOptions(HoldKind.LAST, absolute=((0, "a"),)), "--on-hold zero"),
        (lambda: HoldOptions(HoldKind.LAST, last_s=0.0), "last_s"),
    ],
)
def test_wrong_options_are_refused(make: Callable[[], object], words: str):
    with pytest.raises(UsageError, match=words):
        make()


def test_a_camera_is_read_from_its_form():
    assert ProxyCamera.parse("a/b=c=top:rot180") == ProxyCamera("a/b=c", View.TOP, turned=True)
