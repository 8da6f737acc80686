"""Simulation node: the world behind the protocols of the real robot, and the clock."""

from __future__ import annotations

import math
import time

from embodied_iqa_msgs.msg import GateLease, SimState
from embodied_iqa_msgs.srv import ResetWorld
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

from embodied_iqa.base.errors import UserError
from embodied_iqa.base.units import MILLISECOND_NS, SECOND_NS
from embodied_iqa.live.ros.conversion import header_of, joints_to_msg, ns_of, time_of
from embodied_iqa.live.ros.names import CLOCK_TOPIC
from embodied_iqa.live.ros.node import BaseNode, Health, Spin, leave, main_of
from embodied_iqa.live.ros.qos import CLOCK, LATCHED, STATE
from embodied_iqa.runs.graph.parameters import SimParameters
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.simulation.emulated_robot import EmulatedRobot
from embodied_iqa.world.simulation.lockstep import Lockstep, Pace
from embodied_iqa.world.simulation.success import task_missing
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.instruction import parse_instruction

_ARM = "arm"
_STEP_NS = 2 * MILLISECOND_NS
_POLL_S = 0.05
_SLICE_S = 0.008
"""Between two looks at the driver's connection while nothing of the graph arrives: the period of a CB3."""


class SimNode(BaseNode[SimParameters]):
    """Steps the world at the rate of the controller, in lockstep with arm and gate while they respond."""

    def __init__(self) -> None:
        super().__init__("sim_node", SimParameters)
        config = self.config
        self._tick_ns = max(_STEP_NS, round(SECOND_NS / config.state_rate_hz / _STEP_NS) * _STEP_NS)
        self._epoch_ns = round(config.epoch_s * SECOND_NS)
        self._instruction = parse_instruction(config.instruction) if config.instruction else None
        self._scene_seed = config.scene_seed
        self._world = World(make_scene(self._scene_seed, self._instruction, config.arm_model))
        self._initial = self._world.snapshot()
        self._offset_ns = self._epoch_ns
        self._epoch = 0
        self._running = config.running
        self._lockstep = Lockstep([_ARM, *config.views])
        self._unjudged_ns: list[int] = []
        self._answered_s = -1.0
        factor = config.real_time_factor
        self._pace = Pace(self._tick_ns / SECOND_NS / factor if factor > 0 else 0.0)
        self._took_s = math.inf
        self._reported_violation = ""
        self._robot = EmulatedRobot(self._world, config.emulator_ip, self._tick_ns, lambda: self.now_ns)
        self._restart_schedule()
        self._snapshot_publisher = self.create_publisher(SimState, "sim/snapshot", STATE)
        self._status_publisher = self.create_publisher(SimState, "sim/status", LATCHED)
        self._joint_publisher = self.create_publisher(JointState, "sim/joint_states", STATE)
        self._target_publisher = self.create_publisher(JointState, "sim/joint_targets", STATE)
        self._clock_publisher = self.create_publisher(Clock, CLOCK_TOPIC, CLOCK)
        self.create_subscription(GateLease, "gate/lease", self._take_lease, STATE)
        self.create_service(ResetWorld, "sim/reset", self._reset)
        self.create_service(SetBool, "sim/run", self._run)
        self._publish_status()  # cameras load the scene while the other nodes start

    @property
    def now_ns(self) -> int:
        """Simulated ROS time."""
        return self._offset_ns + self._world.time_ns

    def destroy_node(self) -> None:
        """Close the ports of the emulated robot."""
        self._robot.close()
        super().destroy_node()

    def health(self) -> Health:
        """Return the speed of simulated time and the missed responses by partner."""
        speed = self._tick_ns / SECOND_NS / self._took_s
        values: dict[str, object] = {"running": self._running, "speed": round(speed, 2)}
        values |= {f"{name} missed": count for name, count in self._lockstep.missed.items()}
        return Health(values=values)

    def tick(self, spin: Spin) -> None:
        """Advance by one step of the controller and wait for the partners; while stopped, only listen.

        Args:
            spin: Handles one event; waits at most the given number of seconds for it.
        """
        if not self._running:
            self._stand_still(spin)
            return
        began = time.monotonic()
        now_ns = self.now_ns
        self._publish(now_ns)
        self._await_driver(now_ns, spin)
        while self._unjudged_ns and now_ns - self._unjudged_ns[0] >= self.config.lease.window_ns:
            self._await_leases(self._unjudged_ns[0], spin)
            del self._unjudged_ns[:1]
        if self._running and self.now_ns == now_ns:
            self._advance()
            self._await_next(began, spin)

    def _advance(self) -> None:
        now_ns = self.now_ns
        self._robot.step(passing=True)
        if (q_rad := self._robot.take_servo_target()) is not None:
            self._target_publisher.publish(joints_to_msg(now_ns, q_rad.tolist()))

    def _stand_still(self, spin: Spin) -> None:
        """Listen, and report the arm regularly, so that it can be armed while time is stopped.

        The controller ticks no faster than a real one: each tick wakes the driver and the arm.
        """
        until = time.monotonic() + _POLL_S
        while not self._running and (now_s := time.monotonic()) < until:
            self._robot.step(passing=False)  # its program can be started while time is stopped
            self._listen_until(now_s + self._tick_ns / SECOND_NS, spin)
        if not self._running:
            self._publish_clock()
            self._publish_joints()

    def _restart_schedule(self) -> None:
        self._next_image_ns = self._next_clock_ns = self._next_status_ns = self.now_ns
        self._unjudged_ns.clear()

    def _publish(self, now_ns: int) -> None:
        """Publish what is due; the snapshot first, since rendering takes longest."""
        if now_ns >= self._next_image_ns:
            self._next_image_ns += round(SECOND_NS / self.config.camera_rate_hz)
            state = self._state()
            state.qpos = self._world.snapshot().qpos.tolist()
            self._snapshot_publisher.publish(state)
            self._unjudged_ns.append(now_ns)
        if now_ns >= self._next_clock_ns:
            self._next_clock_ns += round(SECOND_NS / self.config.clock_rate_hz)
            self._publish_clock()
        violation = self._world.contact_violation or ""
        if now_ns >= self._next_status_ns or violation != self._reported_violation:
            self._next_status_ns = now_ns + round(SECOND_NS / self.config.camera_rate_hz)
            self._publish_status()
        self._publish_joints()

    def _publish_joints(self) -> None:
        world = self._world
        positions = [*world.q_rad.tolist(), world.gripper]
        velocities = [*world.qd_radps.tolist(), float(world.gripper_moving)]
        self._joint_publisher.publish(joints_to_msg(self.now_ns, positions, velocities))

    def _state(self) -> SimState:
        world = self._world
        state = SimState(
            header=header_of(self.now_ns),
            epoch=self._epoch,
            scene_seed=self._scene_seed,
            instruction=str(self._instruction or ""),
            running=self._running,
            contact_violation=world.contact_violation or "",
        )
        if self._instruction is not None:
            state.task_missing = task_missing(world.scene, self._instruction, self._initial, world.snapshot())
            state.task_success = not state.task_missing
        return state

    def _publish_status(self) -> None:
        self._reported_violation = self._world.contact_violation or ""
        self._status_publisher.publish(self._state())

    def _publish_clock(self) -> None:
        self._clock_publisher.publish(Clock(clock=time_of(self.now_ns)))

    def _await(self, partners: list[str], stamp_ns: int, listen: Spin) -> None:
        """Listen until all partners have responded to ``stamp_ns``, at most until the deadline."""
        deadline, epoch = time.monotonic() + self.config.lockstep_timeout_s, self._epoch
        while self.config.lockstep and self._running and epoch == self._epoch:
            late = self._lockstep.late(partners, stamp_ns)
            if not late:
                return
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                self.get_logger().warning(f"no longer waiting for {', '.join(late)}")
                self._lockstep.give_up(late)
                return
            listen(left_s)

    def _await_leases(self, stamp_ns: int, spin: Spin) -> None:
        spin(0.0)

        def listen(seconds: float) -> None:
            spin(min(seconds, _SLICE_S))
            self._robot.wait()

        self._await([*self.config.views], stamp_ns, listen)

    def _await_driver(self, now_ns: int, spin: Spin) -> None:
        robot = self._robot

        def listen(seconds: float) -> None:
            robot.listen(min(seconds, _POLL_S))
            if not seconds or not robot.is_answered:
                spin(0.0)  # requests to stop or reset are handled in the meantime
            if robot.answered_s > self._answered_s:  # a late response also shows that the driver is alive
                self._answered_s = robot.answered_s
                self._lockstep.heard(_ARM, now_ns if robot.is_answered else 0)

        listen(0.0)
        self._await([_ARM], now_ns, listen)

    def _listen(self, seconds: float, spin: Spin) -> None:
        """Handle messages of nodes and of the driver of the arm, at most for the given time."""
        spin(min(seconds, _SLICE_S))
        self._robot.listen(0.0)

    def _listen_until(self, until_s: float, spin: Spin) -> None:
        while (left_s := until_s - time.monotonic()) > 0:
            self._listen(left_s, spin)

    def _await_next(self, began_s: float, spin: Spin) -> None:
        """Listen until the next step is due."""
        self._listen_until(self._pace.due_s(began_s), spin)
        took_s = max(time.monotonic() - began_s, 1e-9)
        self._took_s = took_s if math.isinf(self._took_s) else self._took_s + 0.02 * (took_s - self._took_s)

    def _take_lease(self, message: GateLease) -> None:
        self._lockstep.heard(message.view, ns_of(message.header.stamp))

    def _reset(self, request: ResetWorld.Request, response: ResetWorld.Response) -> ResetWorld.Response:
        try:
            instruction = parse_instruction(request.instruction) if request.instruction else None
            scene = make_scene(request.scene_seed, instruction, self.config.arm_model)
        except UserError as error:
            response.message = str(error)
            return response
        now_ns = self.now_ns
        self._world.reset(scene)
        self._robot.restart()
        self._initial = self._world.snapshot()
        self._instruction, self._scene_seed = instruction, request.scene_seed
        self._offset_ns = (now_ns // self._epoch_ns + 1) * self._epoch_ns
        self._epoch += 1
        self._running = False
        self._restart_schedule()
        self._publish_clock()
        self._publish_status()
        response.success = True
        response.stamp = time_of(self.now_ns)
        return response

    def _run(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._running = request.data
        self._publish_status()
        response.success = True
        return response


def main() -> int:
    """Run the node; the loop of the world drives the executor."""
    return main_of(SimNode, work=SimNode.tick, sockets_only=True)


if __name__ == "__main__":
    leave(main())
