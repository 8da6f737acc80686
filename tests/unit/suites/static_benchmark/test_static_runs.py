"""Evaluation of VLMs: dummies of known score, circular scores, resumption, distorted images."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embodied_iqa.cli.main import main
from embodied_iqa.data.analysis.paired import mcnemar
from embodied_iqa.imaging.images.frame import Frame
from embodied_iqa.models.scoring.proportions import wilson
from embodied_iqa.suites.static_benchmark import judging
from embodied_iqa.suites.static_benchmark.benchmark import read_items, write_benchmark
from embodied_iqa.suites.static_benchmark.circular import circular_items, circular_score
from embodied_iqa.suites.static_benchmark.items import LETTERS, Dimension, Item, Person
from embodied_iqa.suites.static_benchmark.letters import Reading
from embodied_iqa.suites.static_benchmark.stored_answers import ItemAnswer
from embodied_iqa.suites.static_benchmark.tsv import ItemTable
from embodied_iqa.suites.static_benchmark.tsv_images import encode_image
from embodied_iqa.suites.static_benchmark.vlm_scores import answered_score, group_scores
from embodied_iqa.world.protocols import SubjectInfo, Vlm

COUNT = 90


def bench_in(folder: Path) -> tuple[Item, ...]:
    """Write a benchmark of `COUNT` items with 2 to 4 options, and return its items."""
    rng = np.random.default_rng(5)
    items, images = [], {}
    for index in range(COUNT):
        count = 2 + index % 3
        options = tuple(f"{word} thing" for word in ("first", "second", "third", "fourth")[:count])
        answer = LETTERS[int(rng.integers(count))]
        dimension, person = list(Dimension)[index % 3], list(Person)[index % 2]
        items.append(Item(index, index, f"Which {index}?", options, answer, "", dimension, person, "top"))
        images[index] = encode_image(rng.integers(0, 256, (48, 64, 3), np.uint8))
    write_benchmark(folder, ItemTable(tuple(items), images), "a test")
    return tuple(items)


def evaluate(bench: Path, *words: str) -> dict[str, Any]:
    assert main(["evaluate", "static", str(bench), *words]) == 0
    scores: dict[str, Any] = json.loads((bench / "results" / "vlm.json").read_text())
    return scores


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    bench_in(tmp_path / "bench")
    return tmp_path / "bench"


def test_dummies_score_what_they_must(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = evaluate(bench, "--vlm", "oracle,letter-a,random", "--circular")
    oracle, always_a, drawn = scores["subjects"]
    right = oracle["bias"][0]["right"]
    assert oracle["plain"]["value"] == oracle["circular"]["hits"]["value"] == 1.0
    assert always_a["plain"]["value"] == pytest.approx(right)
    assert always_a["circular"]["hits"]["value"] == 0.0
    assert always_a["bias"][0]["answered"] == 1.0
    assert drawn["plain"]["low"] <= drawn["chance"] <= drawn["plain"]["high"]
    assert drawn["chance"] == pytest.approx((1 / 2 + 1 / 3 + 1 / 4) / 3)
    assert drawn["circular"]["chance"] == pytest.approx((1 / 4 + 1 / 27 + 1 / 256) / 3)
    assert (
        drawn["circular"]["hits"]["low"] <= drawn["circular"]["chance"] <= drawn["circular"]["hits"]["high"]
    )
    assert drawn["circular"]["minus_plain"] < 0
    assert sum(one["hits"]["n"] for one in drawn["cells"]) == COUNT
    by_group = {(one["dimension"], one["person"]): one for one in drawn["groups"]}
    assert by_group["all", "all"]["chance"] == drawn["chance"]
    for dimension, count in zip(Dimension, (2, 3, 4), strict=True):  # as many options as `bench_in` gives
        group = by_group[str(dimension), "all"]
        assert group["chance"] == pytest.approx(1 / count)
        assert group["hits"]["low"] <= group["chance"] <= group["hits"]["high"]
    pair = next(one for one in scores["comparisons"] if one["second"] == "letter-a")
    assert (pair["only_first"], pair["only_second"]) == (round(COUNT * (1 - right)), 0)
    first, second = np.ones(COUNT, bool), np.arange(COUNT) < round(COUNT * right)
    assert pair["p_value"] == pytest.approx(mcnemar(first, second))
    assert scores["failed_by_all"] == []
    assert "McNemar" in capsys.readouterr().out


def test_hits_of_answered_items_leave_out_those_without_a_letter(tmp_path: Path) -> None:
    items = bench_in(tmp_path)
    answers = {
        item.index: ItemAnswer(item.index, "", "", Reading.UNPARSED)
        if item.index % 2
        else ItemAnswer(item.index, "", "A", Reading.LETTER, "A")
        for item in items
    }
    even = [item for item in items if item.index % 2 == 0]
    found = answered_score(items, answers)
    assert found is not None
    assert found.hits == wilson(sum(item.answer == "A" for item in even), len(even))
    assert found.chance == pytest.approx(np.mean([1 / len(item.options) for item in even]))
    assert answered_score(items[1::2], answers) is None
    (whole,) = [one for one in group_scores(items, answers) if (one.dimension, one.person) == ("all", "all")]
    assert whole.of_answered == found
    assert whole.hits.value == pytest.approx(found.hits.value / 2)


def test_a_run_that_was_cut_short_ends_with_the_same_file_and_asks_nothing_twice(
    bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--vlm", "random,oracle", "--circular", "--distortion", "12:3"]
    evaluate(bench, *words)
    whole = (bench / "results" / "vlm.json").read_bytes()
    files = {file: file.read_bytes() for file in (bench / "results" / "answers").rglob("*.json")}
    assert len(files) == 2 * 2 * 3
    for file in sorted(files)[::2]:
        file.unlink()
    (bench / "results" / "vlm.json").unlink()
    capsys.readouterr()
    evaluate(bench, *words, "--workers", "2")
    assert (bench / "results" / "vlm.json").read_bytes() == whole
    assert {file: file.read_bytes() for file in files} == files
    capsys.readouterr()
    evaluate(bench, *words)
    assert "new answers" not in capsys.readouterr().out
    evaluate(bench, "--vlm", "random")
    printed = capsys.readouterr().out
    assert "items that no model answers correctly (dummies not counted)" in printed
    (random,) = [line.split() for line in printed.splitlines() if line.startswith("random")]
    assert random.count("-") == 2, "without --circular"
    shutil.rmtree(tmp_path / "bench" / "results" / "answers" / "oracle")
    evaluate(bench, *words)
    assert "ms each without the models' own time" in capsys.readouterr().out


class Brightness:
    """Answers B on dark images and A on others; fails on the word 7."""

    info = SubjectInfo("python:test_static_runs:make", "1", "A test.", (), any_view=True)

    def answer(self, frame: Frame, task: str) -> str:
        if "Which 7?" in task:
            raise ValueError("no seven")
        if "Which 8?" in task:
            return "I cannot tell"
        return "B" if frame.rgb.mean() < 100 else "maybe"


def make() -> Vlm:
    return Brightness()


def test_flips_under_distortion_and_failures_are_counted_apart(
    bench: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    scores = evaluate(
        bench, "--vlm", "python:test_static_runs:make", "--distortions", "21", "--levels", "4-5", "--grey"
    )
    (subject,) = scores["subjects"]
    assert subject["readings"] == {"letter": 0, "unparsed": COUNT - 2, "refused": 1, "empty": 0, "failed": 1}
    assert subject["plain"]["value"] == 0.0
    grey, _, darkest = subject["conditions"]
    assert [one["condition"] for one in subject["conditions"]] == ["grey", "21:4", "21:5"]
    assert grey["wrong_to_right"] == grey["right_to_wrong"] == 0
    assert darkest["right_to_wrong"] == 0
    assert darkest["wrong_to_right"] == round(darkest["minus_clean"] * COUNT)
    assert darkest["consistency"] is None


class Judge:
    """Reads "maybe" as A, and fails where the question is 4."""

    info = SubjectInfo("python:test_static_runs:make_judge", "1", "A test.", (), any_view=True)

    def answer(self, frame: Frame, task: str) -> str:
        assert np.ptp(frame.rgb) == 0
        if "Which 4?" in task:
            raise ValueError("no four")
        return "A" if "Answer: maybe" in task else "NONE"


def make_judge() -> Vlm:
    return Judge()


def test_a_judge_reads_unparsed_answers_only_and_its_hits_are_counted_apart(
    bench: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    words = [
        "--vlm",
        "python:test_static_runs:make,oracle",
        "--answer-judge",
        "python:test_static_runs:make_judge",
    ]
    scores = evaluate(bench, *words)
    subject, oracle = scores["subjects"]
    judged, items = subject["judged"], read_items(bench).items
    seen = [item for item in items if item.index not in {4, 7, 8}]
    hits = sum(item.answer == "A" for item in seen)
    counts = (judged["asked"], judged["read"], judged["hits"], judged["failed"])
    assert counts == (COUNT - 2, COUNT - 3, hits, 1)
    assert subject["plain"]["value"] == 0.0
    assert judged["plain"]["value"] == pytest.approx(hits / COUNT)
    assert (oracle["judged"]["asked"], oracle["judged"]["plain"]["value"]) == (0, 1.0)
    assert f"{hits} right, 1 failed" in capsys.readouterr().out
    with (bench / "results" / "report_tables" / "vlm_judge.csv").open(newline="") as stream:
        of_subject, of_oracle = csv.DictReader(stream)
    assert (int(of_subject["right"]), int(of_oracle["unparsed"])) == (hits, 0)
    assert float(of_subject["with_judge"]) == pytest.approx(100 * hits / COUNT)
    assert len(scores["failed_by_all"]) == COUNT  # the oracle is a dummy
    assert evaluate(bench, *words) == scores
    for wrong in ("oracle", "panel-vlm-fine", "classical-vlm,classical-vlm-2"):
        assert main(["evaluate", "static", str(bench), "--vlm", "oracle", "--answer-judge", wrong]) == 2
    assert main(["evaluate", "static", str(bench), "--vla", "still", "--answer-judge", "oracle"]) == 2


def test_answers_of_a_judge_that_could_not_be_read_again_are_not_written(
    bench: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setattr(judging, "MOST_DATASET_BYTES", 100)
    words = ["--vlm", "python:test_static_runs:make", "--answer-judge", "python:test_static_runs:make_judge"]
    assert main(["evaluate", "static", str(bench), *words]) == 1
    assert "would be too large to be read again; expected at most 100 bytes" in capsys.readouterr().err
    assert not list((bench / "results" / "judged").glob("*.json"))


def test_a_group_with_a_missing_rotation_is_never_a_hit() -> None:
    rows = circular_items([Item(0, 0, "?", ("x", "y", "z"), "B"), Item(1, 1, "?", ("x", "y"), "A")])
    answers = {row.index: ItemAnswer(row.index, "", row.answer, Reading.LETTER, row.answer) for row in rows}
    whole, cut = circular_score(rows, answers, 1.0), circular_score(rows[:2] + rows[3:], answers, 1.0)
    assert (whole.hits.value, whole.incomplete, whole.chance) == (1.0, 0, (1 / 27 + 1 / 4) / 2)
    assert (cut.hits.value, cut.incomplete) == (0.5, 1)
    answers[10**6] = replace(answers[10**6], letter="A")
    assert circular_score(rows, answers, 1.0).hits.value == 0.5


def test_words_of_the_command_are_checked(bench: Path, tmp_path: Path) -> None:
    for words in (
        ["--vlm", ""],
        [],
        ["--vlm", "classical-vla"],
        ["--vla", "still", "--circular"],
        ["--vla", "still", "--grey"],
        ["--vla", "still", "--answer-judge", "classical-vlm"],
        ["--vlm", "oracle", "--levels", "0-3", "--distortions", "all"],
    ):
        assert main(["evaluate", "static", str(bench), *words]) == 2
    assert main(["evaluate", "static", str(tmp_path / "none"), "--vlm", "oracle"]) == 1
    (bench / "items.tsv").write_text((bench / "items.tsv").read_text().replace("Which 3?", "Which 4?"))
    assert main(["evaluate", "static", str(bench), "--vlm", "oracle"]) == 1
