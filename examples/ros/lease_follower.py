"""A node that obeys the gate: it passes velocity commands on while the lease is fresh, else it stops.

    python3 examples/ros/lease_follower.py --ros-args -p views:="[top]" -r commands:=/policy/twist

Copy it: it needs rclpy and the messages, nothing else of this package. `Leases` is the whole contract of
docs/gate-ros.md; the node around it shows where to ask. For the usual commands `gate_filter_node` is ready.
"""

import signal
import time
from collections.abc import Iterable
from typing import NamedTuple

import rclpy
from builtin_interfaces.msg import Time
from embodied_iqa_msgs.msg import GateLease
from geometry_msgs.msg import TwistStamped
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

LONGEST_NS = 1_000_000_000
"""A lease is good for so long after its arrival at most, whatever it says."""
REMEMBER_NS = 3_000_000_000
"""For so long an image in the future may stop the robot, should the clock that stamped it have been wrong."""
WATCH_S = 0.01


def ns_of(stamp: Time) -> int:
    return stamp.sec * 1_000_000_000 + stamp.nanosec


class Kept(NamedTuple):
    """A lease at its arrival, with its end by both clocks."""

    stamp_ns: int
    verdict: int
    passes: bool
    ends_ns: int
    ends_steady_ns: int
    since_ns: int

    def is_known(self, ros_ns: int) -> bool:
        """Return whether it counts beside a later lease: the clock was not set back since it came.

        A verdict to stop on an image in the future is kept under its own stamp, for a while.
        """
        return self.stamp_ns <= ros_ns or self.since_ns <= ros_ns <= self.since_ns + REMEMBER_NS


class Leases:
    """The newest lease of each camera. Times are numbers: ROS time, and a clock that never stands still."""

    def __init__(self, views: Iterable[str]) -> None:
        self.newest: dict[str, Kept | None] = dict.fromkeys(views)

    def take(self, lease: GateLease, ros_ns: int, steady_ns: int) -> None:
        """Keep a lease if its image is the newest of its camera."""
        stamp_ns, is_pass = ns_of(lease.header.stamp), lease.verdict == GateLease.VERDICT_PASS
        if lease.of_decision or lease.view not in self.newest or (is_pass and stamp_ns > ros_ns):
            return
        ends_ns = min(ns_of(lease.expires), ros_ns + LONGEST_NS)
        ends_steady_ns, passes = steady_ns + ends_ns - ros_ns, is_pass and not lease.needs_decision
        kept = Kept(stamp_ns, lease.verdict, passes, ends_ns, ends_steady_ns, ros_ns)
        before = self.newest[lease.view]
        if before is not None and before.is_known(ros_ns):
            if (stamp_ns, lease.verdict) < (before.stamp_ns, before.verdict):
                return
            if (stamp_ns, lease.verdict) == (before.stamp_ns, before.verdict):  # both have to permit it
                ends_ns, ends_steady_ns = (
                    min(ends_ns, before.ends_ns),
                    min(ends_steady_ns, before.ends_steady_ns),
                )
                kept = before._replace(
                    passes=passes and before.passes, ends_ns=ends_ns, ends_steady_ns=ends_steady_ns
                )
        self.newest[lease.view] = kept

    def allow(self, ros_ns: int, steady_ns: int) -> bool:
        """Return whether the robot may move now: every camera passes, and no lease has run out."""
        return bool(self.newest) and all(
            kept is not None
            and kept.passes
            and kept.stamp_ns <= ros_ns <= kept.ends_ns
            and steady_ns <= kept.ends_steady_ns
            for kept in self.newest.values()
        )


class LeaseFollower(Node):
    """commands -> servo_twist while every lease is fresh; zeros once it is not."""

    def __init__(self) -> None:
        super().__init__("lease_follower")
        views = self.declare_parameter("views", ["top"]).value
        self.leases = Leases(views if isinstance(views, list) else [])
        self.moving = False
        self.frame_id = ""
        self.publisher = self.create_publisher(TwistStamped, "servo_twist", 10)
        self.create_subscription(GateLease, "gate/lease", self.take_lease, 50)
        self.create_subscription(TwistStamped, "commands", self.take_command, 10)
        # The watchdog: where the gate, the camera or the clock dies, nobody calls but this timer.
        self.create_timer(WATCH_S, self.watch, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def may_move(self) -> bool:
        return self.leases.allow(self.get_clock().now().nanoseconds, time.monotonic_ns())

    def take_lease(self, lease: GateLease) -> None:
        self.leases.take(lease, self.get_clock().now().nanoseconds, time.monotonic_ns())
        self.watch()

    def take_command(self, command: TwistStamped) -> None:
        if self.may_move():
            self.moving, self.frame_id = True, command.header.frame_id
            self.publisher.publish(command)

    def watch(self) -> None:
        if self.moving and not self.may_move():
            self.moving = False
            self.stop()
            self.get_logger().warning("no fresh lease: stop")

    def stop(self) -> None:
        """Publish zeros, in the frame of the newest command: controllers refuse one that they do not know."""
        zeros = TwistStamped()
        zeros.header.frame_id = self.frame_id
        zeros.header.stamp = self.get_clock().now().to_msg()
        self.publisher.publish(zeros)


def main() -> None:
    # The handlers of ROS end the context at a signal: the last stop could not be published.
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    for number in (signal.SIGINT, signal.SIGTERM):  # a script that starts it with & has SIGINT ignored
        signal.signal(number, signal.default_int_handler)
    node = LeaseFollower()
    try:
        rclpy.spin(node)
    except KeyboardInterrupt:
        pass
    finally:
        node.stop()  # also where a callback fails
        node.destroy_node()
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
