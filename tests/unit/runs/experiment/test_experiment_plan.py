"""Which runs an experiment has, and what of it is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.distortions import DistortionSpec, parse_levels
from embodied_iqa.models.subjects.catalogue import Backend, Role, names_of
from embodied_iqa.models.subjects.reference import SubjectReference, parse_vla
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.runs.experiment.arms import GateArm, parse_arms
from embodied_iqa.runs.experiment.experiment_plan import (
    TASKS,
    ExperimentPlan,
    ExperimentTask,
    parse_distortions,
    parse_subjects,
    parse_tasks,
)


def vlas(names: str) -> tuple[SubjectReference, ...]:
    return tuple(SubjectReference(name, Role.VLA, Backend.EMBEDDED) for name in names)


def test_every_subject_task_distortion_and_level_once_behind_its_reference() -> None:
    specs = parse_distortions("02,12,19", (1, 5), seed=4)
    plan = ExperimentPlan(vlas("ab"), parse_tasks(3, (), 7), specs)
    runs = plan.runs()
    assert len(runs) == len(set(runs)) == 2 * 3 * (1 + 3 * 2)
    assert len({key.name for key in runs}) == len(runs)
    for group in plan.groups():
        reference, *distorted = group
        assert reference.distortion is None
        assert [key.distortion for key in distorted] == list(specs)
        assert {key.reference for key in group} == {reference}


def test_the_shape_of_the_paper() -> None:
    plan = ExperimentPlan(vlas("abcde"), parse_tasks(None, (), 7), parse_distortions("all", (5,), 0))
    distorted = [key for key in plan.runs() if key.distortion is not None]
    assert len(distorted) == 1500
    assert len(plan.runs()) == 1550


def test_words() -> None:
    assert [subject.text for subject in parse_subjects("embedded")] == list(
        names_of(Role.VLA, Backend.EMBEDDED)
    )
    assert parse_subjects(" classical-vla ,") == (parse_vla("classical-vla"),)
    assert parse_levels("1-3,5") == (1, 2, 3, 5)
    assert parse_levels("all") == (1, 2, 3, 4, 5)
    assert parse_distortions("max-darken", (2,), 9) == (DistortionSpec("19", 2, 9),)
    scheduled = parse_distortions("19,02", (2,), 9, ("", "burst"))
    assert [(spec.id, spec.schedule.partition(":")[0]) for spec in scheduled] == [
        ("19", ""), ("19", "burst"), ("02", ""), ("02", "burst"),
    ]  # fmt: skip
    assert parse_tasks(2, (), 30) == (ExperimentTask(TASKS[0], 30), ExperimentTask(TASKS[1], 31))
    assert parse_tasks(None, ["Pick red cube."], 3) == (ExperimentTask("pick the red cube", 3),)
    assert len(set(TASKS)) == 10
    several = parse_tasks(2, (), 30, 2)
    assert [task.task for task in several] == [*TASKS[:2], *TASKS[:2]]
    assert [task.scene_seed for task in several] == [30, 31, 32, 33]


def test_the_rules_of_each_gate() -> None:
    configured = GateOptions(mode=GateMode.SHADOW)
    off, on, learned, oracle = (arm.options(configured) for arm in parse_arms("off,on,learned,oracle"))
    assert (off.mode, on.mode, learned.mode, oracle.mode) == (GateMode.OFF, *[GateMode.ON] * 3)
    assert (str(on.kind), str(learned.kind), learned.trip_frames) == ("statistics", "learned", 3)
    assert (oracle.recover_frames, oracle.window_frames) == (1, 1)
    assert GateArm().options(configured) is configured
    repaired, by_metric = (arm.options(configured) for arm in parse_arms("learned+repair,metric:piqe+repair"))
    assert repaired == replace(learned, repair=replace(learned.repair, enabled=True))
    assert (repaired.repairs, learned.repairs, str(by_metric.kind)) == (True, False, "metric:piqe")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: parse_subjects("gpt"), "unknown VLA; got 'gpt'; available: classical-vla"),
        (lambda: parse_subjects("classical-vla,embedded"), "duplicate subject"),
        (lambda: parse_subjects(" , "), "empty list"),
        (lambda: parse_levels("0"), "unknown levels"),
        (lambda: parse_levels("1-9"), "unknown levels"),
        (lambda: parse_levels("5-1"), "unknown levels"),
        (lambda: parse_levels(""), "unknown levels"),
        (lambda: parse_levels("all,2"), "duplicate level"),
        (lambda: parse_levels("1,1-2"), "duplicate level"),
        (lambda: parse_distortions("99", (5,), 0), "99"),
        (lambda: parse_distortions("19,max-darken", (5,), 0), "duplicate distortion; got '19'"),
        (lambda: parse_tasks(11, (), 0), "there are 10 tasks; expected 1 to 10"),
        (lambda: parse_tasks(0, (), 0), "there are 10 tasks"),
        (lambda: parse_tasks(2, ["pick the red cube"], 0), "not both"),
        (lambda: parse_tasks(None, ["pick the red cube", "pick red cube"], 0), "duplicate task"),
        (lambda: parse_tasks(None, (), -1), "invalid scene seed"),
        (lambda: parse_tasks(2, (), 7, 0), "invalid number of scenes"),
        (lambda: parse_arms("off,best"), "unknown gate; expected on, shadow, off, statistics, learned"),
        (lambda: parse_arms("off, off"), "duplicate gate; got 'off'"),
        (lambda: parse_arms("off,oracle+repair"), "+repair behind on or a judge; got 'oracle+repair'"),
        (lambda: parse_arms("shadow+repair"), "unknown gate"),
        (lambda: parse_arms(","), "empty list of gates"),
    ],
)
def test_what_is_refused(call: object, said: str) -> None:
    with pytest.raises(UsageError) as refusal:
        call()
    assert said in str(refusal.value)
