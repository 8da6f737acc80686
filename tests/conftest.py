"""What every test runs in: traffic stays on this machine, sessions keep out of each other's way.

The environment is set while this file is imported: before any test module imports rclpy, MuJoCo or NumPy.
"""

from __future__ import annotations

import fcntl
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

_DOMAINS = range(1, 101)


def _reserve_domain() -> tuple[int, IO[bytes]]:
    """Pick a free ROS domain at random and hold its lock until the session ends."""
    folder = Path(tempfile.gettempdir()) / f"embodied-iqa-ros-domains-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    candidates = list(_DOMAINS)
    random.SystemRandom().shuffle(candidates)
    for domain in candidates:
        lock = (folder / f"{domain}.lock").open("wb")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        return domain, lock
    raise RuntimeError(f"all ROS domains of {_DOMAINS} are taken by other test sessions")


def _prepare() -> IO[bytes]:
    domain, lock = _reserve_domain()
    os.environ.update(
        ROS_DOMAIN_ID=str(domain),
        ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST",
        ROS_LOG_DIR=tempfile.mkdtemp(prefix="embodied-iqa-ros-log-"),
        MUJOCO_GL="egl",
    )
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ[f"{library}_NUM_THREADS"] = "1"
    return lock


_DOMAIN_LOCK = _prepare()

from embodied_iqa.ros.environment import process_environment  # noqa: E402 - after the variables above

process_environment(os.environ)


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
    domain, lock = _reserve_domain()
    yield domain
    lock.close()


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """An empty folder laid out like runs/<id>/, for what one trial writes."""
    folder = tmp_path / "runs" / "test-run"
    (folder / "log").mkdir(parents=True)
    return folder
