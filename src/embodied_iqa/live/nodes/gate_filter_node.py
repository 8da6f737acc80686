"""Lets the commands of any policy pass to its controller under fresh leases of the gate; else it stops."""

from __future__ import annotations

import re
import time
from collections import deque
from typing import Any, Final

from diagnostic_msgs.msg import DiagnosticStatus
from embodied_iqa_msgs import msg as ours
from rclpy.clock import Clock, ClockType
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState

from embodied_iqa.arm.robot.lease_filter import LeaseFilter
from embodied_iqa.arm.robot.lease_watch import Moment
from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.live.ros.conversion import lease_of
from embodied_iqa.live.ros.filter_topics import FilterTopics
from embodied_iqa.live.ros.filtered_commands import KINDS, Command, Stops
from embodied_iqa.live.ros.names import type_name_of
from embodied_iqa.live.ros.node import BaseNode, Health, leave, main_of
from embodied_iqa.live.ros.node_parameters import warn_of_idle_sections
from embodied_iqa.live.ros.qos import COMMAND, NEWEST_STATE, STATE, adjustable
from embodied_iqa.runs.graph.gate_filter_parameters import GateFilterParameters

_WATCH_S = 0.01
"""The watchdog looks so often, by a clock of its own."""
_LOOK_S = 0.1
"""The filter counts the gates so often."""
_UNHEARD: Final = "nobody listens on ~/out"
_RECENT_NS: Final = 10 * SECOND_NS
_MANY: Final = 3
"""With so many recent stops the arm moves by fits and starts."""


class GateFilterNode(BaseNode[GateFilterParameters]):
    """~/in -> ~/out, under fresh leases on gate/lease. At the loss of a lease one stop goes to ~/out.

    A command that could not be stopped, because no fresh joint state is known, does not pass either, and
    where the states cease while the arm moves, it stops at the last one. It stops, too, at a command that
    does not pass, at a second gate on gate/lease, and where twists or velocities cease.

    The first message on ~/out is a stop: a filter that was killed may have left a motion behind. Until a
    command has passed, it is repeated whenever one more listens there, as a controller may come after a
    recorder.
    """

    def __init__(self) -> None:
        super().__init__("gate_filter", GateFilterParameters)
        warn_of_idle_sections(self)
        self.config.check()
        self._filter = LeaseFilter(self.config.views)
        self._stops = Stops(self.config)
        self._counts = {"forwarded": 0, "dropped": 0, "stops": 0, "damaged leases": 0}
        self._reason = "no command yet"
        self._unfit = self._several_gates = ""
        self._stopped_for = self._commanded_ns = 0
        self._why_stopped = ""
        self._stopped_ns: deque[int] = deque(maxlen=1000)
        self._warned: tuple[str, ...] = ()
        kind: Any = KINDS[self.config.command]
        self._publisher: Publisher[Command] = self.create_publisher(kind, "~/out", COMMAND)
        leases = self.create_subscription(ours.GateLease, "gate/lease", self._take_lease, STATE)
        self._commands = self.create_subscription(
            kind, "~/in", self._take_command, **adjustable(COMMAND)
        ).topic_name
        self._out = self._publisher.topic_name
        if self._out == self._commands:
            expected = "a topic of the policy's own, and for ~/out the one of the controller"
            raise UsageError("~/in and ~/out are one topic", expected=expected, got=self._out)
        name = type_name_of(KINDS[self.config.command])
        self._topics = FilterTopics(self, self._commands, self._out, leases.topic_name, name)
        if self.config.command.holds:
            self.create_subscription(
                JointState, "joint_states", self._take_joints, **adjustable(NEWEST_STATE)
            )
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(_WATCH_S, self._watch, clock=steady)
        self.create_timer(_LOOK_S, self._look, clock=steady)
        route = f"{self._commands} -> {self._out}, {name}"
        views = ", ".join(self.config.views)
        self.get_logger().info(f"{route}, under leases on {leases.topic_name} of {views}")

    def health(self) -> Health:
        """Return what passed, why nothing does, and what the filter cannot hold."""
        wrong = (*self._topics.remarks(), *self._stops_and_goes())
        for one in wrong:
            if _without_numbers(one) not in self._warned:
                self.get_logger().warning(one)
        self._warned = tuple(map(_without_numbers, wrong))
        held = "; ".join(filter(None, (self._topics.why_none_fits(), self._why_held())))
        said = f"commands are held: {held}" if held else self._what_passes()
        level = DiagnosticStatus.WARN if wrong or held else DiagnosticStatus.OK
        return Health(level, "; ".join((*(one for one in wrong if one not in said), said)), {**self._counts})

    def end(self) -> None:
        """Stop what a command has set in motion."""
        if self._filter.is_released and not self._stops.is_outdated(time.monotonic_ns()):
            self._stop("the filter ends")

    def _why_held(self) -> str:
        """Return why a command would not pass now, or why the newest one was unfit; empty where it would."""
        now = self._now()
        held = self._filter.permission(now).reason or self._why_lost(now)
        return held or ("" if self._stopped_for else _UNHEARD) or self._unfit

    def _why_lost(self, now: Moment) -> str:
        """Return why no command passes, whatever the lease says; empty where one would."""
        return self._several_gates or self._stops.why_lost(now.steady_ns)

    def _why_silent(self, now: Moment) -> str:
        """Return that the policy is silent while its newest command goes on; empty where it is not."""
        limit_s, silent_s = self.config.silence_s, (now.steady_ns - self._commanded_ns) / SECOND_NS
        if self.config.command.holds or not 0.0 < limit_s < silent_s:
            return ""
        return f"no command for {silent_s:.2f} s"

    def _stops_and_goes(self) -> tuple[str, ...]:
        since_ns = time.monotonic_ns() - _RECENT_NS
        count = sum(stopped_ns > since_ns for stopped_ns in self._stopped_ns)
        advice = f"the newest because {self._why_stopped}; see what the gate warns of"
        return (f"{count} stops in the last 10 s, {advice}",) if count >= _MANY else ()

    def _what_passes(self) -> str:
        if self._filter.is_released:
            return "commands pass"
        return f"the next command passes; none has {'since the stop' if self._counts['forwarded'] else 'yet'}"

    def _take_lease(self, message: ours.GateLease) -> None:
        try:
            lease = lease_of(message)
        except ValueError as error:
            self._counts["damaged leases"] += 1
            self.get_logger().error(f"a lease is damaged: {error}", throttle_duration_sec=1.0)
            return
        self._filter = self._filter.with_lease(lease, self._now())
        self._watch()

    def _take_command(self, command: Command) -> None:
        self._watch()
        now = self._now()
        self._unfit = self._stops.why_unfit(command)
        if self._unfit:
            self._watch(self._unfit)  # what the commands before it set in motion would go on
        reason = self._unfit or self._why_lost(now)
        if not reason and not self._stopped_for:
            reason = _UNHEARD
        if not reason:
            self._filter, found = self._filter.command(now)
            reason = "" if found.verdict is Verdict.PASS else found.reason
        if _without_numbers(reason) != _without_numbers(self._reason):
            self._reason = reason
            said = f"commands are held: {reason}" if reason else "commands pass"
            self.get_logger().info(said, throttle_duration_sec=1.0)
        if reason:
            self._counts["dropped"] += 1
            return
        self._counts["forwarded"] += 1
        self._commanded_ns = now.steady_ns
        self._stops.passed(command)
        self._publisher.publish(command)

    def _take_joints(self, message: JointState) -> None:
        self._stops.take_joints(message, self._now())

    def _look(self) -> None:
        self._several_gates = self._topics.several_gates()

    def _watch(self, unfit: str = "") -> None:
        now = self._now()
        if self._stops.is_outdated(now.steady_ns):
            return  # this process stood still or has just begun: the stop follows on the next joint state
        if not self._counts["forwarded"]:
            self._begin()
        if not self._stopped_for:
            return
        lost = unfit or self._why_lost(now) or self._why_silent(now)
        self._filter, reason = self._filter.watch(now, lost)
        if reason:
            self._stop(reason)

    def _begin(self) -> None:
        """Stop what a killed filter of this name may have left in motion, once somebody listens."""
        listeners = self._publisher.get_subscription_count()
        if listeners > self._stopped_for:
            self._stop("the filter begins")
        self._stopped_for = listeners  # who leaves may make room for another one

    def _stop(self, reason: str) -> None:
        self._reason = self._why_stopped = reason
        self._counts["stops"] += 1
        self._stopped_ns.append(time.monotonic_ns())
        self._publisher.publish(self._stops.command(self._now().ros_ns))
        self.get_logger().warning(f"stop: {reason}")

    def _now(self) -> Moment:
        return Moment(self.get_clock().now().nanoseconds, time.monotonic_ns())


def _without_numbers(words: str) -> str:
    """Return words that stay the same while what they name goes on."""
    return re.sub(r"\d[\d.]*", "", words)


def main() -> int:
    """Run the node."""
    return main_of(GateFilterNode, sockets_only=True)


if __name__ == "__main__":
    leave(main())
