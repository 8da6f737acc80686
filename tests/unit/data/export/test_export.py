"""Exports are read back by their readers: pandas, datasets, and pyiqa's rules."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from database_folders import write_database, write_experiment
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.resources import source_checkout
from embodied_iqa.base.tables import rows_of, table_of, write_table
from embodied_iqa.cli.main import main
from embodied_iqa.data.database.joined_runs import join_execution
from embodied_iqa.data.database.schema import PAIRS, REFERENCES, SCORES, Score
from embodied_iqa.data.database.splits import SPLIT_SEEDS, training_references
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.export import exporting
from embodied_iqa.data.export.exporting import ExportFormat, export_database
from embodied_iqa.data.export.hugging_face import card_head
from embodied_iqa.imaging.distortions.spec import DistortionSpec
from embodied_iqa.imaging.distortions.stream import FrameDistorter
from embodied_iqa.imaging.images.codecs import read_image
from embodied_iqa.models.subjects.catalogue import Role


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> DatabaseStore:
    folder = tmp_path_factory.mktemp("export")
    store = write_database(folder / "db", references=5, images=True)
    join_execution(store, [write_experiment(folder / "exp")])
    return store


def opinions(store: DatabaseStore, role: str, column: str) -> pd.DataFrame:
    scores = store.scores().to_pandas()
    rows = scores[scores["role"] == role]
    totals = rows.pivot_table(index="pair_id", columns="subject", values=column, aggfunc="sum")
    return pd.DataFrame({"mean": totals.mean(axis=1), "std": totals.std(axis=1, ddof=0)})


def test_984_of_1230_references_are_for_training() -> None:
    names = [f"r{n}" for n in range(1230)]
    drawn = [training_references(names, seed) for seed in SPLIT_SEEDS]
    assert {len(one) for one in drawn} == {984}
    assert len(set(drawn)) == 10
    assert training_references(reversed(names), 3) == drawn[3]
    for one in drawn:
        assert one < set(names)


def test_pyiqa_reads_meta_files_splits_and_images(store: DatabaseStore, tmp_path: Path) -> None:
    """As its BaseIQADataset does: pandas, columns named by `split_index`, paths under the two roots."""
    out = tmp_path / "out"
    assert main(["export", str(store.path), "--format", "pyiqa", "--out", str(out)]) == 0
    assert len(list(out.glob("meta_info_*.csv"))) == 2 * 10
    meta = pd.read_csv(out / "meta_info_rotation_fr.csv")
    pairs = store.pairs().to_pandas().set_index("pair_id")
    expected = opinions(store, "vla", "rotation")
    assert len(meta) == len(expected)
    seen = {}
    for ref_name, dist_name, mos, std in meta.iloc[:, :4].itertuples(index=False):
        image = (out / "images" / "pairs" / dist_name).read_bytes()
        seen[hashlib.sha256(image).hexdigest()] = mos, std, ref_name
        assert (out / "images" / "references" / ref_name).is_file()
    for pair_id, row in pairs.iterrows():
        mos, std, _ = seen[hashlib.sha256((store.path / row["image"]).read_bytes()).hexdigest()]
        assert (mos, std) == pytest.approx((expected["mean"][pair_id], expected["std"][pair_id]))
    for seed in SPLIT_SEEDS:
        column = meta[f"split_seed{seed}"]
        assert set(column) == {"train", "val"}
        assert meta.assign(side=column).groupby("ref_name")["side"].nunique().max() == 1
        assert meta["ref_name"][column == "train"].nunique() == 4
    bare = pd.read_csv(out / "meta_info_rotation_nr.csv")
    pd.testing.assert_frame_equal(bare, meta.drop(columns="ref_name"))


def test_pyiqa_has_files_of_scored_targets_only(store: DatabaseStore, tmp_path: Path) -> None:
    copy, out = DatabaseStore(tmp_path / "db"), tmp_path / "out"
    shutil.copytree(store.path, copy.path)
    unknown = dict.fromkeys(("position", "rotation", "state", "score", "refused"))
    rows = [
        row if row.role is Role.VLM else replace(row, **unknown) for row in rows_of(Score, store.scores())
    ]
    write_table(copy.scores_file, table_of(Score, rows), SCORES)
    assert main(["export", str(copy.path), "--format", "pyiqa", "--out", str(out)]) == 0
    targets = {"cognition", "precision", "recall", "semantics"}
    files = {f"meta_info_{name}_{kind}.csv" for name in targets for kind in ("fr", "nr")}
    assert {file.name for file in out.glob("meta_info_*.csv")} == files
    readme = (out / "README.md").read_text(encoding="utf-8")
    options = yaml.safe_load(readme.partition("```yaml\n")[2].partition("```")[0])
    assert options["meta_info_file"] == "meta_info_cognition_fr.csv"
    assert "Targets: `cognition`, `precision`, `recall`, `semantics`.\nA target without" in readme


def test_hugging_face_datasets_loads_the_folder_offline(
    store: DatabaseStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    import datasets

    out = tmp_path / "out"
    assert main(["export", str(store.path), "--format", "hf", "--out", str(out)]) == 0
    datasets.disable_progress_bars()
    cache = str(tmp_path / "cache")
    pairs = datasets.load_dataset(str(out), split="train", cache_dir=cache)
    expected = opinions(store, "vlm", "score")
    assert len(pairs) == len(expected)
    assert isinstance(pairs.features["image"], datasets.Image)
    rows = store.pairs().to_pandas().set_index("pair_id")
    for row in pairs.select(range(0, len(pairs), 37)):
        assert row["cognition_mean"] == pytest.approx(expected["mean"][row["pair_id"]])
        np.testing.assert_array_equal(
            np.asarray(row["image"]), read_image(store.path / rows.loc[row["pair_id"], "image"])
        )
    card = (out / "README.md").read_text(encoding="utf-8")
    example = card.partition("```python\n")[2].partition("```")[0].replace("this/folder", str(out))
    made: dict[str, datasets.Dataset] = {}
    with monkeypatch.context() as patch:
        patch.setattr(datasets.Image, "decode_example", _refused)
        exec(example.replace('split="train"', f'split="train", cache_dir={cache!r}'), made)
    assert len(made["training"]) == 4 * 30
    for name, table in (
        ("references", store.references()),
        ("tasks", store.tasks()),
        ("scores", store.scores()),
    ):
        assert len(datasets.load_dataset(str(out), name, split="train", cache_dir=cache)) == table.num_rows
    assert datasets.get_dataset_config_names(str(out)) == ["pairs", "references", "tasks", "scores"]


def _refused(*_: object, **__: object) -> None:
    raise AssertionError("an image is decoded")


def test_the_card_says_what_the_set_is_and_how_it_was_made(store: DatabaseStore, tmp_path: Path) -> None:
    assert main(["export", str(store.path), "--format", "hf", "--out", str(tmp_path / "out")]) == 0
    _, head, card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    known = yaml.safe_load(head)
    assert (known["pretty_name"], known["size_categories"]) == (store.path.name, ["n<1K"])
    assert "language" not in known, "somebody wrote the tasks of photographs"
    pairs, references = len(store.pairs()), len(store.references())
    assert (
        f"{pairs} distorted images of {references} references (simulated scenes and photographs), scored by "
        in card
    )
    assert all(f"`{subject.name}`" in card for subject in store.record().subjects)
    assert "| types of distortion | 30 |" in card


@pytest.mark.parametrize(
    ("pairs", "category"), [(999, "n<1K"), (1000, "1K<n<10K"), (36_900, "10K<n<100K"), (10**8, "n>10M")]
)
def test_the_card_has_the_category_of_its_size_and_no_language_that_nobody_named(
    pairs: int, category: str
) -> None:
    head = yaml.safe_load("\n".join(card_head("mit", "a: b", pairs, None)[1:-2]))
    assert (head["size_categories"], head["pretty_name"]) == ([category], "a: b")
    assert "language" not in head
    assert "language:\n- en\n" in "\n".join(card_head("mit", "a", pairs, "en"))


def test_the_card_explains_every_column_of_a_pair(store: DatabaseStore, tmp_path: Path) -> None:
    assert main(["export", str(store.path), "--format", "hf", "--out", str(tmp_path / "out")]) == 0
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    (file,) = (tmp_path / "out" / "pairs").glob("*.parquet")
    targets = re.compile(
        r"^(cognition|precision|recall|semantics|decision|position|rotation|state|wrong_motion|refusal)_"
    )
    names = [re.sub(r"^split_seed[1-8]$", "split_seed9", name) for name in pq.read_schema(file).names]
    unknown = [
        name
        for name in names
        if f"`{name}`" not in card and f"`{targets.sub('<target>_', name)}`" not in card
    ]
    assert unknown == []


def test_the_card_of_photographs_counts_scores_and_names_the_software(tmp_path: Path) -> None:
    store = write_database(tmp_path / "db", references=3, images=True)
    real = store.references()
    real = real.set_column(real.schema.get_field_index("real"), "real", pa.array([True] * real.num_rows))
    sources = pa.array(["dataset"] * real.num_rows)
    real = real.set_column(real.schema.get_field_index("source"), REFERENCES.field("source"), sources)
    write_table(store.references_file, real, REFERENCES)
    unasked = [
        row | {"score": None} if row["role"] == "vla" or row["subject"] == "vlm-1" else row
        for row in store.scores().to_pylist()
    ]
    write_table(store.scores_file, pa.Table.from_pylist(unasked, schema=SCORES), SCORES)
    out = tmp_path / "out"
    assert main(["export", str(store.path), "--format", "hf", "--out", str(out)]) == 0
    card = (out / "README.md").read_text(encoding="utf-8")
    assert "| side | 1 | 2 of 3 | 0 of 3 |\n" in card
    assert "\n\nDecision: no scores.\n" in card
    assert "Cognition: no scores" not in card
    assert "3 references (frames of a LeRobot data set), scored by" in card
    assert "hotographs" not in card
    assert "Images of cameras may show" in card
    assert "images count as `origin` real, and as of the view\nthat the build" in card
    assert "plain surfaces" not in card
    citation = yaml.safe_load(((source_checkout() or Path()) / "CITATION.cff").read_text(encoding="utf-8"))
    assert f"*{citation['title']}*, version {citation['version']}" in card
    assert "arXiv 2505.16815" in card


def test_csv_is_read_back_by_pandas(
    store: DatabaseStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    words = ["--format", "csv", "--out", str(out), "--licence", "cc-by-4.0", "--json"]
    assert main(["export", str(store.path), *words]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {"export": str(out), "format": "csv", "files": sorted(file.name for file in out.iterdir())}
    assert {"scores.csv", "README.md"} < set(said["files"])
    scores = pd.read_csv(out / "scores.csv", dtype={"distortion_id": str})
    scores["refused"] = scores["refused"].astype(object).where(scores["refused"].notna(), None)
    pd.testing.assert_frame_equal(scores, store.scores().to_pandas(), check_dtype=False)
    table = pd.read_csv(out / "opinions.csv").set_index("pair_id")
    expected = opinions(store, "vla", "score")
    np.testing.assert_allclose(table["decision_mean"], expected["mean"])
    np.testing.assert_allclose(table["decision_std"], expected["std"])
    references = pd.read_csv(out / "references.csv")
    assert json.loads(references["T_base_tool"][0]) == np.eye(4).ravel().tolist()
    assert len(pd.read_csv(out / "execution.csv")) == 31 * 6
    readme = (out / "README.md").read_text(encoding="utf-8")
    assert "cc-by-4.0" in readme
    assert "column `image` has their paths" in readme
    assert "image" in set(references) & set(pd.read_csv(out / "pairs.csv"))
    assert "References that no simulator drew" in (out / "LICENSE.txt").read_text(encoding="utf-8")
    assert json.loads((out / "dataset.json").read_text()) == json.loads(store.record_file.read_text())


def test_mean_opinions_are_of_subjects_that_are_at_home(tmp_path: Path) -> None:
    store = write_database(tmp_path / "db", homes={"vlm-0": "top", "vlm-1": "wrist", "vlm-2": "wrist"})
    for name, words in (("own", []), ("every", ["--all-views"])):
        out = str(tmp_path / name)
        assert main(["export", str(store.path), "--format", "csv", "--out", out, *words]) == 0
    own, every = (
        pd.read_csv(tmp_path / name / "opinions.csv", index_col="pair_id") for name in ("own", "every")
    )
    subjects = own.groupby("view")["cognition_subjects"].unique().apply(list).to_dict()
    assert subjects == {"side": [0], "top": [1], "wrist": [2]}
    assert own["cognition_mean"].isna().sum() == 60
    assert set(every["cognition_subjects"]) == set(every["decision_subjects"]) == {3}
    pd.testing.assert_series_equal(own["decision_mean"], every["decision_mean"])
    readme = (tmp_path / "own" / "README.md").read_text(encoding="utf-8")
    assert "| side | 2 | 0 of 3 | 3 of 3 |" in readme
    assert "also those that are made for another" in (tmp_path / "every" / "README.md").read_text()


def seeded(path: Path) -> DatabaseStore:
    """A database whose distorted images are not stored."""
    store = write_database(path, references=2, images=True)
    references = {row["reference_id"]: row for row in store.references().to_pylist()}
    rows = []
    for pair in store.pairs().to_pylist():
        (store.path / pair["image"]).unlink()
        reference = references[pair["reference_id"]]
        spec = DistortionSpec(pair["distortion_id"], pair["level"], pair["seed"])
        rgb = read_image(store.path / reference["image"])
        made = FrameDistorter(spec).apply(rgb, reference["view"], reference["stamp_ns"] or 0)
        rows.append(pair | {"image": None, "sha256": hashlib.sha256(made.tobytes()).hexdigest()})
    write_table(store.pairs_file, pa.Table.from_pylist(rows, schema=PAIRS), PAIRS)
    return store


def test_images_are_made_again_from_their_seeds(tmp_path: Path) -> None:
    store = seeded(tmp_path / "db")
    export_database(store, tmp_path / "out", ExportFormat.PYIQA)
    files = sorted((tmp_path / "out" / "images" / "pairs").iterdir())
    assert len(files) == 60
    hashes = {hashlib.sha256(read_image(file).tobytes()).hexdigest() for file in files}
    assert hashes == {row["sha256"] for row in store.pairs().to_pylist()}


@pytest.mark.parametrize("form", [ExportFormat.PYIQA, ExportFormat.HUGGING_FACE])
def test_another_image_than_the_scored_one_ends_the_export_without_a_trace(
    tmp_path: Path, form: ExportFormat
) -> None:
    store = seeded(tmp_path / "db")
    row = store.references().to_pylist()[1]
    cv2.imwrite(str(store.path / row["image"]), np.zeros((24, 32, 3), np.uint8))
    with pytest.raises(InputError, match="not the one that was scored"):
        export_database(store, tmp_path / "out", form)
    (store.path / row["image"]).unlink()
    with pytest.raises(InputError, match="cannot be read"):
        export_database(store, tmp_path / "out", form)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["db"]


def test_a_full_disk_leaves_nothing(
    store: DatabaseStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.write_text

    def full(path: Path, *words: object, **more: object) -> int:
        if path.name == "LICENSE.txt":
            raise OSError(28, "No space left on device")
        return real(path, *words, **more)

    monkeypatch.setattr(exporting.Path, "write_text", full)
    with pytest.raises(InputError, match="No space left"):
        export_database(store, tmp_path / "out", ExportFormat.CSV)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_something_in_it_and_odd_licences_are_refused(
    store: DatabaseStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    words = ["export", str(store.path), "--format", "csv", "--out", str(tmp_path)]
    assert main(words) == 1
    assert "is not empty" in capsys.readouterr().err
    assert main([*words[:-1], str(tmp_path / "mine.txt")]) == 1
    assert "mine.txt is a file; expected a new or empty folder" in capsys.readouterr().err
    assert main([*words, "--licence", "a: b"]) == 2
    assert main(["export", str(tmp_path), "--format", "csv", "--out", str(tmp_path / "x")]) == 1


def test_drawn_images_alone_have_the_licence_of_what_drew_them(tmp_path: Path) -> None:
    store = write_database(tmp_path / "db", references=3)
    table = store.references()
    drawn = pa.array([False] * table.num_rows)
    table = table.set_column(table.schema.get_field_index("real"), REFERENCES.field("real"), drawn)
    write_table(store.references_file, table, REFERENCES)
    export_database(store, tmp_path / "out", ExportFormat.CSV)
    text = (tmp_path / "out" / "LICENSE.txt").read_text()
    assert "apache-2.0" in text
    assert "no simulator" not in text
