"""Build of machine-vision labels: known models, interruptions, faults."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.user_files.json_files import load_json
from embodied_iqa.cli.main import main
from embodied_iqa.models.vision.predictions import Classification, Instances, Prediction, VisionTask
from embodied_iqa.models.vision.reference import CheckedModel
from embodied_iqa.suites.miqa.building import label_reference, models
from embodied_iqa.suites.miqa.database import MiqaDatabase
from embodied_iqa.suites.miqa.manifest import WeightSource
from embodied_iqa.suites.miqa.stability import stability_of
from miqa_fakes import Fake, Rule, Squares, bright, build, nothing, oracle, plan, right, seen, tree, wrong

CLS, DET, INS = VisionTask
Use: TypeAlias = Callable[..., tuple[Fake, ...]]


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Iterator[Use]:
    """Makes some fakes the models of every plan."""

    def install(*fakes: Fake) -> tuple[Fake, ...]:
        checked = tuple(map(CheckedModel, fakes))
        monkeypatch.setattr(models, "_loaded", lambda _: checked)
        models.models_of.cache_clear()
        return fakes

    yield install
    models.models_of.cache_clear()


def test_an_oracle_has_accuracy_1_and_consistency_1(tmp_path: Path, use: Use) -> None:
    use(Fake("a", CLS, right), Fake("b", DET, oracle), Fake("c", INS, oracle))
    database = build(tmp_path, plan(CLS, DET, INS))
    for task in VisionTask:
        rows = database.rows(task)
        assert len(rows) == 40
        assert {(row.weighted_accuracy, row.weighted_consistency, row.composite) for row in rows} == {
            (1, 1, 1)
        }


def test_a_constant_wrong_model_is_consistent_and_never_right(tmp_path: Path, use: Use) -> None:
    use(Fake("a", CLS, wrong), Fake("b", DET, nothing), Fake("c", INS, nothing))
    database = build(tmp_path, plan(CLS, DET, INS))
    for task in VisionTask:
        rows = database.rows(task)
        assert {(row.weighted_accuracy, row.weighted_consistency) for row in rows} == {(0, 1)}


def test_labels_are_those_computed_by_hand(tmp_path: Path, use: Use) -> None:
    """Weights 0.6 and 0.2 become 3/4 and 1/4; the second model is always wrong and consistent."""
    use(Fake("a", CLS, bright, 0.6), Fake("b", CLS, wrong, 0.2))
    database = build(tmp_path, plan(CLS, share=0.4))
    assert [model.weight for model in database.manifest(CLS).models] == pytest.approx([0.75, 0.25])
    assert database.manifest(CLS).weights_from is WeightSource.CARD
    images = database.images(CLS)
    rows = database.rows(CLS)
    hit = [bright(pair.distorted).label == "cube" for pair in images.read([row.image for row in rows])]
    assert 10 < sum(hit) < len(hit) - 10
    for row, is_hit in zip(rows, hit, strict=True):
        assert row.weighted_accuracy == pytest.approx(0.75 * is_hit)
        assert row.weighted_consistency == pytest.approx(0.75 * is_hit + 0.25)
        assert row.composite == pytest.approx(0.75 * is_hit + 0.125)
        assert (row.mean_accuracy, row.std_accuracy) == (0.5 * is_hit, 0.5 * is_hit)
        assert (row.mean_consistency, row.std_consistency) == (0.5 + 0.5 * is_hit, 0.5 - 0.5 * is_hit)


def test_the_clean_image_has_consistency_1(tmp_path: Path, use: Use) -> None:
    use(Fake("a", DET, seen), Fake("b", DET, oracle))
    database = build(tmp_path, plan(DET))
    for name in Squares().names:
        clean = label_reference_values(database, name)[0]
        assert clean.image == name
        assert clean.consistency == (1.0, 1.0)


def label_reference_values(database: MiqaDatabase, reference: str):
    from embodied_iqa.suites.miqa.database import read_values
    from embodied_iqa.suites.miqa.layout import TaskFolder

    return read_values(TaskFolder(database.path, DET), reference)


def test_without_a_card_weights_come_from_the_clean_references(tmp_path: Path, use: Use) -> None:
    use(Fake("a", CLS, right, None), Fake("b", CLS, wrong, 0.9))
    manifest = build(tmp_path, plan(CLS)).manifest(CLS)
    assert manifest.weights_from is WeightSource.CLEAN
    assert [(model.performance, model.weight) for model in manifest.models] == [(1.0, 1.0), (0.0, 0.0)]


def test_models_that_are_never_right_give_no_weights(tmp_path: Path, use: Use) -> None:
    """That is known from the clean images, before one is distorted."""
    (fake,) = use(Fake("a", CLS, wrong, None))
    said = "no model for cls is right on any of the 2 clean images: none has a weight; expected more --models"
    with pytest.raises(InputError, match=said):
        build(tmp_path, plan(CLS))
    assert fake.batches == [1, 1]


def test_an_interrupted_build_continues_to_the_same_bytes(
    tmp_path: Path, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(Fake("a", CLS, bright), Fake("b", DET, seen), Fake("c", INS, seen))
    wanted = plan(CLS, DET, INS)
    build(tmp_path / "whole", wanted)

    written = label_reference.write_table
    left = [4]

    def killed(*arguments: object) -> None:
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        written(*arguments)

    monkeypatch.setattr(label_reference, "write_table", killed)
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path / "killed", wanted)
    assert not list((tmp_path / "killed").rglob("manifest.json"))
    monkeypatch.undo()
    use(Fake("a", CLS, bright), Fake("b", DET, seen), Fake("c", INS, seen))
    Squares.read_count.clear()
    build(tmp_path / "killed", wanted)
    assert Squares.read_count == [1]
    assert tree(tmp_path / "killed") == tree(tmp_path / "whole")


def test_a_finished_build_asks_no_model(tmp_path: Path, use: Use) -> None:
    use(Fake("a", CLS, bright))
    build(tmp_path, plan(CLS))
    before = tree(tmp_path)
    (model,) = use(Fake("a", CLS, bright))
    build(tmp_path, plan(CLS))
    assert not model.batches
    assert tree(tmp_path) == before


@pytest.mark.parametrize("task", VisionTask)
def test_a_build_of_fewer_references_has_no_labels_of_the_others(
    task: VisionTask, tmp_path: Path, use: Use
) -> None:
    use(Fake("a", CLS, bright), Fake("b", DET, seen), Fake("c", INS, seen))
    two = tree(build(tmp_path / "db", plan(task)).path)
    database = build(tmp_path / "db", replace(plan(task), references=1))
    assert {row.reference for row in database.rows(task)} == {"square_0"}
    labels = {file.name for file in (tmp_path / "db" / f"miqa_{task}" / "labels").iterdir()}
    assert labels
    assert all(name.startswith("square_0_") for name in labels)
    assert tree(build(tmp_path / "db", plan(task)).path) == two, "its measures were kept"


def test_another_plan_is_refused(tmp_path: Path, use: Use) -> None:
    use(Fake("a", CLS, bright))
    build(tmp_path, plan(CLS))
    with pytest.raises(UsageError, match="another plan: seed is 0 there, 1 asked"):
        build(tmp_path, plan(CLS, seed=1))
    other = tmp_path / "other"
    other.mkdir()
    (other / "photo.png").touch()
    with pytest.raises(InputError, match="holds no label build"):
        build(other, plan(CLS))


def test_a_build_whose_first_reference_cannot_be_read_does_not_refuse_the_corrected_command(
    tmp_path: Path, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(Fake("a", CLS, bright))
    with monkeypatch.context() as patch:
        patch.setattr(Squares, "description", "squares of nowhere")
        patch.setattr(Squares, "read", lambda *_: (_ for _ in ()).throw(InputError("cannot be read")))
        with pytest.raises(InputError, match="cannot be read"):
            build(tmp_path, plan(CLS))
    assert build(tmp_path, plan(CLS)).rows(CLS)


def test_models_that_know_no_category_are_refused_and_missing_ones_are_named(
    tmp_path: Path, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(Fake("a", CLS, bright))
    monkeypatch.setattr(Squares, "categories", lambda *_: frozenset({"disc", "box"}))
    with pytest.raises(UsageError, match=r"no model for cls knows .* squares; .* box, disc; got 'ball, c"):
        build(tmp_path / "new", plan(CLS))
    assert not (tmp_path / "new").exists()
    monkeypatch.setattr(Squares, "categories", lambda *_: frozenset({"disc", "cube"}))
    assert models.unknown_categories(("fakes",), (CLS,), Squares()) == (
        "a (cls) has no class disc: it can only be wrong there",
    )


def broken(_: np.ndarray) -> Prediction:
    raise RuntimeError("no such operator\nmore")


def nan_box(_: np.ndarray) -> Prediction:
    return Instances(("cube",), np.ones(1), np.array([[0.0, np.nan, 1.0, 2.0]]))


def of_another_task(_: np.ndarray) -> Prediction:
    return Classification("cube")


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (broken, "no such operator"),
        (nan_box, "finite"),
        (of_another_task, "expected Instances"),
    ],
)
def test_a_failing_model_is_named_with_the_image(tmp_path: Path, use: Use, rule: Rule, reason: str) -> None:
    clean = Squares().read(1).whole.rgb
    calls: list[int] = []

    def fails_late(image: np.ndarray) -> Prediction:
        calls.append(1)
        return rule(image) if len(calls) > 25 and not np.array_equal(image, clean) else oracle(image)

    use(Fake("the model", DET, fails_late))
    with pytest.raises(InputError, match=f"image square_1/square_1_.*the model.*{reason}") as error:
        build(tmp_path, plan(DET))
    assert "\n" not in str(error.value)
    assert [file.stem for file in (tmp_path / "miqa_det" / "values").iterdir()] == ["square_0"]
    assert not (tmp_path / "miqa_det" / "manifest.json").exists()
    use(Fake("the model", DET, oracle))
    assert len(build(tmp_path, plan(DET)).rows(DET)) == 40


def test_a_full_disk_leaves_nothing_half_written(
    tmp_path: Path, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(Fake("a", DET, seen))

    def full(_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("embodied_iqa.base.files.os.fsync", full)
    with pytest.raises(InputError, match="No space left on device"):
        build(tmp_path / "db", plan(DET))
    monkeypatch.undo()
    assert not [file for file in (tmp_path / "db").rglob("*") if "part" in file.suffix]
    use(Fake("a", DET, seen))
    assert len(build(tmp_path / "db", plan(DET)).rows(DET)) == 40


def test_kept_images_are_those_of_the_seeds(tmp_path: Path, use: Use) -> None:
    use(Fake("a", DET, seen))
    kept, again = (build(tmp_path / str(keep), plan(DET, keep_images=keep)) for keep in (True, False))
    names = [row.image for row in kept.rows(DET)]
    assert len(list((tmp_path / "True" / "miqa_det" / "images").rglob("*.png"))) == len(names)
    pairs = zip(kept.images(DET).read(names), again.images(DET).read(names), strict=True)
    assert all(np.array_equal(one.distorted, other.distorted) for one, other in pairs)


def test_the_truth_is_coco(tmp_path: Path, use: Use) -> None:
    use(Fake("a", DET, seen))
    build(tmp_path, plan(DET))
    coco = load_json(tmp_path / "miqa_det" / "additional_info" / "instances.json", "truth")
    assert [image["file_name"] for image in coco["images"]] == ["square_0.png", "square_1.png"]
    (first, _) = coco["annotations"]
    assert (first["bbox"], first["area"], first["iscrowd"]) == ([12.0, 10.0, 28.0, 24.0], 672, 0)
    assert sum(first["segmentation"]["counts"]) == 48 * 64


def test_stability_is_computed_from_what_is_stored(tmp_path: Path, use: Use) -> None:
    use(*(Fake(f"m{index}", DET, seen) for index in range(5)))
    database = build(tmp_path, plan(DET))
    shutil.rmtree(tmp_path / "miqa_det" / "src_images")
    found = stability_of(DET, database.values(DET), trials=10)
    assert all(row.srcc.mean == pytest.approx(1) and row.rmse.mean == pytest.approx(0) for row in found.rows)


def test_the_command_shows_the_stability_of_what_was_built_beside_the_published_one(
    tmp_path: Path, use: Use, capsys: pytest.CaptureFixture[str]
) -> None:
    use(*(Fake(f"m{index}", DET, seen) for index in range(5)))
    database = build(tmp_path / "db", plan(DET))
    words = ["miqa", "stability", str(database.path), "--trials", "10"]
    assert main([*words, "--json"]) == 0
    (task,) = json.loads(capsys.readouterr().out)
    assert (task["task"], task["trials"], task["models"], task["small"], task["distinct"]) == (
        "det", 10, 5, 1, 5,
    )  # fmt: skip
    assert [row["srcc"]["mean"] for row in task["rows"]] == pytest.approx([1, 1, 1])
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "0.942" in text, "published consistency"
    assert "10 splits of 5 models (4 and 1; 5 different ones exist), 40 images" in text
    assert main(["report", str(database.path), "--markdown", str(tmp_path / "page.md")]) == 0
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "| det | consistency | 1.000 (0.000) |" in page
    assert "| 0.942 |" in page, "published consistency"

    manifest = load_json(database.path / "miqa_det" / "manifest.json", "it")
    imported = tmp_path / "db" / "miqa_ins" / "manifest.json"
    imported.parent.mkdir()
    imported.write_text(json.dumps({**manifest, "task": "ins", "images": "imported", "models": []}))
    assert main(words) == 0, "labels without models beside it"
    capsys.readouterr()
    assert main([*words, "--vision-task", "ins"]) == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "no values of single models; expected labels of `miqa build`" in line


def test_a_task_without_a_model_is_refused(tmp_path: Path, use: Use) -> None:
    use(Fake("a", DET, seen))
    with pytest.raises(UsageError, match="no model for cls"):
        build(tmp_path / "fresh", plan(CLS))
    assert not (tmp_path / "fresh").exists()
