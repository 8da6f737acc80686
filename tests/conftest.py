"""What every test runs in: traffic stays on this machine, sessions keep out of each other's way.

The environment is set while this file is imported: before any test module imports rclpy, MuJoCo or NumPy.
With `pytest -n 2` (pytest-xdist) each worker is such a session, with a ROS domain of its own.
"""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from embodied_iqa.ros.domain import own_domain

hypothesis.settings.register_profile("any machine", deadline=None)  # also a busy one
hypothesis.settings.load_profile("any machine")


def _prepare() -> ExitStack:
    held = ExitStack()
    domain = held.enter_context(own_domain())
    os.environ.update(
        ROS_DOMAIN_ID=str(domain),
        ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST",
        ROS_LOG_DIR=tempfile.mkdtemp(prefix="embodied-iqa-ros-log-"),
        MUJOCO_GL="egl",
    )
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ[f"{library}_NUM_THREADS"] = "1"
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # of a background job: processes inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return held


_DOMAIN_LOCK = _prepare()

from embodied_iqa.ros.environment import process_environment  # noqa: E402 - after the variables above

process_environment(os.environ)

pytest_plugins = ["open_graphics"]

LIVE = ("tests/fault/", "tests/ros/")
"""Tests of running graphs: each uses several processes, so that no two of them run side by side."""
READING = ("tests/style/",)
"""Tests that share the parsed sources, so that one worker takes them."""
ALONE = ("tests/style/test_style_tools.py",)
"""Long files of these folders that share nothing."""
EACH = ("tests/golden/test_golden_pictures.py",)
"""Files whose tests take a minute or more and share nothing, so that every worker may take one."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Workers take whole files, which share fixtures, in the order of collection, or groups of files."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if nodeid.startswith(READING) and not nodeid.startswith(ALONE):
                return "reading"
            if nodeid.startswith(EACH):
                return nodeid
            return "live" if nodeid.startswith(LIVE) else super()._split_scope(nodeid)

    config.option.loadscopereorder = False
    return Scheduling(config, log)


@pytest.fixture(scope="session", autouse=True)
def _ros_session() -> Iterator[None]:
    """Give the domain back and remove ROS's logs."""
    import shutil

    yield
    shutil.rmtree(os.environ["ROS_LOG_DIR"], ignore_errors=True)
    _DOMAIN_LOCK.close()


@pytest.fixture(scope="module")
def ros_domain() -> Iterator[int]:
    """A ROS domain of its own for the graph of one module: what others left behind is not heard."""
    with own_domain() as domain:
        yield domain


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """An empty folder laid out like runs/<id>/, for what one trial writes."""
    folder = tmp_path / "runs" / "test-run"
    (folder / "log").mkdir(parents=True)
    return folder
