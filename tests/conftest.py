"""What every test runs in: traffic stays on this machine, sessions keep out of each other's way.

The environment is set while this file is imported: before any test module imports rclpy, MuJoCo or NumPy.
With `pytest --workers 3` (`suite_workers`) each worker is such a session, with a ROS domain of its own.
"""

from __future__ import annotations

import gc
import os
import signal
import tempfile
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import hypothesis
import pytest

import suite_forkserver
from embodied_iqa.live.ros.domain import own_domain
from suite_cost import Cost
from suite_order import Order
from suite_skips import StrictSkips, permitted_here
from suite_workers import Spread

hypothesis.settings.register_profile("any machine", deadline=None, derandomize=True)  # also a busy one
hypothesis.settings.load_profile("any machine")


@contextmanager
def _own_traffic() -> Iterator[None]:
    """A ROS domain and a folder of ROS's logs for this process."""
    logs = tempfile.TemporaryDirectory(prefix="embodied-iqa-ros-log-", ignore_cleanup_errors=True)
    with own_domain() as domain, logs as folder:
        os.environ.update(ROS_DOMAIN_ID=str(domain), ROS_LOG_DIR=folder)
        yield


@contextmanager
def _worker() -> Iterator[None]:
    suite_forkserver.share()
    with _own_traffic():
        yield


def _prepare() -> ExitStack:
    held = ExitStack()
    held.enter_context(_own_traffic())
    os.environ.update(ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST", MUJOCO_GL="egl")
    for name in ("COLUMNS", "LINES", "FORCE_COLOR", "TTY_COMPATIBLE"):  # services for tests set them
        os.environ.pop(name, None)
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ[f"{library}_NUM_THREADS"] = "1"
    os.environ["OPENCV_FOR_THREADS_NUM"] = "1"  # workers are forked: threads would be missing there
    os.environ["LP_NUM_THREADS"] = "0"  # Mesa draws in the thread that asks: the same pixels, no handing over
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # of a background job: processes inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return held


_HELD = _prepare()
_SCHEDULING = os.sched_getscheduler(0), os.sched_getparam(0)

from embodied_iqa.live.ros.environment import process_environment  # noqa: E402 - after the variables above

process_environment(os.environ)

pytest_plugins = ["open_graphics"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of `make test`, `make stress` and of who keeps tests/lists."""
    group = parser.getgroup("suite", "the suite of embodied_iqa (tests/README.md)")
    group.addoption("--workers", type=int, default=1, metavar="N", help="processes that share the tests")
    group.addoption("--strict-skips", action="store_true", help="a skip not in tests/lists/skips.txt fails")
    group.addoption("--record-durations", action="store_true", help="write tests/lists/durations.txt")
    group.addoption("--stress", action="store_true", help="run the tests that are marked `stress` too")


def pytest_configure(config: pytest.Config) -> None:
    """Order, skips and cost of the suite."""
    config.pluginmanager.register(Order(), "suite-order")
    if config.getoption("strict_skips"):
        config.pluginmanager.register(StrictSkips(permitted_here()), "suite-skips")
    config.pluginmanager.register(Cost(), "suite-cost")
    if config.getoption("workers") > 1:
        config.pluginmanager.register(
            Spread(config.getoption("workers"), suite_forkserver.start, _worker), "suite-spread"
        )


def pytest_collectstart() -> None:
    """Collect no garbage until all tests are collected: to look for it takes two fifths of that time."""
    gc.disable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests for `make stress` elsewhere."""
    if not config.getoption("stress"):
        left_out = [item for item in items if item.get_closest_marker("stress")]
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)


def pytest_collection_finish() -> None:
    """Keep what stays until the end, some 700,000 objects, out of later garbage collections, and look rarely.

    With Python's own thresholds, to parse the sources takes twice as long.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 10)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None, None, None]:
    """Fail the test that leaves its process with real-time priority: what runs later would inherit it."""
    yield
    if os.sched_getscheduler(0) != _SCHEDULING[0]:
        os.sched_setscheduler(0, *_SCHEDULING)
        pytest.fail("a library changed the scheduling of the process", pytrace=False)


def pytest_unconfigure() -> None:
    """Give the domain back and remove ROS's logs, also where no test has run, as with `--collect-only`."""
    _HELD.close()


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
