"""The benchmark on a small database: known answers, interruption, other plans, generalization studies."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from benchmark_databases import MUTE, PICKY, RECIPE, SHUFFLED, STORED, TRUTH, Truth, telling_database
from database_folders import write_experiment
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.jobs.engine import EngineKind, EngineOptions
from embodied_iqa.base.records import Plain
from embodied_iqa.base.tables import write_table
from embodied_iqa.cli.plan_options import words_of
from embodied_iqa.data.analysis.grid import Group
from embodied_iqa.data.database.joined_runs import join_execution
from embodied_iqa.data.database.schema import PAIRS, SCORES
from embodied_iqa.data.database.splits import training_references
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.metrics.benchmark import resolving
from embodied_iqa.quality.metrics.benchmark.benchmark_images import DatabaseImages
from embodied_iqa.quality.metrics.benchmark.benchmark_plan import BenchmarkPlan, Target, Unseen
from embodied_iqa.quality.metrics.benchmark.benchmark_results import RESULTS, BenchmarkResults
from embodied_iqa.quality.metrics.benchmark.fold_training import Training, training_jobs, training_set
from embodied_iqa.quality.metrics.benchmark.runner import Stage, run_benchmark
from embodied_iqa.quality.metrics.benchmark.targets import TargetScores, remarks_of
from embodied_iqa.quality.metrics.benchmark.values import finite_values
from embodied_iqa.quality.metrics.learned.card import MetricCard, save_metric_card
from embodied_iqa.quality.metrics.learned.inputs import InputKind

PLAN = BenchmarkPlan(
    (TRUTH, SHUFFLED, "psnr", f"train:{RECIPE}"),
    targets=(Target.DECISION, Target.WRONG_MOTION),
    repeats=2,
    unseen=tuple(Unseen),
    draws=20,
)
TRAINED = f"{RECIPE} on decision"
SMALL = replace(PLAN, metrics=("psnr", f"train:{RECIPE}"), targets=(Target.DECISION,), unseen=())


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> DatabaseStore:
    return telling_database(tmp_path_factory.mktemp("telling") / "db", references=25)


@pytest.fixture(scope="module")
def whole(store: DatabaseStore, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, BenchmarkResults]:
    out = tmp_path_factory.mktemp("whole") / "out"
    return out, run_benchmark(store, out, PLAN, EngineOptions(), _silent)


def _silent(stage: Stage, done: int, total: int) -> None:
    pass


def _srcc(results: BenchmarkResults, target: Target = Target.DECISION) -> dict[str, float | None]:
    return {row.metric: row.mean["srcc"] for row in results.overall()[target]}


def _assert_same(first: Path, second: Path) -> None:
    """The same results, except for measured times; fits may differ in the last digits."""
    words, numbers = zip(
        *(_leaves(json.loads((out / RESULTS).read_text())) for out in (first, second)), strict=True
    )
    assert words[0] == words[1]
    np.testing.assert_allclose(numbers[0], numbers[1], rtol=1e-7, atol=1e-9)


def _leaves(tree: Any) -> tuple[list[Any], list[float]]:
    words: list[Any] = []
    numbers: list[float] = []
    left = [tree]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            words += sorted(item)
            left += [value for key, value in sorted(item.items()) if key != "milliseconds"]
        elif isinstance(item, list):
            left += item
        elif isinstance(item, float):
            numbers.append(item)
        else:
            words.append(item)
    return words, numbers


def test_a_former_word_of_a_study_is_understood(capsys: pytest.CaptureFixture[str]) -> None:
    assert Unseen("camera") is Unseen.VIEW, "as earlier results have it"
    assert words_of(Unseen)("types,camera") == (Unseen.TYPES, Unseen.VIEW)
    assert capsys.readouterr().err == "embodied-iqa: camera is called view; 0.2 no longer knows it\n"


def test_a_metric_that_equals_the_score_has_srcc_1_and_a_shuffled_one_about_0(
    whole: tuple[Path, BenchmarkResults],
) -> None:
    found = _srcc(whole[1])
    assert found[TRUTH] == pytest.approx(1)
    assert found[TRAINED] == pytest.approx(1)
    assert abs(found[SHUFFLED] or 0) < 0.2
    best = whole[1].overall()[Target.DECISION][0]
    assert best.mean["plcc"] > best.mean["plcc_raw"]
    assert best.mean["auc"] == 1
    assert best.splits == PLAN.repeats
    assert best.ceiling is not None
    assert best.share == pytest.approx(1 / best.ceiling)


def test_ranks_and_differences_are_those_of_the_table(
    store: DatabaseStore, whole: tuple[Path, BenchmarkResults]
) -> None:
    for target in PLAN.targets:
        table = _srcc(whole[1], target)
        ranks = [row for row in whole[1].ranks if row.target is target]
        assert {row.metric: row.srcc for row in ranks} == pytest.approx(table)
        held_out = {name for seed in range(PLAN.repeats) for name in _held_out(store, seed)}
        assert {row.references for row in ranks} == {len(held_out)}
        for row in (row for row in whole[1].differences if row.target is target):
            assert row.value == pytest.approx((table[row.first] or 0) - (table[row.second] or 0))


def _held_out(store: DatabaseStore, seed: int) -> set[str]:
    names = store.references()["reference_id"].to_pylist()
    return {*names} - training_references(names, seed)


def test_breakdowns_cover_every_property_and_leave_out_the_medium_third(
    whole: tuple[Path, BenchmarkResults],
) -> None:
    rows = [row for row in whole[1].scores if row.target is Target.DECISION and row.metric == TRUTH]
    values = {by: {row.value for row in rows if row.by == by} for by in {row.by for row in rows}}
    assert values["JND third"] == {"mild", "severe"}
    assert len(values["distortion"]) == 30
    assert values["person"] == {"first", "third"}
    assert set(values) >= {"all", "class", "level", "view", "origin", "main object", "background"}


def test_metrics_are_trained_on_nothing_but_training_references(
    store: DatabaseStore, whole: tuple[Path, BenchmarkResults]
) -> None:
    for file in sorted(whole[0].glob("models/*/*/metric/given.json")):
        names, labels, seed = json.loads(file.read_text())
        fold = file.parent.parent.name
        split = int(fold.removeprefix("split-")) if fold.startswith("split-") else 0
        allowed = training_references(store.references()["reference_id"].to_pylist(), split)
        assert {name.partition("-")[0] for name in names} <= allowed, fold
        assert (len(labels), seed) == (len(names), 0)
    given = {path.parent.parent.name for path in whole[0].glob("models/*/*/metric/given.json")}
    assert len([name for name in given if name.startswith("types-")]) == 5
    assert len([name for name in given if name.startswith("subject-")]) == 10
    types, _, _ = json.loads(next(whole[0].glob("models/*/types-0/metric/given.json")).read_text())
    assert len({name.partition("-")[2] for name in types}) == 24
    camera, _, _ = json.loads(next(whole[0].glob("models/*/view-top/metric/given.json")).read_text())
    views = {row["reference_id"]: row["view"] for row in store.references().to_pylist()}
    assert {views[name.partition("-")[0]] for name in camera} == {"wrist", "side"}


def test_generalization_is_reported_beside_what_the_labels_allow(
    whole: tuple[Path, BenchmarkResults],
) -> None:
    rows = {(row.study, row.metric): row for row in whole[1].unseen if row.target is Target.DECISION}
    assert len(whole[1].unseen) == 2 * len(rows) == 2 * 3 * 4
    assert rows[Unseen.TYPES, TRAINED].srcc == pytest.approx(1)
    psnr = rows[Unseen.VIEW, "psnr"]
    assert psnr.low is not None
    assert psnr.high is not None
    assert psnr.srcc is not None
    assert psnr.low < psnr.srcc < psnr.high
    subject = rows[Unseen.SUBJECT, TRAINED]
    assert subject.folds == 10
    assert subject.labels is not None
    assert 0 < subject.labels < 1
    assert rows[Unseen.VIEW, TRUTH].by_fold.keys() == {"without side", "without top", "without wrist"}


class _InterruptedError(Exception):
    pass


@pytest.fixture(scope="module")
def small(store: DatabaseStore, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("small") / "out"
    run_benchmark(store, out, SMALL, EngineOptions(), _silent)
    return out


@pytest.mark.parametrize(("stage", "after"), [(Stage.TRAIN, 1), (Stage.MEASURE, 2)])
def test_an_interrupted_benchmark_continues_to_the_same_results(
    store: DatabaseStore, small: Path, tmp_path: Path, stage: Stage, after: int
) -> None:
    def interrupt(at: Stage, done: int, total: int) -> None:
        if at is stage and done == after:
            raise _InterruptedError

    with pytest.raises(_InterruptedError):
        run_benchmark(store, tmp_path, SMALL, EngineOptions(), interrupt)
    left: dict[Stage, int] = {}
    run_benchmark(store, tmp_path, SMALL, EngineOptions(), lambda at, _, total: left.update({at: total}))
    _assert_same(tmp_path, small)
    assert left[Stage.TRAIN] == (SMALL.repeats - after if stage is Stage.TRAIN else 0)
    if stage is Stage.MEASURE:
        assert left[stage] == len(list((small / "values").glob("*/psnr/*.parquet"))) - after


@pytest.mark.parametrize("kind", EngineKind)
def test_two_workers_give_the_same_results(
    kind: EngineKind,
    store: DatabaseStore,
    small: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]), prepend=":")
    if kind is EngineKind.RAY:
        pytest.importorskip("ray")
    run_benchmark(store, tmp_path, SMALL, EngineOptions(kind, 2), _silent)
    _assert_same(tmp_path, small)


def test_a_moved_benchmark_finds_its_trained_metrics(store: DatabaseStore, tmp_path: Path) -> None:
    names = np.array(store.pairs()["pair_id"].to_pylist())
    owners = np.array(store.pairs()["reference_id"].to_pylist())
    samples = training_set(DatabaseImages(store.path), names, owners, np.ones(len(names)))
    training = Training(STORED, "split-0", "decision", samples)
    (job,) = training_jobs(tmp_path / "out", [training])
    job()
    (tmp_path / "out").rename(tmp_path / "moved")
    assert training_jobs(tmp_path / "moved", [training]) == []
    folder = training.folder(tmp_path / "moved") / "metric"
    assert training.metric(tmp_path / "moved") == f"trained:{folder}"
    assert (folder / "given.json").is_file()
    other = replace(training, samples=replace(samples, labels=2 * samples.labels))
    assert len(training_jobs(tmp_path / "moved", [other])) == 1


def test_the_version_of_a_metric_follows_its_files_not_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "network.onnx").write_bytes(b"weights")
    monkeypatch.setattr(resolving, "metric_by_name", lambda _: Truth())
    names = [f"trained:{tmp_path / name}" for name in ("first", "second")]
    before = [resolving.described(name)[1] for name in (*names, f"{names[0]}#calibrated")]
    assert before[0] == before[1] != before[2]
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolving.described("trained:~/first")[1] == before[0]
    (tmp_path / "second" / "network.onnx").write_bytes(b"other")
    assert resolving.described(names[1])[1] != before[1]


@pytest.mark.parametrize("plan", [{"seed": 7}, {"seed": 8}])
def test_a_metric_that_was_trained_on_these_images_is_named(tmp_path: Path, plan: dict[str, Plain]) -> None:
    card = MetricCard("own", "", InputKind.FINE, "1", (), (8, 6), (View.TOP,), "decision", 0.0, 1.0, "")
    save_metric_card(replace(card, database={"split": 3, "plan": json.dumps(plan)}), tmp_path)
    name = f"trained:{tmp_path}#calibrated"
    found = resolving.trained_here(["psnr", name], {"seed": 7})
    assert found == ({name: "3"} if plan == {"seed": 7} else {})


def test_the_version_of_a_peer_follows_its_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolving, "metric_by_name", lambda _: Truth())

    def version(name: str, folder: str, weights: bytes) -> str:
        file = tmp_path / folder / "best.pth"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(weights)
        return resolving.described(f"pyiqa:{name}@{file}")[1]

    first = version("cnniqa", "first", b"weights")
    assert version("cnniqa", "second", b"weights") == first
    assert version("cnniqa", "first", b"other") != first
    assert version("dbcnn", "first", b"weights") != first


def test_another_plan_in_a_used_folder_is_refused_by_name(
    store: DatabaseStore, whole: tuple[Path, BenchmarkResults], tmp_path: Path
) -> None:
    other = replace(PLAN, repeats=1, metrics=("psnr",))
    with pytest.raises(UsageError, match=r"another plan: metrics.*not asked; .*repeats is 2 there, 1 asked"):
        run_benchmark(store, whole[0], other, EngineOptions(), _silent)
    (tmp_path / "mine.txt").write_text("kept")
    with pytest.raises(InputError, match="holds no metric benchmark"):
        run_benchmark(store, tmp_path, PLAN, EngineOptions(), _silent)
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


def test_nothing_is_written_to_the_database(store: DatabaseStore, tmp_path: Path) -> None:
    before = {file: file.stat().st_mtime_ns for file in store.path.rglob("*")}
    run_benchmark(
        store, tmp_path, BenchmarkPlan(("psnr",), (Target.DECISION,), repeats=1), EngineOptions(), _silent
    )
    assert {file: file.stat().st_mtime_ns for file in store.path.rglob("*")} == before


def test_execution_of_joined_runs_is_compared_by_distortion(tmp_path: Path) -> None:
    store = telling_database(tmp_path / "db", references=6, subjects=2)
    join_execution(store, [write_experiment(tmp_path / "runs")])
    plan = BenchmarkPlan((TRUTH, "psnr"), (Target.DECISION,), repeats=10)
    results = run_benchmark(store, tmp_path / "out", plan, EngineOptions(), _silent)
    assert {(row.metric, row.tested_on) for row in results.cross} == {
        (TRUTH, "execution"), ("psnr", "execution"),
    }  # fmt: skip
    assert all(0 < row.count <= 30 for row in results.cross)


def test_a_changed_image_is_refused_and_a_metric_that_fails_is_counted(tmp_path: Path) -> None:
    store = telling_database(tmp_path / "db", references=4, subjects=2)
    plan = BenchmarkPlan((TRUTH, PICKY), (Target.DECISION,), repeats=1)
    results = run_benchmark(store, tmp_path / "out", plan, EngineOptions(), _silent)
    assert {row.name: row.failures for row in results.metrics} == {TRUTH: {}, PICKY: {"odd": 60}}
    assert _srcc(results)[PICKY] == pytest.approx(1)
    pairs = store.pairs().to_pylist()
    pairs[0]["sha256"] = "f" * 64
    write_table(store.pairs_file, pa.Table.from_pylist(pairs, schema=PAIRS), PAIRS)
    with pytest.raises(InputError, match="is not the image that was written"):
        run_benchmark(store, tmp_path / "other", plan, EngineOptions(), _silent)


def test_missing_answers_are_reported_by_pair_and_by_subject(tmp_path: Path) -> None:
    store = telling_database(tmp_path / "db", references=6, subjects=3)
    rows = store.scores().to_pylist()
    gone = {row["pair_id"] for row in rows[:1]}
    for row in rows:
        if row["subject"] == "vla-2" or (row["subject"] == "vla-1" and row["pair_id"] in gone):
            row["score"] = None
    write_table(store.scores_file, pa.Table.from_pylist(rows, schema=SCORES), SCORES)
    plan = BenchmarkPlan((TRUTH,), (Target.DECISION, Target.COGNITION), repeats=1)
    results = run_benchmark(store, tmp_path / "out", plan, EngineOptions(), _silent)
    assert results.remarks[:-1] == (
        "decision: 180 pairs lack the answers of some subjects; the mean is over the others.",
        "decision: vla-1 has no score of 1 of its 180 pairs.",
        "decision: vla-2 has no score of 180 of its 180 pairs.",
    )


def test_a_remark_about_several_scores_and_subjects_comes_once() -> None:
    values = np.full((3, 3), np.nan)
    values[:, 0] = 1.0, 2.0, 3.0
    scores = [
        TargetScores(target, Group.DECISION, ("a", "b", "c"), values, np.zeros((3, 3), np.bool_))
        for target in (Target.DECISION, Target.STATE)
    ]
    assert remarks_of(scores) == (
        "decision, state: 3 pairs lack the answers of some subjects; the mean is over the others.",
        "decision, state: b, c have no score of 3 of their 3 pairs.",
        "decision, state: no noise ceiling: fewer than two subjects.",
    )


def test_a_score_without_a_noise_ceiling_says_why(tmp_path: Path) -> None:
    store = telling_database(tmp_path / "db", references=4, subjects=1)
    plan = BenchmarkPlan((TRUTH,), (Target.DECISION,), repeats=1)
    results = run_benchmark(store, tmp_path / "out", plan, EngineOptions(), _silent)
    assert results.overall()[Target.DECISION][0].ceiling is None
    assert "decision: no noise ceiling: fewer than two subjects." in results.remarks


def test_a_score_that_no_split_tests_is_named(tmp_path: Path) -> None:
    store = telling_database(tmp_path / "db", references=4, subjects=2)
    rows = store.scores().to_pylist()
    few = sorted({row["pair_id"] for row in rows})[:5]
    for row in rows:
        row["score"] = row["score"] if row["pair_id"] in few else None
    write_table(store.scores_file, pa.Table.from_pylist(rows, schema=SCORES), SCORES)
    plan = BenchmarkPlan((TRUTH, "psnr"), (Target.DECISION,), repeats=1)
    results = run_benchmark(store, tmp_path / "out", plan, EngineOptions(), _silent)
    assert _srcc(results) == {TRUTH: None, "psnr": None}
    names = f"{TRUTH}, psnr"
    expected = (
        f"decision: no SRCC of {names}: each split tests fewer than 10 pairs, or pairs that are all equal."
    )
    assert results.remarks[-1] == expected


def test_a_metric_that_fails_on_every_image_is_named_with_its_reason(tmp_path: Path) -> None:
    store = telling_database(tmp_path / "db", references=4, subjects=2)
    plan = BenchmarkPlan((TRUTH, MUTE), (Target.DECISION,), repeats=1)
    results = run_benchmark(store, tmp_path / "out", plan, EngineOptions(), _silent)
    said = [remark for remark in results.remarks if MUTE in remark]
    assert said == [f"{MUTE} has no value of any image: it is mute"]


def test_few_pairs_have_no_plcc_after_the_logistic_and_the_remark_says_why(tmp_path: Path) -> None:
    store = telling_database(tmp_path / "db", references=4, subjects=2)
    plan = BenchmarkPlan((TRUTH,), (Target.DECISION, Target.COGNITION), repeats=1)
    results = run_benchmark(store, tmp_path / "out", plan, EngineOptions(), _silent)
    (row,) = results.overall()[Target.DECISION]
    assert (row.mean["plcc"], row.mean["rmse"]) == (None, None)
    assert row.mean["plcc_raw"] is not None
    assert results.remarks[-1] == (
        "decision, cognition: no PLCC and RMSE: each split tests fewer than 150 pairs, on which the logistic "
        "would fit noise; PLCC raw is without it."
    )


def test_a_wrong_plan_is_refused(store: DatabaseStore, tmp_path: Path) -> None:
    for plan, words in (
        (replace(PLAN, train_on=("quality",)), "unknown score to train on"),
        (replace(PLAN, metrics=("psnrr",)), "unknown metric"),
        (replace(PLAN, human=("lief:x",)), "unknown human database"),
    ):
        with pytest.raises(UsageError, match=words):
            run_benchmark(store, tmp_path / "out", plan, EngineOptions(), _silent)
    assert not (tmp_path / "out").exists()
    for wrong in ({"repeats": 0}, {"repeats": 11}, {"metrics": ()}, {"metrics": ("a", "a")}):
        with pytest.raises(UsageError, match="wrong"):
            replace(PLAN, **wrong)


def test_identical_images_rank_first_and_stay_finite() -> None:
    values = np.array([30.0, np.inf, 40.0, np.nan])
    found = finite_values(values, 1)
    assert np.isnan(found[3])
    assert 40 < found[1] < 41
    assert finite_values(np.array([1.0, np.inf]), -1).argmin() == 1
