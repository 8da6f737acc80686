"""Spreads the tests over processes that are forked once all tests are collected: `pytest --workers 3`.

pytest-xdist starts an interpreter for each worker, and each imports and collects all tests again: a
minute of processor time here, which a fork saves. Workers take whole groups of `suite_order`; tests of
real time run in a worker of their own, when all others have ended.
"""

from __future__ import annotations

import atexit
import itertools
import os
import pickle
import selectors
import signal
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe
from typing import Any

import pytest

from suite_order import WALL_CLOCK, group_of

_END_S = 20.0
"""Longest that interrupted workers may take to end what their tests have started."""

Environment = Callable[[], AbstractContextManager[object]]
"""Enters what a worker has for itself, such as its ROS domain."""


@dataclass
class Plan:
    """Which tests no worker has been given yet: indices, in groups, in the order in which they are taken."""

    groups: deque[list[int]]
    alone: list[int] = field(default_factory=list)
    """Tests of real time: one worker runs them, when all others have ended."""

    @classmethod
    def of(cls, nodeids: list[str]) -> Plan:
        """Plan the tests, whose groups are together already."""
        groups: dict[str, list[int]] = {}
        for index, nodeid in enumerate(nodeids):
            groups.setdefault(group_of(nodeid), []).append(index)
        alone = groups.pop(WALL_CLOCK, [])
        return cls(deque(groups.values()), alone)

    def next_group(self) -> list[int]:
        """Take a group; empty where none is left that may run beside others."""
        return self.groups.popleft() if self.groups else []

    def next_alone(self) -> list[int]:
        """Take the tests of real time; empty where they are taken."""
        taken, self.alone = self.alone, []
        return taken


@dataclass
class Worker:
    """One process, as the process that collected the tests sees it."""

    number: int
    pid: int
    pipe: Connection
    given: deque[int]
    """Tests that it has not ended, the first of which it runs or runs next."""
    by_itself: bool = False
    """Whether it runs tests of real time, which it is not given others beside."""


class Spread:
    """The plugin: runs the collected tests in forked processes and reports for them.

    Args:
        count: Number of processes.
        prepare: Called before the first fork: what all of them share.
        environment: What each of them has for itself.
    """

    def __init__(self, count: int, prepare: Callable[[], object], environment: Environment) -> None:
        self._count = count
        self._prepare = prepare
        self._environment = environment
        self._workers: dict[int, Worker] = {}
        self._numbers = itertools.count(1)
        self._selector = selectors.DefaultSelector()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Run the tests, or leave it to pytest where there is nothing to spread."""
        if session.testsfailed or session.config.option.collectonly or len(session.items) < 2:
            return None
        reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.showfspath = False  # tests of several files end side by side
        plan = Plan.of([item.nodeid for item in session.items])
        try:
            self._run(session, plan)
        finally:
            self._end_all()
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        return True

    def pytest_report_header(self) -> str:
        """Say how the tests are spread."""
        return f"workers: {self._count}, forked once the tests are collected"

    def _run(self, session: pytest.Session, plan: Plan) -> None:
        self._prepare()
        for _ in range(self._count):
            if group := plan.next_group():
                self._fork(session, group)
        while True:
            while self._workers:
                for key, _ in self._selector.select():
                    if key.data in self._workers:
                        self._listen(session, plan, self._workers[key.data])
                if session.shouldfail or session.shouldstop:
                    return
            alone = plan.next_alone()
            if not alone:
                return
            self._fork(session, alone, by_itself=True)

    def _fork(self, session: pytest.Session, group: list[int], *, by_itself: bool = False) -> None:
        number = next(self._numbers)
        here, there = Pipe()
        folders: Any = session.config._tmp_path_factory  # type: ignore[attr-defined]
        folder = folders.getbasetemp() / f"worker{number}"
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                here.close()
                for other in self._workers.values():
                    other.pipe.close()
                self._selector.close()
                folders._basetemp, folders._given_basetemp = None, folder
                with self._environment():
                    code = _Forked(session, there).run(group)
                atexit._run_exitfuncs()
            except BaseException:  # noqa: BLE001 - the process ends here, whatever happened
                traceback.print_exc()
            finally:
                os._exit(code)
        there.close()
        self._workers[pid] = Worker(number, pid, here, deque(group), by_itself)
        self._selector.register(here, selectors.EVENT_READ, pid)

    def _listen(self, session: pytest.Session, plan: Plan, worker: Worker) -> None:
        try:
            kind, content = worker.pipe.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            self._lose(session, plan, worker)
            return
        hook, config = session.config.hook, session.config
        match kind:
            case "next":
                group = [] if worker.by_itself else plan.next_group()
                worker.given.extend(group)
                with suppress(OSError):  # a worker that died is found by the end of its pipe
                    worker.pipe.send(group)
            case "begun":
                item = session.items[content]
                hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
            case "report":
                report = hook.pytest_report_from_serializable(config=config, data=content)
                hook.pytest_runtest_logreport(report=report)
            case "ended":
                worker.given.remove(content)
                item = session.items[content]
                hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
            case "warning":
                hook.pytest_warning_recorded.call_historic(kwargs=content)
            case "done":
                self._forget(worker)
            case "broken":
                self._forget(worker)
                session.shouldstop = f"worker {worker.number}: {content}"

    def _lose(self, session: pytest.Session, plan: Plan, worker: Worker) -> None:
        """Report the test at which a worker died; another worker takes what it had been given."""
        status = self._forget(worker)
        if not worker.given:
            session.shouldstop = f"worker {worker.number} {_fate(status)} between two tests"
            return
        item = session.items[worker.given.popleft()]
        report = pytest.TestReport(
            nodeid=item.nodeid,
            location=item.location,
            keywords={},
            outcome="failed",
            longrepr=f"worker {worker.number} {_fate(status)} while it ran this test",
            when="call",
        )
        session.config.hook.pytest_runtest_logreport(report=report)
        if worker.given and not session.shouldfail:
            self._fork(session, list(worker.given), by_itself=worker.by_itself)

    def _forget(self, worker: Worker) -> int:
        """Wait for a worker that is about to end, or has; return its status."""
        self._selector.unregister(worker.pipe)
        worker.pipe.close()
        del self._workers[worker.pid]
        return _wait(worker.pid)

    def _end_all(self) -> None:
        """Interrupt what still runs, as Ctrl-C does, and end what does not end by itself."""
        for worker in self._workers.values():
            with suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGINT)
        for worker in list(self._workers.values()):
            worker.pipe.close()
            _wait(worker.pid)
        self._workers.clear()


def _wait(pid: int) -> int:
    """Wait for the end of a worker, and kill it where that takes too long; return its status."""
    handle = os.pidfd_open(pid)
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(handle, selectors.EVENT_READ)
            if not selector.select(_END_S):
                os.kill(pid, signal.SIGKILL)
    finally:
        os.close(handle)
    return os.waitpid(pid, 0)[1]


def _fate(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"


class _Forked:
    """A worker, in its own process."""

    def __init__(self, session: pytest.Session, pipe: Connection) -> None:
        self._session = session
        self._pipe = pipe
        self._is_apart = False

    def run(self, group: list[int]) -> int:
        """Run this group and what else is given; return the exit status."""
        session = self._session
        self._become_another_process()
        waiting = deque(group)
        try:
            for index in self._taken(waiting):
                self._pipe.send(("begun", index))
                item = session.items[index]
                following = session.items[waiting[0]] if waiting else None
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                self._pipe.send(("ended", index))
                if session.shouldfail or session.shouldstop:
                    break
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it, and the other process too
            session._setupstate.teardown_exact(None)
            return 2
        except (BrokenPipeError, ConnectionResetError):
            session._setupstate.teardown_exact(None)
            return 1
        except Exception:  # noqa: BLE001 - a plugin failed: pytest's INTERNALERROR
            self._pipe.send(("broken", traceback.format_exc()))
            return 3
        self._pipe.send(("done", None))
        return 0

    def _taken(self, waiting: deque[int]) -> Iterator[int]:
        """Yield the tests in turn.

        More is asked for before the last one runs: fixtures of the session are kept for what comes next.
        """
        while waiting:
            index = waiting.popleft()
            if not waiting:
                self._pipe.send(("next", None))
                waiting.extend(self._pipe.recv())
            yield index

    def _become_another_process(self) -> None:
        """Share nothing with the process that collected: its terminal, its capture, its farewells."""
        manager = self._session.config.pluginmanager
        atexit._clear()
        capture: Any = manager.get_plugin("capturemanager")
        capture.stop_global_capturing()
        capture.start_global_capturing()
        capture.suspend_global_capture()
        for name in ("terminalreporter", "terminalprogress", "suite-spread"):
            if manager.has_plugin(name):
                manager.unregister(name=name)
        manager.register(self, "suite-worker")  # which tells it all warnings so far
        self._is_apart = True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send a report."""
        config = self._session.config
        data = config.hook.pytest_report_to_serializable(config=config, report=report)
        self._pipe.send(("report", data))

    def pytest_warning_recorded(
        self,
        warning_message: warnings.WarningMessage,
        when: str,
        nodeid: str,
        location: tuple[str, int, str] | None,
    ) -> None:
        """Send a warning, as text: its class may not be one that can be sent."""
        if not self._is_apart:
            return
        told = warnings.WarningMessage(
            Warning(f"{warning_message.category.__name__}: {warning_message.message}"),
            Warning,
            warning_message.filename,
            warning_message.lineno,
        )
        content = {"warning_message": told, "when": when, "nodeid": nodeid, "location": location}
        self._pipe.send(("warning", content))
