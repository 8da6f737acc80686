"""Jobs in several processes, here and on Ray: lost workers are replaced, results are in order on request."""

from __future__ import annotations

import functools
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_jobs import die_once, fail_oddly, no_space, sign, wait_for

from embodied_iqa.base.errors import InputError, InternalError, UsageError
from embodied_iqa.base.jobs.engine import Engine, EngineKind, EngineOptions, _connect, run_jobs
from embodied_iqa.base.kept import kept_things, lent


@pytest.fixture(params=EngineKind, ids=str)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """Each engine with two workers; those of Ray find the jobs of this folder."""
    kind: EngineKind = request.param
    if kind is EngineKind.RAY:
        pytest.importorskip("ray")
        folders = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, folders)))
    with Engine(EngineOptions(kind, 2)) as made:
        yield made


def test_jobs_of_a_lost_worker_run_again_and_what_a_worker_says_arrives_in_its_words(
    engine: Engine, tmp_path: Path
) -> None:
    """One engine for all of it: to start Ray takes longer than the rest."""
    for in_order in (False, True):
        mark = tmp_path / f"mark{in_order}"
        jobs = [functools.partial(die_once, mark, number) for number in range(8)]
        results = list(engine.run(jobs, in_order=in_order))
        assert (results if in_order else sorted(results)) == list(range(8))
        assert mark.exists()
    with pytest.raises(InputError) as raised:
        list(engine.run([functools.partial(no_space, number) for number in range(6)]))
    assert str(raised.value) == "cannot write /db/part: No space left on device; expected room; got 0"


def test_an_error_that_cannot_be_sent_is_not_taken_for_a_killed_worker() -> None:
    jobs = [functools.partial(fail_oddly, number) for number in range(2)]
    with pytest.raises(InternalError, match=r"TwoPartError: job \d at home"):
        list(run_jobs(jobs, EngineOptions(workers=2)))


@pytest.mark.parametrize("in_order", [False, True])
def test_results_come_in_the_order_of_their_jobs_on_request(tmp_path: Path, in_order: bool) -> None:
    """Each job ends after the next one."""
    for number in range(3):
        os.mkfifo(tmp_path / f"{number}")
    jobs = [functools.partial(wait_for, tmp_path, number) for number in range(4)]
    results = list(run_jobs(jobs, EngineOptions(workers=4), in_order=in_order))
    assert (results if in_order else sorted(results)) == [0, 1, 2, 3]


def test_workers_stay_between_steps_and_lost_ones_are_replaced(tmp_path: Path) -> None:
    jobs = [functools.partial(sign, tmp_path, number) for number in range(6)]
    with Engine(EngineOptions(workers=2)) as engine:
        for _ in range(2):
            assert sorted(engine.run(jobs)) == list(range(6))
        workers = {int(mark.name.partition("-")[0]) for mark in tmp_path.iterdir()}
        assert len(workers) <= 2
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
        assert sorted(engine.run(jobs)) == list(range(6))
    with pytest.raises(ProcessLookupError):
        os.kill(next(iter(workers)), 0)


def test_workers_that_are_always_killed_are_reported_in_one_line() -> None:
    jobs = [functools.partial(os._exit, 9)]
    with pytest.raises(InputError, match=r"workers are killed repeatedly.*; finished work is kept"):
        list(run_jobs(jobs, EngineOptions(workers=2)))


def test_one_worker_is_this_process_and_closes_what_its_jobs_keep_open() -> None:
    closed: list[str] = []

    class Thing:
        def close(self) -> None:
            closed.append("thing")

    def job() -> int:
        with lent("thing of a job", Thing) as thing:
            assert thing in kept_things()
        return os.getpid()

    before = kept_things()
    assert set(run_jobs([job, job], EngineOptions())) == {os.getpid()}
    if before == kept_things():  # nobody else keeps things open in this thread
        assert closed == ["thing"]


def test_a_ray_that_never_starts_is_given_up() -> None:
    """Stands in for Ray's own library, of which some waits have no end."""
    ended = threading.Event()

    class Ray:
        def init(self, **_options: object) -> None:
            ended.wait()

    with pytest.raises(InputError, match=r"^no Ray at a:1 after 0 s; expected one that starts and answers$"):
        _connect(Ray(), EngineOptions(EngineKind.RAY, 2, "a:1"), deadline_s=0)
    ended.set()


def test_no_workers_are_a_usage_error() -> None:
    with pytest.raises(UsageError, match="1 or more"):
        EngineOptions(workers=0)
