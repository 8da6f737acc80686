"""Do scores fall when levels rise: shares by hand, undefined ones, tables of the report and the command."""

from __future__ import annotations

import csv
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.base.jobs.engine import EngineOptions
from embodied_iqa.cli.main import main
from embodied_iqa.imaging.distortions.region import region_mode
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.pages.reports.stored import write_report
from embodied_iqa.suites.miqa.evaluation.comparing import fall_rows
from embodied_iqa.suites.miqa.evaluation.evaluating import EvaluationPlan, evaluate
from embodied_iqa.suites.miqa.evaluation.evaluation_results import FallRow, Share
from embodied_iqa.suites.miqa.names import ImageName
from embodied_iqa.suites.miqa.rows import MiqaRow, Part
from miqa_folders import KINDS, make_miqa

CLS = VisionTask.CLASSIFICATION
PAIRS = tuple(product(range(1, 6), repeat=2))
NONE = Share(None, None, None)


def image(reference: str, inside: int, outside: int, kind: str = "fog") -> MiqaRow:
    path = ImageName(reference, kind, inside, outside).path
    mode = region_mode(inside, outside)
    return MiqaRow(path, reference, "", kind, inside, outside, mode, Part.VALIDATION, 0.5, 0.5, 0.5)


def found(rows: list[MiqaRow], values: list[float] | NDArray[np.float64]) -> dict[str, FallRow]:
    """Return the rows of one metric by type."""
    scores = {"metric": np.asarray(values, np.float64)}
    return {row.kind: row for row in fall_rows(CLS, rows, scores, draws=50)}


def whole(kinds: tuple[str, ...] = ("fog",), references: int = 3) -> list[MiqaRow]:
    names = [f"r{number}" for number in range(references)]
    return [image(name, *pair, kind) for kind in kinds for name in names for pair in PAIRS]


def test_a_score_of_both_levels_falls_everywhere_and_its_opposite_nowhere() -> None:
    rows = whole(references=10)
    levels = np.array([row.roi_level + row.background_level for row in rows], np.float64)
    falling, rising = found(rows, -levels)["fog"], found(rows, levels)["fog"]
    assert (falling.ordered, falling.monotone, falling.falls) == (Share(1, 1, 1), Share(1, 1, 1), True)
    assert (rising.ordered, rising.monotone, rising.falls) == (Share(0, 0, 0), Share(0, 0, 0), False)
    assert falling.references == 10
    assert falling.uniform == (-2, -4, -6, -8, -10)
    assert falling.means == tuple(-float(inside + outside) for inside, outside in PAIRS)
    same = found(rows, np.zeros(len(rows)))["fog"]
    assert (same.ordered.value, same.monotone.value, same.falls) == (0, 0, False)


def test_a_score_that_sees_the_region_only_is_in_order_where_the_region_changes() -> None:
    """Of 25 pairs of levels, 200 are comparable: (15 * 15 - 25); 50 of them differ outside only."""
    rows = whole()
    row = found(rows, np.array([-float(row.roi_level) for row in rows]))["fog"]
    assert row.ordered.value == pytest.approx(150 / 200)
    assert row.monotone.value == 1


def test_shares_are_those_computed_by_hand() -> None:
    """One reference in order; one with 2 of 3 comparable pairs; one whose two images do not compare."""
    rows = [image("a", 1, 1), image("a", 2, 2), image("b", 1, 1), image("b", 3, 3)]
    rows += [image("b", 5, 4), image("c", 1, 2), image("c", 2, 1)]
    row = found(rows, [0.9, 0.2, 0.5, 0.1, 0.3, 0.8, 0.7])["fog"]
    assert row.ordered.value == pytest.approx((1 + 2 / 3) / 2)
    assert row.ordered.low is row.ordered.high is None, "fewer than ten references have no interval"
    assert (row.monotone.value, row.references) == (1, 2)
    assert row.means[0] == pytest.approx(0.7)
    assert row.uniform == (row.means[0], 0.2, 0.1, None, None)
    assert row.falls
    again = found(rows[::-1], [0.7, 0.8, 0.3, 0.1, 0.5, 0.2, 0.9])["fog"]
    assert again == row, "the order of rows does not count"


def test_images_without_a_value_are_left_out() -> None:
    rows = [image("a", level, level) for level in (1, 2, 3)] + [image("b", 1, 1), image("b", 2, 2)]
    row = found(rows, [3.0, np.nan, 1.0, np.nan, 2.0])["fog"]
    assert (row.ordered.value, row.monotone.value, row.references) == (1, 1, 1)
    assert row.ordered.low is None, "one reference has no interval"
    assert row.uniform == (3.0, 2.0, 1.0, None, None)
    nothing = found(rows, [np.nan] * 5)["fog"]
    assert (nothing.ordered, nothing.monotone, nothing.references, nothing.falls) == (NONE, NONE, 0, False)
    assert set(nothing.means) == {None}


def test_types_are_apart_and_all_of_them_draw_whole_references() -> None:
    rows = whole(("fog", "snow"), references=10)
    sign = np.array([1.0 if row.kind == "snow" else -1.0 for row in rows])
    by_type = found(rows, sign * [row.roi_level + row.background_level for row in rows])
    assert list(by_type) == ["all", "fog", "snow"]
    assert (by_type["fog"].ordered.value, by_type["snow"].ordered.value) == (1, 0)
    assert by_type["all"].ordered == by_type["all"].monotone == Share(0.5, 0.5, 0.5)
    assert by_type["all"].references == 10


def test_an_interval_comes_from_ten_references_that_have_a_value() -> None:
    rows = [image(f"r{number}", level, level) for number in range(11) for level in (1, 2)]
    values = np.array([0.9, 0.2] * 9 + [0.2, 0.9] * 2)
    share = found(rows, values)["fog"].ordered
    assert share.value == pytest.approx(9 / 11)
    assert share.low is not None
    assert share.high is not None
    assert share.low < 9 / 11 < share.high
    values[::20] = np.nan
    assert found(rows, values)["fog"].ordered == Share(pytest.approx(8 / 9), None, None)


def test_reports_and_the_command_show_metrics_beside_the_labels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = make_miqa(tmp_path / "db", 10)
    result = evaluate(
        database,
        EvaluationPlan(("psnr",), (CLS,), draws=20),
        tmp_path / "out",
        EngineOptions(),
        lambda *_: None,
    )
    assert {(row.metric, row.kind) for row in result.falls} == set(
        product(("psnr", "label"), ("all", *KINDS))
    )
    assert result.falling_types(CLS, "label") == (2, 2), "the labels of these folders fall with the levels"
    (noise,) = [row for row in result.falls if (row.metric, row.kind) == ("psnr", "gaussian_noise")]
    assert (noise.monotone.value, noise.falls) == (1, True)
    page = write_report(tmp_path / "out").read_text(encoding="utf-8")
    assert "Does the score fall with the level?" in page
    assert "correlation of psnr with the labels" in page, "a single table has no heading"
    assert "recipe-cognition" not in page, "scores of another benchmark"
    with (tmp_path / "out" / "report_tables" / "falls_by_type_cls.csv").open(encoding="utf-8") as stream:
        (row,) = [row for row in csv.DictReader(stream) if row["type"] == "gaussian_noise"]
    stored = [float(row[f"mean_{inside}_{outside}"]) for inside, outside in PAIRS]
    assert stored == list(noise.means)
    words = ["evaluate", "miqa", "psnr", str(database.path), "--out", str(tmp_path / "out"), "--draws", "20"]
    assert main([*words, "--metrics", ""]) == 0
    lines = capsys.readouterr().out.splitlines()
    (begin,) = [place for place, line in enumerate(lines) if "do scores fall when levels rise?" in line]
    shown = {line.split()[0]: line for line in lines[begin + 1 :] if line}
    assert shown["label"].rstrip().endswith("2 of 2")
    assert shown["psnr"].rstrip().endswith("2 of 2")
