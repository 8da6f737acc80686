"""A node whose own code or whose user's code fails ends with an exit code and names the reason."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from live_process import COMPLETION_S
from trial_recording import write_trial

_CRASHING_PLAYBACK = """
import sys
from embodied_iqa.live.nodes import playback_node

def crash(_node):
    raise ZeroDivisionError("a bug in the thread")

playback_node.PlaybackNode._play = crash
sys.exit(playback_node.main())
"""
_CAMERAS = """
class Camera:
    def __init__(self, view, clock_ns):
        self.view = view

    def read(self, deadline_s):
        raise OSError("the cable is loose")

    def close(self):
        pass

def broken(view, clock_ns):
    raise OSError("no such device")
"""


def end_of(command: list[str], domain: int, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"ROS_DOMAIN_ID": str(domain)}
    environment["PYTHONPATH"] = os.pathsep.join([str(folder), environment.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        env=environment,
        timeout=COMPLETION_S,
        check=False,
    )


def test_a_crash_of_the_playback_is_not_a_success(ros_domain: int, tmp_path: Path) -> None:
    recording = write_trial(tmp_path / "trial.mcap")
    command = ["-c", _CRASHING_PLAYBACK, "--ros-args", "-p", f"recording:={recording}"]
    done = end_of(command, ros_domain, tmp_path)
    assert done.returncode == 1, done.stderr
    assert "ZeroDivisionError: a bug in the thread" in done.stderr


@pytest.mark.parametrize(
    ("factory", "words"),
    [
        ("broken", "own_cameras:broken failed: OSError: no such device"),
        ("Camera", "camera top failed: OSError: the cable is loose"),
    ],
)
def test_an_own_camera_that_fails_is_one_line(
    ros_domain: int, tmp_path: Path, factory: str, words: str
) -> None:
    (tmp_path / "own_cameras.py").write_text(_CAMERAS)
    command = ["-m", "embodied_iqa.live.nodes.camera_node", "--ros-args", "-p", "source:=python"]
    command += ["-p", f"path:=own_cameras:{factory}", "-p", "views:=[top]"]
    done = end_of(command, ros_domain, tmp_path)
    assert done.returncode == 1, done.stderr
    assert done.stderr.splitlines() == [f"CameraNode: {words}"]
