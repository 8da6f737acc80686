"""200 kills of the gate or the policy at random beside the filter: the arm stops within the watchdogs."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from event_queue import MS_NS, SECOND_NS, Actor, EventQueue, Link

from embodied_iqa.arm.lease_options import LeaseOptions
from embodied_iqa.arm.robot.lease_filter import LeaseFilter
from embodied_iqa.arm.robot.lease_watch import Moment
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.judgement import Judgement
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge
from gated_policies import calibrations, covered, scene_image

KILLS = 200
TTL_NS = 120 * MS_NS
WATCH_NS = 10 * MS_NS
SILENT_NS = 150 * MS_NS
"""Without a command for so long, the controller stops by itself."""
LATENCIES_NS = (0, MS_NS, 5 * MS_NS, 15 * MS_NS)
LONGEST_NS = 4 * SECOND_NS


@cache
def image(number: int, *, is_bad: bool) -> np.ndarray:
    return covered(scene_image(number)) if is_bad else scene_image(number)


class KnownImages:
    """The judge of statistics, which remembers what it said of an image."""

    def __init__(self) -> None:
        self._judge = StatisticsJudge(calibrations())
        self._known: dict[int, Judgement] = {}

    def judge(self, view: View, rgb: np.ndarray) -> Judgement:
        if id(rgb) not in self._known:  # `image` keeps every image
            self._known[id(rgb)] = self._judge.judge(view, rgb)
        return self._known[id(rgb)]


@cache
def judge() -> KnownImages:
    return KnownImages()


class Gate(Actor):
    """Judges, and passes on the images that pass."""

    def __init__(self, queue: EventQueue, leases: Link, passed: Link) -> None:
        super().__init__(queue, "gate")
        options = GateOptions(lease=LeaseOptions(ttl_s=TTL_NS / SECOND_NS))
        self._keeper = Gatekeeper(judge(), options)
        self._leases, self._passed = leases, passed

    def take(self, stamped: tuple[int, np.ndarray]) -> None:
        stamp_ns, rgb = stamped
        took_ns = self.queue.random.randrange(1, 15) * MS_NS
        self.after(took_ns, lambda: self._judge(stamp_ns, rgb))

    def _judge(self, stamp_ns: int, rgb: np.ndarray) -> None:
        _, lease = self._keeper.judge(View.TOP, stamp_ns, rgb, self.queue.now_ns)
        self._leases.publish(lease)
        if lease.verdict is Verdict.PASS:
            self._passed.publish(stamp_ns)


class Policy(Actor):
    """Answers each image that passed with a command, some time later."""

    def __init__(self, queue: EventQueue, commands: Link) -> None:
        super().__init__(queue, "policy")
        self._commands = commands

    def take(self, stamp_ns: int) -> None:
        self.after(self.queue.random.randrange(5, 60) * MS_NS, lambda: self._commands.publish(stamp_ns))


class Consumer(Actor):
    """`LeaseFilter` as `gate_filter_node` calls it, and a controller that stops without commands."""

    def __init__(self, queue: EventQueue) -> None:
        super().__init__(queue, "filter")
        self._filter = LeaseFilter((View.TOP,))
        self.leases: list[tuple[int, GateLease]] = []
        self.commands: list[int] = []
        self.moves_until_ns = 0
        self.every(WATCH_NS, self._watch)

    @property
    def _now(self) -> Moment:
        return Moment(self.queue.now_ns, self.queue.now_ns)

    def take_lease(self, lease: GateLease) -> None:
        self.leases.append((self.queue.now_ns, lease))
        self._filter = self._filter.with_lease(lease, self._now)
        self._watch()

    def take_command(self, _stamp_ns: int) -> None:
        self._watch()
        self._filter, found = self._filter.command(self._now)
        if found.verdict is Verdict.PASS:
            assert self._is_fresh(), "a command passed without a fresh lease"
            self.commands.append(self.queue.now_ns)
            self.moves_until_ns = self.queue.now_ns + SILENT_NS

    def _is_fresh(self) -> bool:
        """By the book, without the filter's rules: the newest image passed, and not long ago."""
        newest = max((lease for _, lease in self.leases), key=lambda lease: lease.frame_stamp_ns)
        return newest.verdict is Verdict.PASS and self.queue.now_ns <= newest.frame_stamp_ns + TTL_NS

    def _watch(self) -> None:
        self._filter, reason = self._filter.watch(self._now)
        if reason:
            self.moves_until_ns = min(self.moves_until_ns, self.queue.now_ns)


class Stack:
    """Camera, gate, policy and consumer; a gate or policy can die, and another one start."""

    def __init__(self, seed: int) -> None:
        self.queue = EventQueue(seed)
        self.images, self.leases, self.passed, self.commands = (
            Link(self.queue, depth, LATENCIES_NS) for depth in (1, 50, 10, 10)
        )
        self.consumer = Consumer(self.queue)
        self.leases.to(self.consumer, self.consumer.take_lease)
        self.commands.to(self.consumer, self.consumer.take_command)
        self.actors: dict[str, Actor] = {}
        self.start("gate")
        self.start("policy")
        camera = Actor(self.queue, "camera")
        camera.every(33 * MS_NS, self._shoot)

    def start(self, name: str) -> None:
        if name == "gate":
            gate = Gate(self.queue, self.leases, self.passed)
            self.images.to(gate, gate.take)
            self.actors[name] = gate
        else:
            policy = Policy(self.queue, self.commands)
            self.passed.to(policy, policy.take)
            self.actors[name] = policy

    def run(self, until_ns: int) -> None:
        self.queue.run(lambda: False, until_ns=until_ns)

    def _shoot(self) -> None:
        random = self.queue.random
        number, is_bad = random.randrange(8), random.random() < 0.01
        self.images.publish((self.queue.now_ns, image(number, is_bad=is_bad)))


@pytest.mark.parametrize("victim", ["gate", "policy"])
def test_the_arm_stops_within_the_watchdogs_of_each_kill(victim: str) -> None:
    were_moving = again = 0
    for seed in range(KILLS // 2):
        stack = Stack(seed)
        killed_ns = stack.queue.random.randrange(500, 2000) * MS_NS
        stack.run(killed_ns)
        stack.actors[victim].kill()
        consumer = stack.consumer
        were_moving += consumer.moves_until_ns > killed_ns
        stack.run(killed_ns + SECOND_NS)
        late_ns = max(LATENCIES_NS)
        if victim == "gate":  # a lease that is under way arrives; it counts from its image, which is older
            assert consumer.moves_until_ns <= killed_ns + TTL_NS + WATCH_NS, seed
            assert all(came_ns <= killed_ns + late_ns for came_ns, _ in consumer.leases), seed
        else:
            assert consumer.moves_until_ns <= killed_ns + late_ns + SILENT_NS, seed
        before = len(consumer.commands)
        stack.start(victim)
        stack.run(killed_ns + LONGEST_NS)
        again += len(consumer.commands) > before
    assert were_moving > 0.8 * KILLS / 2, "the kills meet an arm that moves"
    assert again > 0.8 * KILLS / 2, "another one goes on"
