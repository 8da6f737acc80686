"""Episodes: counts, one meaning each by the second parser, the same bytes from the same seed, reading."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.suites.cell_manipulation.cell_scene import CellScene, build_cell_scene
from embodied_iqa.suites.cell_manipulation.episodes import CellTask, Episode, Goal, Subset
from embodied_iqa.suites.cell_manipulation.making import (
    EPISODES_FILE,
    PROTOCOL,
    make_episodes,
    read_episodes,
    write_episodes,
)
from embodied_iqa.suites.cell_manipulation.second_parser import parse_goals
from embodied_iqa.world.tasks.vocabulary import Colour


@cache
def _episodes(*subsets: Subset) -> tuple[Episode, ...]:
    return tuple(make_episodes(subsets or PROTOCOL, 1))


def _cell(episode: Episode) -> CellScene:
    return build_cell_scene(episode.goals, episode.scene_seed)


def test_five_subsets_hold_228_episodes_twelve_of_each_task() -> None:
    counts = Counter((episode.subset, episode.task) for episode in _episodes())
    assert sum(counts.values()) == 228
    assert set(counts.values()) == {12}
    assert Counter(episode.subset for episode in _episodes())[Subset.VISUAL] == 36
    assert len({episode.name for episode in _episodes()}) == 228
    assert len({episode.scene_seed for episode in _episodes()}) == 228


def test_each_instruction_has_exactly_its_meaning_by_the_second_parser() -> None:
    for episode in (*_episodes(), *_episodes(Subset.LONG_HORIZON)):
        assert parse_goals(episode.instruction, _cell(episode)) == episode.goals, episode.instruction


def test_a_description_of_none_or_several_things_is_an_error() -> None:
    episode = next(episode for episode in _episodes() if episode.task is CellTask.STACK)
    target = episode.goals[0].target
    for words in ("the cube", "the striped bowl", "the thing", "the object behind the table"):
        with pytest.raises(UsageError):
            parse_goals(f"Stack the {target} on top of {words}.", _cell(episode))
    with pytest.raises(UsageError, match="asks for nothing"):
        parse_goals("Have a look at the red cube.", _cell(episode))


def test_subsets_name_things_in_their_own_way() -> None:
    colours = "|".join(Colour)
    for episode in _episodes():
        goal, text = episode.goals[0], episode.instruction
        plain = f"the {goal.target}" in text.lower() and f"the {goal.destination}" in text.lower()
        match episode.subset:
            case Subset.BASE:
                assert plain
            case Subset.COMPLEX:
                assert plain
                assert text.count(".") == 3
            case Subset.SPATIAL:
                assert not plain
                assert re.search("to the left of|to the right of|in front of|behind", text)
            case Subset.VISUAL:
                assert not plain
                assert re.search(f"the ({colours}) object|the [a-z]+ ", text)
            case Subset.COMMON_SENSE:
                assert not plain


def test_long_horizon_episodes_have_two_goals_and_are_not_part_of_the_protocol() -> None:
    episodes = _episodes(Subset.LONG_HORIZON)
    assert {len(episode.goals) for episode in episodes} == {2}
    assert Subset.LONG_HORIZON not in PROTOCOL


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    first = write_episodes(tmp_path / "a", _episodes()).read_bytes()
    again = write_episodes(tmp_path / "b", tuple(make_episodes(PROTOCOL, 1))).read_bytes()
    other = write_episodes(tmp_path / "c", tuple(make_episodes([Subset.BASE], 2))).read_bytes()
    assert first == again
    assert other != first[: len(other)]
    assert read_episodes(tmp_path / "a") == _episodes()
    assert read_episodes(tmp_path / "a" / EPISODES_FILE) == _episodes()


def test_an_episode_does_not_depend_on_the_subsets_that_are_made_with_it() -> None:
    assert _episodes(Subset.SPATIAL) == tuple(e for e in _episodes() if e.subset is Subset.SPATIAL)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no episodes"),
        ("{", ":1:2: not JSON"),
        ('{"subset": "base"}', "line 1: missing"),
        ("[]", "line 1"),
    ],
)
def test_a_broken_file_is_an_error_with_its_line(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / EPISODES_FILE).write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_episodes(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"scene_seed": ', '"scene_seed": -', "line 1.*integers from 0"),
        ('"task": "place"', '"task": "juggle"', "line 1.*unknown word 'juggle'"),
        ('"world_version": ', '"world_version": 1', "line 1.*make the episodes again"),
        ('"index": 0', '"index": 0.5', "line 1.*a whole number"),
    ],
)
def test_a_wrong_value_is_an_error_with_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = write_episodes(tmp_path, _episodes(Subset.BASE)[:1])
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_episodes(tmp_path)


def test_a_folder_with_other_episodes_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    episodes = _episodes(Subset.BASE)
    path = write_episodes(tmp_path, episodes)
    content = path.read_bytes()
    assert write_episodes(tmp_path, episodes) == path
    with pytest.raises(UsageError, match=r"another plan: .*seed is '1' there, '2' asked"):
        write_episodes(tmp_path, tuple(make_episodes([Subset.BASE], 2)))
    with pytest.raises(UsageError, match=r"subset is 'base' there, 'base,complex' asked"):
        write_episodes(tmp_path, _episodes(Subset.BASE, Subset.COMPLEX))
    assert path.read_bytes() == content
    path.write_bytes(content.replace(b'"world_version": ', b'"world_version": 1'))
    with pytest.raises(InputError, match=r"not replaced: .*make the episodes again.*expected another folder"):
        write_episodes(tmp_path, episodes)


def test_an_episode_has_a_goal() -> None:
    with pytest.raises(UsageError, match="without goals"):
        replace(_episodes(Subset.BASE)[0], goals=())


def test_a_folder_without_episodes_and_a_negative_seed_are_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="manipulate make"):
        read_episodes(tmp_path)
    with pytest.raises(UsageError, match="seed"):
        list(make_episodes(PROTOCOL, -1))


def test_areas_are_clear_of_objects_and_of_each_other() -> None:
    for episode in _episodes(Subset.BASE):
        if episode.task is not CellTask.WIPE:
            continue
        cell = _cell(episode)
        first, second = cell.areas
        apart = [
            abs(a - b) - c - d
            for a, b, c, d in zip(first.centre_m, second.centre_m, first.half_m, second.half_m, strict=True)
        ]
        assert max(apart) >= 0.04
        for item in cell.scene.objects:
            for area in cell.areas:
                beside = [
                    max(0.0, abs(place - centre) - half)
                    for place, centre, half in zip(
                        (item.x_m, item.y_m), area.centre_m, area.half_m, strict=True
                    )
                ]
                assert sum(x * x for x in beside) ** 0.5 > item.shape.radius_m + 0.03


def test_a_scene_without_an_object_of_the_goals_is_an_error() -> None:
    with pytest.raises(UsageError, match="fits none"):
        build_cell_scene((Goal(CellTask.STACK, "red cube", "blue pot"),), 0)
