"""Health of a database: shares and losses by hand, trends that fall or do not."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from database_folders import write_database
from database_grids import DISTORTIONS, group_scores, pair_table
from embodied_iqa.cli.db.health import print_group
from embodied_iqa.cli.main import main
from embodied_iqa.data.analysis.grid import Group, PairTable, ScoreGrid
from embodied_iqa.data.analysis.health import UNHARMED, GroupHealth, health
from embodied_iqa.data.analysis.loading import load_grid
from embodied_iqa.imaging.distortions.catalogue import catalogue

ONE_LEVEL = (
    "each reference has one level of a distortion, so levels compare different images: "
    "build --levels all compares the same ones"
)
CLASSES = {name: "even" if int(name) % 2 == 0 else "odd" for name in DISTORTIONS}


def _pairs() -> PairTable:
    return pair_table(60)


def _health(pairs: PairTable, total: np.ndarray) -> GroupHealth:
    scores = dataclasses.replace(group_scores(Group.DECISION, pairs, total.shape[1]), total=total)
    return health(ScoreGrid(pairs, {Group.DECISION: scores}), CLASSES)[Group.DECISION]


def test_losses_are_those_worked_out_by_hand() -> None:
    pairs = _pairs()
    even = np.array([CLASSES[name] == "even" for name in pairs.distortion_ids])
    total = np.where(even, 5.0, 5.0 - 0.5 * pairs.levels)[:, None].repeat(2, axis=1)
    found = _health(pairs, total)
    assert [row.name for row in found.classes] == ["even", "odd"]
    assert [row.severe for row in found.classes] == [0.0, 2.5]
    assert [row.share for row in found.classes] == [0.0, 1.0]
    assert found.unharmed == 0.5
    assert [trend.falls for trend in found.trends] == [int(name) % 2 == 1 for name in DISTORTIONS]
    assert found.falling == 15
    assert found.trends[0].means == (4.5, 4.0, 3.5, 3.0, 2.5)


def test_a_rise_beyond_chance_is_no_fall_and_noise_is_not_a_rise() -> None:
    pairs = _pairs()
    noise = 0.05 * np.random.default_rng(0).standard_normal((len(pairs), 2))
    falling = (5.0 - 0.4 * pairs.levels)[:, None] + noise
    assert _health(pairs, falling).falling == 30
    bump = np.where(pairs.levels == 3, 1.0, 0.0)[:, None]
    assert _health(pairs, falling + bump).falling == 0
    flat = 3.0 + noise
    assert _health(pairs, flat).falling <= 3


def test_few_references_show_no_fall() -> None:
    for references, falls in ((9, None), (10, True)):
        pairs = pair_table(references)
        found = _health(pairs, (5.0 - 0.4 * pairs.levels)[:, None].repeat(2, axis=1))
        assert {trend.falls for trend in found.trends} == {falls}
        assert found.falling == (30 if falls else 0)


def test_the_ceiling_is_that_of_each_view() -> None:
    pairs = _pairs()
    view = np.where(np.arange(len(pairs)) % 2 == 0, "side", "top")
    pairs = dataclasses.replace(pairs, labels={"view": view})
    opinion = np.random.default_rng(1).uniform(0, 5, (len(pairs), 1))
    total = opinion.repeat(2, axis=1)
    total[view == "side", 1] = np.nan
    found = _health(pairs, total)
    assert found.ceilings["top"].ceiling == pytest.approx(1.0)
    assert found.ceilings["side"].splits == 0


def test_the_command_prints_what_it_finds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = write_database(tmp_path / "made", references=3)
    assert main(["db", "health", str(store.path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = health(load_grid(store), {line.id: str(line.distortion_class) for line in catalogue()})
    assert found.keys() == {str(group) for group in expected}
    assert [found[str(group)]["unharmed"] for group in expected] == [
        row.unharmed for row in expected.values()
    ]
    assert main(["db", "health", str(store.path)]) == 0
    assert f"% of the pairs at {UNHARMED} of 5 or more" in capsys.readouterr().out


def test_a_level_without_pairs_is_a_dash_and_nothing_is_said_not_to_fall(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pairs = _pairs()
    total = (5.0 - 0.4 * pairs.levels)[:, None].repeat(2, axis=1)
    total[(pairs.distortion_ids == "05") & (pairs.levels == 2)] = np.nan
    print_group(Group.DECISION, _health(pairs, total))
    said = capsys.readouterr().out
    heading = "not shown to fall with the level (intervals overlap, no pair at a level, or few references);\n"
    heading += "mean score at levels 1 to 5; - no pair:"
    assert said.endswith(f"{heading}\n  05 (4.60, -, 3.80, 3.40, 3.00)\n{ONE_LEVEL}\n")


def test_a_class_without_an_interval_says_why(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pairs = _pairs()
    total = np.where(pairs.levels == 5, np.nan, 5.0 - 0.4 * pairs.levels)[:, None].repeat(2, axis=1)
    odd = np.array([CLASSES[name] == "odd" for name in pairs.distortion_ids])
    total[odd & (pairs.reference_ids == pairs.reference_ids[pairs.levels == 5][0])] = 1.0
    print_group(Group.DECISION, _health(pairs, total))
    said = capsys.readouterr().out
    assert "nan" not in said
    assert "no interval: 1 reference, 10 are needed" in said
    assert "no interval: 0 references" in said
    assert said.endswith(f"{ONE_LEVEL}\n")


@pytest.mark.parametrize("level", [3, 5])
def test_one_level_in_the_whole_database_is_said_in_one_line(
    level: int, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = _pairs()
    total = np.where(pairs.levels == level, 4.0, np.nan)[:, None].repeat(2, axis=1)
    print_group(Group.DECISION, _health(pairs, total))
    said = capsys.readouterr().out
    assert said.count(f"every pair has level {level}: nothing can fall with the level\n") == 1
    assert ("loss at level 5" in said) == (level == 5)
    assert "part of all loss" in said
    assert "are needed" not in said
    assert "(-, -" not in said
    assert "mean score at levels" not in said
