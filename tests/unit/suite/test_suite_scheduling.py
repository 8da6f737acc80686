"""Tests of real time are handed out when one worker is left and every other test is done."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import suite_order
from suite_scheduling import GroupScheduling

TIMED = [f"tests/unit/a/test_{name}.py::test_timed" for name in "ab"]


class Worker:
    """A worker of xdist, whose tests the test ends; it runs a test once it knows the next one, or its end."""

    def __init__(self) -> None:
        self.gateway = SimpleNamespace(id="worker")
        self.given: list[int] = []
        self.done = 0
        self.shutting_down = False

    def send_runtest_some(self, indices: list[int]) -> None:
        self.given.extend(indices)

    def shutdown(self) -> None:
        self.shutting_down = True

    @property
    def runs(self) -> bool:
        return len(self.given) - self.done > (0 if self.shutting_down else 1)


def scheduled(tests: list[str], workers: list[Worker]) -> GroupScheduling:
    config = SimpleNamespace(
        getvalue=lambda _name: ["popen"] * len(workers), option=SimpleNamespace(loadscopereorder=False)
    )
    scheduling = GroupScheduling(config)
    for worker in workers:
        scheduling.add_node(worker)
        scheduling.add_node_collection(worker, tests)
    scheduling.schedule()
    return scheduling


@pytest.mark.parametrize("sizes", [(1,), (5,), (1, 1), (1, 4), (4, 1), (3, 5, 2), (1, 1, 1, 1, 1, 1)])
@pytest.mark.parametrize("first", [0, 1])
def test_every_test_is_run_once_and_those_of_real_time_alone_at_the_end(
    sizes: tuple[int, ...], first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite_order, "real_time_tests", lambda: set(TIMED))
    tests = [f"tests/unit/{n}/test_x.py::test_{k}" for n, size in enumerate(sizes) for k in range(size)]
    tests += TIMED
    workers = [Worker(), Worker()]
    scheduling, run = scheduled(tests, workers), []
    while busy := [worker for worker in workers if worker.runs]:
        worker = busy[min(first, len(busy) - 1)]  # the other one takes as long as it likes
        index = worker.given[worker.done]
        if tests[index] in TIMED:
            assert sum(len(one.given) - one.done for one in workers if one is not worker) == 0
        run.append(tests[index])
        worker.done += 1
        scheduling.mark_test_complete(worker, index)
    assert sorted(run) == sorted(tests), "a worker waits for ever"
    assert set(run[-len(TIMED) :]) == set(TIMED)
    assert all(worker.shutting_down for worker in workers)


def test_without_tests_of_real_time_both_workers_end_as_usual() -> None:
    workers = [Worker(), Worker()]
    scheduled(["tests/unit/a/test_a.py::test_a", "tests/unit/b/test_b.py::test_b"], workers)
    assert [worker.given for worker in workers] == [[0], [1]]
    assert all(worker.shutting_down for worker in workers)


@pytest.mark.parametrize("left", [0, 2], ids=["real time is left", "other tests are left"])
def test_a_worker_that_replaces_a_crashed_one_is_given_tests_once_it_has_collected_them(
    left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite_order, "real_time_tests", lambda: set(TIMED))
    files = ["a", "b", *"cd"[:left]]
    tests = [f"tests/unit/{file}/test_x.py::test_{k}" for file in files for k in range(3)] + TIMED
    crashed, stays, replacement = Worker(), Worker(), Worker()
    scheduling = scheduled(tests, [crashed, stays])
    assert scheduling.remove_node(crashed) == tests[0]
    scheduling.add_node(replacement)
    while stays.runs:  # the replacement collects for as long as the other one has something to do
        index = stays.given[stays.done]
        stays.done += 1
        scheduling.mark_test_complete(stays, index)
    assert (replacement.given, replacement.shutting_down) == ([], False)
    assert stays.given.count(0) == 1, "the tests of the crashed worker are given to the one that stays"
    scheduling.add_node_collection(replacement, tests)
    scheduling.schedule()
    assert sorted(stays.given) == list(range(len(tests)))
    assert replacement.given == []
    assert replacement.shutting_down
