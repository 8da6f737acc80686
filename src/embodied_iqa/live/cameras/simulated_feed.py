"""The simulated cameras: they draw each state of the world."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from embodied_iqa_msgs.msg import SimState

from embodied_iqa.base.lazy import load
from embodied_iqa.live.cameras.camera_rig import CameraRig
from embodied_iqa.live.ros.conversion import ns_of
from embodied_iqa.live.ros.late_count import LateCount
from embodied_iqa.live.ros.node import Health
from embodied_iqa.live.ros.qos import LATCHED, image_input
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.scenes.snapshot import WorldSnapshot
from embodied_iqa.world.tasks.instruction import parse_instruction

if TYPE_CHECKING:  # they need a graphics context
    from embodied_iqa.world.simulation.camera.simulated_cameras import SimulatedCameras
    from embodied_iqa.world.simulation.renderer import SceneRenderer


class SimulatedFeed:
    """The source ``simulated``: every image has the stamp of the state that it shows."""

    def __init__(self, rig: CameraRig) -> None:
        self._rig = rig
        self._latency_ms = 0.0
        self._late = LateCount()
        self._renderer: SceneRenderer | None = None
        self._scene_key: tuple[int, str] | None = None
        self._cameras: SimulatedCameras | None = None
        self._epoch = 0
        qos = image_input(newest_only=rig.config.newest_only)
        rig.node.create_subscription(SimState, "sim/snapshot", self._late.counting(self._draw), qos)
        rig.node.create_subscription(SimState, "sim/status", self._renderer_of, LATCHED)

    def health(self) -> Health:
        """Return the faults of delivery, the states that were never drawn, and the time of the last one."""
        faults = {} if self._cameras is None else self._cameras.faults
        values: dict[str, object] = {f"{view} {fault}": count for (view, fault), count in faults.items()}
        return Health(values=values | {"late": self._late.total, "latency_ms": round(self._latency_ms, 2)})

    def close(self) -> None:
        """Close the renderer."""
        if self._renderer is not None:
            self._renderer.close()

    def _draw(self, state: SimState) -> None:
        """Render the snapshot."""
        began = perf_counter()
        cameras = self._cameras_of(state)
        stamp_ns = ns_of(state.header.stamp)
        shot = cameras.take(WorldSnapshot(stamp_ns, np.asarray(state.qpos, dtype=np.float64)))
        for view in self._rig.config.views:
            if view not in shot.dropped:
                self._rig.publish(cameras.frame(view, shot))
        self._latency_ms = (perf_counter() - began) * 1e3

    def _cameras_of(self, state: SimState) -> SimulatedCameras:
        """Return the cameras in the scene; their controls start anew when the world is reset."""
        renderer, config = self._renderer_of(state), self._rig.config
        if self._cameras is None:
            make = load("embodied_iqa.world.simulation.camera.simulated_cameras:SimulatedCameras")
            self._cameras = make(renderer, config.model, config.views, config.faults)
        elif state.epoch != self._epoch:
            self._cameras.reset()
        self._epoch = state.epoch
        return self._cameras

    def _renderer_of(self, state: SimState) -> SceneRenderer:
        """Return the renderer of the scene; a scene is loaded as soon as the world reports it."""
        key = (state.scene_seed, state.instruction)
        if self._renderer is None or key != self._scene_key:
            instruction = parse_instruction(state.instruction) if state.instruction else None
            scene = make_scene(state.scene_seed, instruction, self._rig.config.arm_model)
            if self._renderer is None:
                make = load("embodied_iqa.world.simulation.renderer:SceneRenderer")
                self._renderer = make(scene, self._rig.config.width_px, self._rig.config.height_px)
            else:
                self._renderer.load(scene)
            self._scene_key = key
        return self._renderer
