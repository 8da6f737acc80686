"""What the proxy says while it works: changes, never queries, within a limit, and counts at the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.models.subjects.wire.errors import ConnectionLostError
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.proxy.changes import MOST_LINES, PER_S, ChangeLog
from embodied_iqa.quality.gate.proxy.gated_policy import Answered, GatedPolicy, ProxyOptions
from embodied_iqa.quality.gate.proxy.hold_answers import HeldError, HoldKind, HoldOptions
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge
from gated_policies import CAMERAS, KEY, WRIST, calibrations, covered, observation, rules, scene_image
from manual_clock import ManualClock


class Scene:
    """Clients whose changes are said in `lines`."""

    def __init__(self, mode: GateMode = GateMode.ON) -> None:
        self.clock = ManualClock()
        self.lines: list[str] = []
        self.log = ChangeLog(self.lines.append, self.clock)
        self.error: Exception | None = None
        self.mode = mode

    def client(self, name: str = "a", hold: HoldOptions | None = None) -> GatedPolicy:
        self.log.attend(name, is_here=True)
        gate = Gatekeeper(StatisticsJudge(calibrations()), rules(self.mode))
        options = ProxyOptions(CAMERAS, hold=hold or HoldOptions())
        return GatedPolicy(gate, options, self._policy, self.clock, self.log.look, client=name)

    def _policy(self, _seen: Any) -> dict[str, Any]:
        if self.error is not None:
            raise self.error
        return {"actions": np.zeros((4, 8))}

    def ask(self, client: GatedPolicy, times: int = 1, *dark: str) -> None:
        seen = observation() | {key: covered(scene_image(100)) for key in dark}
        for _ in range(times):
            self.clock.advance(0.1)
            try:
                client.respond(seen)
            except (HeldError, ConnectionLostError):
                continue


def test_a_line_is_said_for_each_change_and_none_for_each_query() -> None:
    scene = Scene()
    client = scene.client()
    scene.ask(client, 10)
    scene.ask(client, 20, KEY)
    scene.ask(client, 3, KEY, WRIST)
    scene.ask(client, 10)
    scene.log.attend("a", is_here=False)
    came, top, both, again, left = scene.lines
    assert (came, left) == ("client a connected", "client a left")
    assert top.startswith("client a: hold: top: ")
    assert "; wrist: " in both
    assert again == "client a: passes again after 2.3 s (23 queries held)"
    assert scene.log.summary() == "43 queries: 20 passed, 23 held (top 23, wrist 3)"


def test_a_policy_that_is_gone_and_comes_back_is_two_lines() -> None:
    scene = Scene()
    client = scene.client()
    scene.error = ConnectionLostError("nobody answers at gpu:8000: connection refused")
    scene.ask(client, 3)
    scene.error = None
    scene.ask(client, 2)
    assert scene.lines[1:] == [
        "client a: no answer: nobody answers at gpu:8000: connection refused",
        "client a: passes again after 0.3 s (3 queries without an answer)",
    ]
    assert scene.log.summary() == "5 queries: 2 passed, 0 held, 3 without an answer"


def test_the_time_that_a_late_policy_took_counts() -> None:
    log = (scene := Scene()).log
    log.attend("a", is_here=True)
    late = "no answer from gpu:8000 within 2 s"
    log.look(Answered((), {"mode": "on"}, 2000.0, "a", late))
    scene.clock.advance(0.1)
    log.look(Answered((), {"mode": "on"}, 30.0, "a"))
    assert scene.lines[1:] == [
        f"client a: {late}",
        "client a: passes again after 2.1 s (1 query without an answer)",
    ]


def test_in_shadow_it_says_what_would_be_held() -> None:
    scene = Scene(GateMode.SHADOW)
    client = scene.client()
    scene.ask(client, 1, KEY)
    scene.ask(client)
    assert scene.lines[1].startswith("client a: would hold: top: ")
    assert scene.lines[2].endswith("(1 query would be held)")
    assert scene.log.summary() == "2 queries: 1 passed, 1 would be held (top 1)"


def test_an_answer_to_a_hold_that_could_not_be_given_is_no_hold() -> None:
    scene = Scene()
    client = scene.client(hold=HoldOptions(HoldKind.REPEAT, state=("observation/joint_position",)))
    scene.ask(client)
    assert "no answer: --on-hold repeat could not answer a hold" in scene.lines[1]


def test_images_that_flicker_fill_no_terminal_and_what_is_left_out_is_counted() -> None:
    scene = Scene()
    client = scene.client()
    for _ in range(60):
        scene.ask(client, 1, KEY)
        scene.ask(client)
    assert len(scene.lines) == MOST_LINES
    scene.clock.advance(PER_S)
    scene.ask(client, 1, KEY)
    assert scene.lines[-1].endswith(f"({1 + 120 - MOST_LINES} changes before this one are not shown)")


@pytest.mark.parametrize("text", ["a\nb\x1b[2J", "x" * 10_000])
def test_what_a_policy_says_is_one_short_printable_line(text: str) -> None:
    scene = Scene()
    client = scene.client()
    scene.error = ConnectionLostError(text)
    scene.ask(client)
    assert scene.lines[1].isprintable()
    assert len(scene.lines[1]) < 400


def test_the_last_answer_of_a_client_that_has_left_changes_counts_alone() -> None:
    scene = Scene()
    client = scene.client()
    scene.log.attend("a", is_here=False)
    scene.ask(client, 1, KEY)
    assert scene.lines == ["client a connected", "client a left"]
    assert scene.log.summary() == "1 query: 0 passed, 1 held (top 1)"
