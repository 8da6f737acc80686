"""A trial on an emulated UR5e in anybody's words: models behind servers, a person who ends and judges it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_ros_real_arm import Person, keyboard, write_cell

from chat_server import ChatServer
from embodied_iqa.data.recording.trial_reading import read_trial
from live_process import running_program
from ur_emulator import emulator
from wire_servers import reference_server

pytestmark = pytest.mark.stress

TASK = "open the microwave"
ENDS_AT_QUESTION = 8
"""Two questions each decision: by the fourth the arm has moved, so that the run is under way."""


class UpAndDown:
    """A policy that never ends; at one of its questions the person types the key that ends the run."""

    def __init__(self, keyboard_end: int) -> None:
        self.prompts: list[str] = []
        self._keyboard = keyboard_end

    def __call__(self, message: dict[str, Any]) -> dict[str, Any]:
        self.prompts.append(message["prompt"])
        if len(self.prompts) == ENDS_AT_QUESTION:
            os.write(self._keyboard, b"e\n")
        height_m = 0.01 if len(self.prompts) // 2 % 2 else -0.01
        return {"actions": np.array([[0, 0, height_m, 0, 0, 0, 0.0]])}


def test_the_microwave_is_opened_in_the_words_of_the_lab(ros_domain: int, tmp_path: Path) -> None:
    with (
        emulator("--model", "ur5e", "--plant", "kinematic", "--watchdog-margin", "20") as robot,
        keyboard() as (ours, theirs),
        ChatServer() as vlm,
    ):
        policy = UpAndDown(ours)
        metadata = {"version": "1", "convention": "openvla-bridge"}
        with reference_server(metadata, policy) as port:
            words = ["--task", TASK, "--no-distortion", "--gate", "off", "--json"]
            words += ["--vlm", vlm.reference, "--vla", f"openpi://127.0.0.1:{port}"]
            words += ["--config", str(write_cell(tmp_path, robot.host, "ur5e"))]
            words += ["--out", str(tmp_path / "run"), "--set", "vlm_node.cache.enabled=false"]
            command = [sys.executable, "-m", "embodied_iqa.cli.main", "trial", *words]
            path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
            variables = {"ROS_DOMAIN_ID": str(ros_domain), "PYTHONPATH": path}
            streams = {"stdin": theirs, "stderr": subprocess.PIPE, "text": True}
            with running_program(command, tmp_path / "logs", variables, **streams) as program:
                Person(program.process, ours).await_end()
    assert set(policy.prompts) == {TASK}
    asked = json.dumps(vlm.requests)
    assert f"Its task: {TASK}. In about" in asked
    (run,) = json.loads(program.stdout)["runs"]
    assert run["task"] == TASK
    assert run["execution"]["outcome"] == "success"
    assert run["execution"]["reason"] == "ended by a person; judged: done; held well"
    (recorded,) = read_trial(tmp_path / "run" / "trial.mcap").runs
    assert max(chunk.step for chunk in recorded.chunks) > 0, "the arm has executed none"
