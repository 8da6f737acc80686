"""Levels over time: worked examples, statistics of the random course, parsing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.distortions.spec import DistortionSpec
from embodied_iqa.imaging.distortions.time_course import (
    KINDS,
    Burst,
    Flicker,
    Markov,
    Ramp,
    TimeCourse,
    name_of,
    parse_time_course,
)


def levels(course: TimeCourse, times_s: list[float], level: int = 4) -> list[int]:
    return [course.level_at(round(time_s * SECOND_NS), level) for time_s in times_s]


@pytest.mark.parametrize(
    ("course", "times_s", "expected"),
    [
        (Burst(2, 1), [-1, 0, 1.999999999, 2, 2.999999999, 3, 12], [0, 0, 0, 4, 4, 0, 0]),
        (Burst(2, 1, every=5), [1.9, 2, 2.9, 3, 6.9, 7, 7.9, 8, 502.5, 503], [0, 4, 4, 0, 0, 4, 4, 0, 4, 0]),
        (Burst(0, 1), [-0.000000001, 0, 0.5], [0, 4, 4]),
        (Ramp(1, 3), [0.9, 1, 1.9, 2, 3, 3.9, 4, 100], [0, 1, 1, 2, 3, 3, 4, 4]),
        (Flicker(0.5, 0.4), [-0.1, 0, 0.199, 0.2, 0.499, 0.5, 10.1, 10.3], [0, 4, 4, 0, 0, 4, 4, 0]),
    ],
)
def test_levels_are_those_of_the_worked_example(
    course: TimeCourse, times_s: list[float], expected: list[int]
) -> None:
    assert levels(course, times_s) == expected


def test_a_ramp_of_level_1_begins_at_its_start() -> None:
    assert levels(Ramp(1, 3), [0.9, 1, 50], level=1) == [0, 1, 1]


def test_random_faults_have_their_mean_lengths() -> None:
    course = Markov(on=0.5, off=2.0, seed=7)
    step_ns = SECOND_NS // 50
    on = np.array([course.level_at(at * step_ns, 1) for at in range(100_000)])
    assert on[0] == 0
    edges = np.flatnonzero(np.diff(on)) + 1
    spans_s = np.diff(np.concatenate([[0], edges])) / 50
    off_s, on_s = spans_s[0::2], spans_s[1::2]
    assert len(on_s) > 700
    for found_s, mean_s in ((off_s, 2.0), (on_s, 0.5)):
        assert abs(found_s.mean() - mean_s) < 4 * mean_s / math.sqrt(len(found_s)) + 0.005
        assert abs(found_s.std() - mean_s) < 6 * mean_s / math.sqrt(len(found_s))


def test_random_faults_are_those_of_the_seed_in_any_order_and_in_any_process() -> None:
    times_s = [0.1 * at for at in range(3000)]
    first = levels(Markov(seed=1), times_s)
    assert levels(Markov(seed=1), times_s[::-1]) == first[::-1]
    assert levels(Markov(seed=2), times_s) != first
    assert [at for at in range(1, 150) if first[at] != first[at - 1]][:6] == PINNED


PINNED = [22, 24, 131, 133, 135, 144]


@pytest.mark.parametrize("kind", KINDS)
def test_one_view_alone_is_distorted(kind: str) -> None:
    spec = DistortionSpec("12", 4, schedule=f"{kind}:view=top")
    everywhere = DistortionSpec("12", 4, schedule=kind)
    times_ns = range(0, 9 * SECOND_NS, SECOND_NS // 8)
    of_top = [spec.level_at(at, "top") for at in times_ns]
    assert of_top == [spec.level_at(at) for at in times_ns] == [everywhere.level_at(at) for at in times_ns]
    assert any(of_top)
    assert not any(spec.level_at(at, "side") for at in times_ns)
    assert spec.schedule == f"{everywhere.schedule},view=top"
    assert parse_time_course(spec.schedule).view == "top"


@pytest.mark.parametrize("view", ["2nd", "", "left__wrist", "a" * 33])
def test_what_cannot_be_the_name_of_a_view_is_refused(view: str) -> None:
    with pytest.raises(UsageError, match=f"not the name of a camera view; expected a letter.*; got '{view}'"):
        parse_time_course(f"burst:view={view}")


def test_the_former_word_for_a_view_is_read_with_a_note_of_when_it_ends() -> None:
    with pytest.warns(DeprecationWarning, match=r"now view=; version 0\.2\.0 no longer reads camera="):
        spec = DistortionSpec("12", 4, schedule="burst:camera=top,start=7")
    assert spec == DistortionSpec("12", 4, schedule="burst:start=7,view=top")
    assert spec.schedule.endswith(",view=top")
    with pytest.raises(UsageError, match="each once"):
        parse_time_course("burst:camera=top,view=top")
    with pytest.raises(UsageError, match=r"available: start, length, every, view$"):
        parse_time_course("burst:begin=1")


@given(st.integers(-(10**9), 10**12), st.integers(1, 5))
def test_levels_stay_within_the_distortions(elapsed_ns: int, level: int) -> None:
    for course in (Burst(), Burst(1, 1, 3), Ramp(), Flicker(), Markov(0.01, 0.01)):
        assert 0 <= course.level_at(min(elapsed_ns, 60 * SECOND_NS), level) <= level


@pytest.mark.parametrize(
    "course", [Burst(2, 1, 5), Burst(), Ramp(0, 0.1), Flicker(0.25, 1 / 3), Markov(0.1, 7, 2**62)]
)
def test_a_name_is_read_as_its_course(course: TimeCourse) -> None:
    assert parse_time_course(name_of(course)) == course


def test_what_is_left_out_has_its_default() -> None:
    assert parse_time_course("burst") == parse_time_course("burst:") == Burst()
    assert parse_time_course(" markov: seed=3 , on=1") == Markov(on=1.0, seed=3)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("pulse:start=1", "unknown schedule.*pulse.*available: burst"),
        ("burst:begin=1", "wrong parameter of burst.*begin=1.*start"),
        ("burst:start", "wrong parameter of burst"),
        ("burst:start=1,start=2", "each once"),
        ("ramp:length=soon", "wrong value of ramp:length; expected a number; got 'soon'"),
        ("markov:seed=1.5", "expected a whole number"),
        ("ramp:length=0", "length from 0.001"),
        ("burst:start=-1", "start from 0 to"),
        ("flicker:period=nan", "period from 0.001"),
        ("flicker:on=1", "on between 0 and 1"),
        ("burst:length=2,every=2", "bursts overlap"),
        ("markov:seed=-1", "seed out of range"),
    ],
)
def test_wrong_words_are_refused(word: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_time_course(word)
