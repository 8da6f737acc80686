"""The virtual cell: every process of a trial on one event queue, and 200 interleavings of what may happen."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache, partial

import numpy as np
import pytest
from cell_journal import Journal
from cell_robot import Arm, Worker, World, services_of
from cell_senses import Camera, Distortion, Gate, KnownImages, Policy, Recorder, ScriptedVla, Vlm
from cell_trial import Trial
from event_queue import MS_NS, SECOND_NS, Actor, EventQueue, Link, Service

from embodied_iqa.arm.horizon_options import HorizonOptions
from embodied_iqa.arm.lease_options import LeaseOptions
from embodied_iqa.arm.robot.controller import ArmController, make_controller
from embodied_iqa.arm.robot.controller_options import ControllerOptions
from embodied_iqa.imaging.distortions import DistortionSpec
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.live.ros.qos import image_input
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.runs.offline.headless.policy import goal_of
from embodied_iqa.runs.trial.protocol import TrialPlan

INTERLEAVINGS = 200
"""Of a fault. The first ones are played by every run of the tests, the others by `make stress`."""
FIRST = 40

every_interleaving = pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(FIRST), id="first"),
        pytest.param(range(FIRST, INTERLEAVINGS), id="others", marks=pytest.mark.stress),
    ],
)
"""Gives a test `seeds` for `interleavings`."""
LONGEST_NS = 60 * SECOND_NS
PLAN = TrialPlan(
    task="move to and fro",
    scene_seed=7,
    distortions=(DistortionSpec("19", 5, frozen=True),),
    run_limit_ns=3 * SECOND_NS,
    no_motion_limit_ns=500 * MS_NS,
    settle_ns=160 * MS_NS,
    hold_limit_ns=400 * MS_NS,
)


@cache
def controller(rate_hz: int, horizon: HorizonOptions) -> ArmController:
    lease = LeaseOptions(wait_s=0.15)
    return make_controller(options=ControllerOptions(dt_s=1.0 / rate_hz, lease=lease, horizon=horizon))


JUDGE = KnownImages()


def to_and_fro(count: int = 2, length_m: float = 0.04) -> np.ndarray:
    increments = np.zeros((count, 7))
    increments[0::2, 0], increments[1::2, 0] = length_m, -length_m
    return increments


@dataclass(frozen=True, slots=True)
class CellOptions:
    """What the cell is made of; lockstep follows from the seed where it is None."""

    plan: TrialPlan = PLAN
    increments: np.ndarray = field(default_factory=to_and_fro)
    moves: int = 1
    lockstep: bool | None = None
    gate: GateOptions = field(default_factory=GateOptions)
    rate_hz: int = 50
    answer_deadline_ns: int = SECOND_NS
    horizon: HorizonOptions = field(default_factory=HorizonOptions)


class VirtualCell:
    """Wires the actors as the graph does."""

    def __init__(self, seed: int, options: CellOptions | None = None) -> None:
        self.options = options = options or CellOptions()
        self.queue = EventQueue(seed)
        self.journal = Journal(SECOND_NS // options.rate_hz)
        lockstep = bool(seed % 2) if options.lockstep is None else options.lockstep
        self.world = World(self.queue, self.journal, options.rate_hz, lockstep=lockstep)
        self.worker = Worker(self.queue, self.world)
        self.arm = Arm(self.queue, self.journal, self.worker, controller(options.rate_hz, options.horizon))
        self.camera, self.distortion = Camera(self.queue), Distortion(self.queue)
        self.gate = Gate(self.queue, JUDGE, options.gate)
        vla = ScriptedVla(options.moves, options.increments)
        self.policy = Policy(self.queue, self.journal, vla, options.answer_deadline_ns, options.horizon)
        self.vlm, self.recorder = Vlm(self.queue), Recorder(self.queue)
        services = services_of(self.world, self.arm) | {
            "distort": Service(self.distortion, "/distortion/set", self.distortion.change),
            "set_task": Service(self.policy, "/vla/set_task", self.policy.set_task),
            "ask": Service(self.vlm, "/vlm/ask", self.vlm.ask),
            "record": Service(self.recorder, "/recorder/record", self.recorder.record),
        }
        self.trial = Trial(self.queue, options.plan, services)
        self._connect(newest=image_input(newest_only=not lockstep).depth)

    @property
    def actors(self) -> dict[str, Actor]:
        found = [actor for actor in vars(self).values() if isinstance(actor, Actor)]
        return {actor.name: actor for actor in found}

    @property
    def links(self) -> dict[str, Link]:
        """The links of the graph by topic; those of the robot's own protocol are not among them."""
        return {
            "/clock": self.world.clock,
            "/sim/snapshot": self.world.snapshots,
            "/sim/status": self.world.status,
            "/camera/top/image_raw": self.camera.images,
            "/distorted/top/image_raw": self.distortion.images,
            "/gate/lease": self.gate.leases,
            "/vla/actions": self.policy.actions,
            "/vla/deciding": self.policy.deciding,
            "/arm/status": self.arm.reports,
        }

    def _connect(self, newest: int) -> None:
        world, arm, gate, policy, trial = self.world, self.arm, self.gate, self.policy, self.trial
        world.clock.to(arm, arm.take_clock)
        world.clock.to(gate, gate.take_clock)
        world.snapshots.to(self.camera, self.camera.take_snapshot, newest)
        world.status.to(trial, trial.take_world)
        self.camera.images.to(self.distortion, self.distortion.take_image, newest)
        self.camera.images.to(policy, partial(policy.take_image, Source.RAW), newest)
        self.distortion.images.numbered_to(gate, gate.late.counting(gate.take_image), newest)
        self.distortion.images.to(policy, partial(policy.take_image, Source.DISTORTED), newest)
        for actor in (world, arm, policy, trial):
            gate.leases.to(actor, actor.take_lease)
        policy.actions.to(gate, gate.take_decision)
        policy.actions.to(arm, lambda record: arm.take_goal(goal_of(record)))
        policy.actions.to(trial, trial.take_decision)
        policy.deciding.to(trial, trial.take_deciding)
        arm.reports.to(policy, policy.take_report)
        arm.reports.to(trial, trial.take_report)

    def run(self, *, until_ns: int = LONGEST_NS, is_over: Callable[[], bool] | None = None) -> None:
        """Play until the trial is finished, or until something else is so."""
        self.queue.run(is_over or (lambda: self.trial.finish is not None), until_ns=until_ns)

    def begin(self) -> None:
        """Start the trial, once every node has heard of the others."""
        self.queue.after(200 * MS_NS, self.trial.begin)


def interleavings(test: Callable[[int], object], seeds: Iterable[int]) -> None:
    """Play a test with each of the seeds; a failure names its seed.

    ``CELL_SEED=17`` plays one seed alone, ``CELL_COUNT=5000`` as many of each test.
    """
    only, count = os.environ.get("CELL_SEED"), os.environ.get("CELL_COUNT")
    if only is not None or count is not None:
        seeds = [int(only)] if only is not None else range(int(count or 0))
    gc.disable()  # each cell is one large cycle: collected now and then, without all that was there before
    gc.collect()
    gc.freeze()  # for good, as all other tests are collected and frozen already
    try:
        for played, seed in enumerate(seeds, start=1):
            try:
                test(seed)
            except BaseException as error:
                error.add_note(f"seed {seed}; alone: CELL_SEED={seed} python -m pytest '{_this_test()}'")
                raise
            if played % 20 == 0:
                gc.collect()
    finally:
        gc.enable()


def _this_test() -> str:
    return os.environ.get("PYTEST_CURRENT_TEST", "tests/cell").rsplit(" (", 1)[0]


def with_plan(options: CellOptions, **changes: object) -> CellOptions:
    return replace(options, plan=replace(options.plan, **changes))
