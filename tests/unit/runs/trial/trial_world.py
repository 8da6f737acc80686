"""A scripted world around the trial's state machine: answers commands, tells what happens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from embodied_iqa.imaging.distortions.spec import DistortionSpec
from embodied_iqa.runs.trial import machine, protocol
from embodied_iqa.world.protocols import ChunkStatus

SECOND_NS = 1_000_000_000
TICK_NS = 50_000_000
EPOCH_NS = 100 * SECOND_NS
NOT_ANSWERED = (protocol.AskVlm, protocol.MarkRunStart, protocol.MarkRunEnd, protocol.Finish)
PLAN = protocol.TrialPlan(
    task="pick the red cube",
    scene_seed=7,
    distortions=(DistortionSpec("19", 5), DistortionSpec("02", 1)),
    run_limit_ns=30 * SECOND_NS,
    no_motion_limit_ns=3 * SECOND_NS,
    settle_ns=SECOND_NS // 2,
)


@dataclass
class FakeWorld:
    """Carries out every command at once; time goes on by ticks while the world runs.

    Attributes:
        plan: Of the trial.
        refuse: Whether a command is refused.
        on_tick: Events that a tick tells besides the world's state.
        success: What the world says of the task.
        violation: What the world says of contacts.
        missing: What the task lacks.
        judged: Why the gate does not let the arm move; empty if it does.
        arming_ns: What arming takes by the clock of its reply.
    """

    plan: protocol.TrialPlan = PLAN
    refuse: Callable[[protocol.Command], bool] = lambda _command: False
    on_tick: Callable[[FakeWorld], list[protocol.Event]] = lambda _world: []
    success: bool = True
    violation: str = ""
    missing: str = ""
    judged: str = ""
    arming_ns: int = 0
    epoch: int = 1
    now_ns: int = EPOCH_NS
    running: bool = False
    commands: list[protocol.Command] = field(default_factory=list)
    stages: list[machine.Stage] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.state, commands = machine.start(self.plan)
        self.take(commands)

    @property
    def since_start_ns(self) -> int:
        return self.now_ns - self.epoch * EPOCH_NS

    @property
    def finish(self) -> protocol.Finish | None:
        return next((command for command in self.commands if isinstance(command, protocol.Finish)), None)

    def kinds(self) -> list[str]:
        return [type(command).__name__ for command in self.commands]

    def take(self, commands: list[protocol.Command]) -> None:
        for command in commands:
            self.commands.append(command)
            self.stages.append(self.state.stage)
            if not isinstance(command, NOT_ANSWERED):
                self.step(self.reply(command))

    def reply(self, command: protocol.Command) -> protocol.Reply:
        if self.refuse(command):
            return protocol.Reply(command, ok=False, message="refused")
        if isinstance(command, protocol.ResetWorld):
            self.epoch += 1
            self.now_ns = self.epoch * EPOCH_NS
        if isinstance(command, protocol.RunWorld):
            self.running = command.running
        took_ns = self.arming_ns if isinstance(command, protocol.Rearm) else 0
        return protocol.Reply(command, ok=True, stamp_ns=self.now_ns + took_ns)

    def step(self, event: protocol.Event) -> None:
        self.state, commands = machine.step(self.state, event)
        self.take(commands)

    def cancel(self, reason: str = "cancelled") -> None:
        self.state, commands = machine.cancel(self.state, reason)
        self.take(commands)

    def seen(self, stamp_ns: int | None = None) -> protocol.WorldSeen:
        T = np.eye(4)
        T[0, 3] = 1e-9 * self.since_start_ns
        stamp_ns = self.now_ns if stamp_ns is None else stamp_ns
        return protocol.WorldSeen(stamp_ns, self.success, self.violation, T, self.missing)

    def tick(self) -> None:
        if self.running:
            self.now_ns += TICK_NS
        self.step(protocol.FrameSeen(self.now_ns, self.judged))
        for event in self.on_tick(self):
            self.step(event)
        self.step(self.seen())

    def play(self, ticks: int = 2000) -> FakeWorld:
        for _ in range(ticks):
            if self.finish is not None:
                return self
            self.tick()
        raise AssertionError(f"no end: {self.state.stage.name}, pending {self.state.pending}")


def moves(world: FakeWorld) -> list[protocol.Event]:
    return [protocol.ArmSeen(world.now_ns, moving=True, emergency_stop=False, reason="")]


def done_after(seconds: float) -> Callable[[FakeWorld], list[protocol.Event]]:
    """Move, and say that the task is done after so many seconds of each run."""

    def tell(world: FakeWorld) -> list[protocol.Event]:
        if world.since_start_ns < seconds * SECOND_NS:
            return moves(world)
        return [*moves(world), protocol.ChunkSeen(world.now_ns, ChunkStatus.DONE)]

    return tell
