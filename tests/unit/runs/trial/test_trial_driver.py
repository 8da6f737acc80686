"""The driver ends a trial that cannot go on: the world is silent, or the node says why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from trial_world import EPOCH_NS, PLAN

from embodied_iqa.runs.trial.driver import TrialDriver
from embodied_iqa.runs.trial.protocol import (
    ArmSeen,
    AskPerson,
    CloseRecording,
    Command,
    Event,
    Reply,
    Stage,
    StopArm,
    TrialPlan,
    WorldSeen,
)

STALL_S = 20.0
SILENT = "camera_node: no image of top on /lab/image_raw for 2 s (none since 10:00:00 UTC)"


class Node:
    """Carries out each command at once, in no time."""

    def __init__(self, plan: TrialPlan = PLAN) -> None:
        self.driver = TrialDriver(plan, STALL_S, 0.0)
        self.waiting = list(self.driver.commands)

    def until(self, stage: Stage) -> TrialDriver:
        """Carry out commands until a stage waits for no reply."""
        while self.driver.state.stage is not stage or self.driver.state.pending:
            command = self.waiting.pop(0)
            self.waiting += self.driver.handle(Reply(command, ok=True, stamp_ns=EPOCH_NS), 0.0)
        return self.driver


def world(stamp_ns: int = EPOCH_NS) -> WorldSeen:
    return WorldSeen(stamp_ns, False, "", np.eye(4))


def kinds(commands: list[Command]) -> list[type]:
    return [type(command) for command in commands]


@pytest.mark.parametrize(
    "event", [None, ArmSeen(EPOCH_NS, moving=True, emergency_stop=False, reason="")], ids=["nothing", "arm"]
)
def test_a_silent_world_ends_a_trial_whatever_else_is_heard(event: Event | None) -> None:
    driver = Node().until(Stage.EXECUTE)
    assert driver.handle(event, STALL_S) == []
    assert not driver.gave_up
    assert kinds(driver.handle(event, STALL_S + 0.1)) == [StopArm]
    assert driver.gave_up
    assert driver.state.problem == "no state of the world for 20 s"


def test_a_real_arm_is_a_sign_of_life_and_its_silence_names_the_camera() -> None:
    driver = Node(replace(PLAN, stops_time=False)).until(Stage.EXECUTE)
    still = ArmSeen(EPOCH_NS, moving=True, emergency_stop=False, reason="")
    assert driver.handle(still, STALL_S) == []
    assert driver.handle(None, STALL_S + 19.0, fault=SILENT) == []
    assert kinds(driver.handle(None, 2 * STALL_S + 0.1, fault=SILENT)) == [StopArm]
    assert driver.state.problem == f"no state of the world for 20 s; {SILENT}"


def test_what_a_camera_reports_while_a_person_judges_is_not_of_the_run() -> None:
    driver = Node(replace(PLAN, attended=True, stops_time=False)).driver
    driver.handle(None, 0.0, fault=SILENT)
    driver.state = replace(driver.state, stage=Stage.JUDGE)
    driver.handle(None, 0.0)
    assert driver.state.reported == SILENT
    driver.state = replace(driver.state, stage=Stage.PREPARE)
    driver.handle(None, 0.0)
    assert driver.state.reported == ""


def test_a_world_that_reports_does_not_end_it() -> None:
    driver = Node().until(Stage.EXECUTE)
    for second in range(0, 100, 19):
        assert driver.handle(world(), float(second)) == []
    assert not driver.gave_up


def test_a_command_may_take_longer_than_the_world_may_be_silent() -> None:
    node = Node()
    assert node.driver.handle(None, 10 * STALL_S) == []
    assert not node.driver.gave_up
    node.until(Stage.EXECUTE)


def test_a_person_may_take_their_time() -> None:
    node = Node(replace(PLAN, attended=True, stops_time=False))
    (opened,) = node.waiting
    (arm,) = node.driver.handle(Reply(opened, ok=True), 1.0)
    assert kinds(node.driver.handle(Reply(arm, ok=True), 1.0)) == [AskPerson]
    assert node.driver.handle(None, 1000.0) == []
    assert not node.driver.gave_up


def test_a_problem_from_outside_waits_for_the_next_command_and_is_the_reason() -> None:
    node = Node()
    (opened,) = node.waiting
    node.waiting = node.driver.handle(Reply(opened, ok=True), 0.0, problem="cancelled")
    assert not node.driver.gave_up
    node.waiting = node.driver.handle(None, 0.0, problem="cancelled")
    assert node.driver.gave_up
    assert node.driver.state.problem == "cancelled"
    assert node.driver.handle(None, 0.0, problem="cancelled") == []
    while not isinstance(node.waiting[0], CloseRecording):
        node.waiting = node.driver.handle(Reply(node.waiting[0], ok=True), 0.0)
    assert node.driver.state.stage is Stage.CLOSE
