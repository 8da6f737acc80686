"""Workers that are forked run every test once, and report what pytest alone would report."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import suite_order
from live_process import Program, running_program
from suite_workers import Plan

TESTS = Path(__file__).resolve().parents[2]
TIMED = ("test_a.py::test_timed", "test_b.py::test_timed")

CONFTEST = """
import os, sys
from contextlib import contextmanager
from pathlib import Path
import pytest
import suite_order
from suite_workers import Spread

suite_order.real_time_tests = lambda: {TIMED}

@contextmanager
def own():
    os.environ["OWN"] = str(os.getpid())
    yield

def pytest_configure(config):
    config.pluginmanager.register(Spread(2, list, own), "suite-spread")

@pytest.fixture(autouse=True)
def noted(request):
    with open(Path(__file__).parent / "run.txt", "a") as file:
        file.write(f"{os.getpid()} {request.node.nodeid}\\n")

@pytest.fixture(scope="session")
def kept():
    yield
    with open(Path(__file__).parent / "ended.txt", "a") as file:
        file.write(f"{os.getpid()}\\n")
""".replace("{TIMED}", repr(set(TIMED)))


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """An empty suite whose tests two workers share."""
    folder = tmp_path / "suite"
    folder.mkdir()
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    return folder


def write(suite: Path, **files: str) -> None:
    for name, content in files.items():
        head = "import os, signal, time, warnings\n"
        (suite / f"test_{name}.py").write_text(head + content, encoding="utf-8")


@contextmanager
def running_suite(suite: Path, *options: str) -> Iterator[Program]:
    paths = os.pathsep.join([str(TESTS), str(TESTS.parent / "scripts")])
    words = ["-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(suite), *options, str(suite)]
    with running_program(
        [sys.executable, *words], suite / "log", {"PYTHONPATH": paths}, cwd=suite
    ) as program:
        yield program


def run(suite: Path, *options: str) -> tuple[int, str]:
    with running_suite(suite, *options) as program:
        return program.wait(300.0), program.stdout


def workers_of(suite: Path) -> dict[str, int]:
    """The process that ran each test, each of which has run once."""
    lines = [line.split() for line in (suite / "run.txt").read_text(encoding="utf-8").splitlines()]
    assert len({name for _, name in lines}) == len(lines), "a test has run twice"
    return {name: int(pid) for pid, name in lines}


def test_groups_are_taken_in_order_and_those_of_real_time_stay_for_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(suite_order, "real_time_tests", lambda: set(TIMED))
    plan = Plan.of(["test_a.py::x", "test_a.py::y", "test_b.py::x", *TIMED])
    assert (plan.groups, plan.alone) == (deque([[0, 1], [2]]), [3, 4])
    assert [plan.next_group() for _ in range(3)] == [[0, 1], [2], []]
    assert [plan.next_alone() for _ in range(2)] == [[3, 4], []]


def test_every_test_runs_once_and_is_reported_as_by_pytest_alone(suite: Path) -> None:
    write(
        suite,
        a="def test_1(kept): print('quiet')\n"
        "def test_2(kept, tmp_path): print('loud', tmp_path); assert os.environ['OWN'] == '0'\n"
        "def test_timed(): pass\n",
        b="def test_1(): warnings.warn('worn out', UserWarning)\n"
        "def test_2(kept): assert os.environ['OWN'] == str(os.getpid())\n"
        "def test_timed(): pass\n",
        c="import pytest\n@pytest.mark.skip(reason='not here')\ndef test_1(): pass\n"
        "@pytest.mark.xfail\ndef test_2(): assert False\n",
    )
    code, output = run(suite, "-ra")
    assert code == 1
    assert re.search(r"= 1 failed, 5 passed, 1 skipped, 1 xfailed, 1 warning in ", output)
    assert re.search(r"Captured stdout call -+\nloud .*/worker\d/test_20\n", output)
    assert "quiet" not in output
    assert "UserWarning: worn out" in output
    assert "test_c.py:3: not here" in output
    ran = workers_of(suite)
    assert ran["test_a.py::test_1"] == ran["test_a.py::test_2"]
    alone = {ran[name] for name in TIMED}
    assert len(alone) == 1
    assert alone.isdisjoint(pid for name, pid in ran.items() if name not in TIMED)
    used = {ran[f"test_{name}"] for name in ("a.py::test_1", "a.py::test_2", "b.py::test_2")}
    ended = (suite / "ended.txt").read_text(encoding="utf-8").split()
    assert sorted(map(int, ended)) == sorted(used), "a fixture of the session ends once in each worker"


@pytest.mark.parametrize(
    ("dies", "fate"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "was ended by SIGKILL"),
        ("os._exit(3)", "ended with 3"),
    ],
)
def test_a_worker_that_dies_costs_one_test(dies: str, fate: str, suite: Path) -> None:
    write(
        suite, a=f"def test_1(): pass\ndef test_2(): {dies}\ndef test_3(): pass\n", b="def test_1(): pass\n"
    )
    code, output = run(suite)
    assert code == 1
    assert re.search(rf"FAILED test_a.py::test_2 - worker \d {fate} while it ran this test", output)
    assert re.search(r"= 1 failed, 3 passed in ", output)
    ran = workers_of(suite)
    assert ran["test_a.py::test_1"] == ran["test_a.py::test_2"] != ran["test_a.py::test_3"]


def test_a_failure_ends_all_of_them_where_the_first_one_counts(suite: Path) -> None:
    write(suite, a="def test_1(): assert False\ndef test_2(): pass\n", b="def test_1(): pass\n")
    code, output = run(suite, "-x")
    assert code == 1
    assert "stopping after 1 failures" in output
    assert "test_a.py::test_2" not in workers_of(suite)


def test_an_error_of_collection_runs_nothing(suite: Path) -> None:
    write(suite, a="import no_such_module\n", b="def test_1(): pass\n")
    code, output = run(suite)
    assert code == 2
    assert "1 error during collection" in output
    assert not (suite / "run.txt").exists()


def test_an_interrupt_ends_the_workers_and_what_their_fixtures_hold(suite: Path) -> None:
    waits = "def test_1(kept): open(f'waits-{os.getpid()}', 'w').close(); time.sleep(600)\n"
    write(suite, a=waits, b=waits)
    with running_suite(suite) as program:
        program.wait_until(lambda: len(list(suite.glob("waits-*"))) == 2, "both workers run a test", 120.0)
        seen = program.running()
        os.kill(program.process.pid, signal.SIGINT)
        assert program.wait(120.0) == 2
        program.wait_until_gone(seen, 120.0)
    assert "KeyboardInterrupt" in program.stdout
    assert len((suite / "ended.txt").read_text(encoding="utf-8").split()) == 2
