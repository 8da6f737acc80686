"""Import of the published layout."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.cli.main import main
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.suites.miqa.building.published_layout import import_labels
from embodied_iqa.suites.miqa.database import MiqaDatabase
from embodied_iqa.suites.miqa.names import all_names
from embodied_iqa.suites.miqa.rows import Part

CLS, DET, INS = VisionTask
REFERENCES = ("n01_a", "n01_b", "n02_c", "n03_d", "n04_e")


def write_csv(file: Path, columns: list[str], rows: list[list[object]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="") as stream:
        csv.writer(stream).writerows([columns, *rows])


def label(reference: str, index: int, shift: int) -> float:
    return round((REFERENCES.index(reference) * 31 + index * 7 + shift) % 101 / 101, 6)


def published(root: Path, task: VisionTask, *, images: int = 12) -> Path:
    """Make a folder of the published layout; images are 20 x 24 px."""
    folder = root / f"miqa_{task}"
    rng = np.random.default_rng(0)
    for reference in REFERENCES:
        names = all_names(reference)[:images]
        if task is not INS:
            suffix = "JPEG" if task is CLS else "jpg"
            source = folder / "src_images" / f"{reference}.{suffix}"
            write_image(source.with_suffix(".jpg"), rng.integers(0, 256, (20, 24, 3), np.uint8))
            source.with_suffix(".jpg").rename(source)
            for name in names:
                write_image(folder / "images" / name.path, rng.integers(0, 256, (20, 24, 3), np.uint8))
        if task is CLS:
            rows = [
                [name.path, label(reference, at, 1), label(reference, at, 0), 0.5, 0.1, 0.4, 0.2]
                for at, name in enumerate(names)
            ]
            columns = ["dist_images", "weighted_consistency", "weighted_accuracy", "mean_consistency"]
            columns += ["std_consistency", "mean_accuracy", "std_accuracy"]
            write_csv(folder / "labels" / f"{reference}_mmos.csv", columns, rows)
            continue
        for shift, kind in enumerate(("accuracy", "consistency")):
            rows = [[name.file, label(reference, at, shift), "x"] for at, name in enumerate(names)]
            rng.shuffle(rows)
            write_csv(
                folder / "labels" / f"{reference}_{kind}.csv", ["filename", "AP_weighted_avg", "more"], rows
            )
    return folder


@pytest.mark.parametrize("task", VisionTask)
def test_shuffled_files_are_joined_by_name(tmp_path: Path, task: VisionTask) -> None:
    if task is INS:
        published(tmp_path, DET)
    folder = published(tmp_path, task)
    summary = import_labels(folder, task, tmp_path / "out")
    assert summary.manifest.missing == summary.missing_images == summary.unpaired == 0
    database = MiqaDatabase(tmp_path / "out")
    rows = database.rows(task)
    assert len(rows) == 5 * 12
    for row in rows:
        at = [name.path for name in all_names(row.reference)].index(row.image)
        accuracy, consistency = label(row.reference, at, 0), label(row.reference, at, 1)
        assert (row.weighted_accuracy, row.weighted_consistency) == (accuracy, consistency)
        assert row.composite == pytest.approx((accuracy + consistency) / 2)
    assert (rows[0].mean_accuracy, rows[0].std_consistency) == ((0.4, 0.1) if task is CLS else (None, None))
    (pair,) = database.images(task).read([rows[7].image])
    assert pair.distorted.shape == pair.reference.shape == (20, 24, 3)
    with pytest.raises(InputError, match="no values of single models"):
        database.values(task)


def test_all_250_names_are_read(tmp_path: Path) -> None:
    published(tmp_path, DET, images=1)
    rows = [[name.file, 0.5] for name in all_names("n01_a")]
    folder = tmp_path / "miqa_det"
    for kind in ("accuracy", "consistency"):
        write_csv(folder / "labels" / f"n01_a_{kind}.csv", ["filename", "AP_weighted_avg"], rows)
    for name in all_names("n01_a"):
        (folder / "images" / name.path).touch()
    import_labels(folder, DET, tmp_path / "out")
    found = [row for row in MiqaDatabase(tmp_path / "out").rows(DET) if row.reference == "n01_a"]
    levels = {(row.kind, row.roi_level, row.background_level, row.mode) for row in found}
    assert len(levels) == 250
    assert all(mode == name.mode for name in all_names("x") for kind, inside, outside, mode in levels
               if (kind, inside, outside) == (name.kind, name.inside, name.outside))  # fmt: skip


def test_what_is_missing_is_counted(tmp_path: Path) -> None:
    folder = published(tmp_path, DET)
    names = all_names("n01_a")
    (folder / "images" / names[0].path).unlink()
    (folder / "images" / names[3].path).unlink()
    (folder / "src_images" / "n02_c.jpg").unlink()
    file = folder / "labels" / "n03_d_consistency.csv"
    file.write_text("\n".join(file.read_text().splitlines()[:-1]) + "\n")
    summary = import_labels(folder, DET, tmp_path / "out")
    assert (summary.missing_images, summary.missing_sources, summary.unpaired) == (2, 1, 1)
    assert summary.without_mask == 4
    assert summary.manifest.missing == 2 + 12
    assert set(summary.examples) == {"n02_c", names[0].path, names[3].path}
    assert len(MiqaDatabase(tmp_path / "out").rows(DET)) == 60 - 2 - 12 - 1


def test_the_command_counts_what_is_missing_and_refuses_a_second_import(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = published(tmp_path, DET)
    gone = all_names("n01_a")[0].path
    (folder / "images" / gone).unlink()
    words = ["miqa", "import", str(folder), "--vision-task", "det", "--out", str(tmp_path / "out")]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "59 labels of det, 5 references" in shown
    assert "labelled images without a file, left out: 1" in shown
    assert f"missing, such as: {gone}" in shown
    assert "split: drawn with seed 0" in shown
    for change, code, line in (
        ([], 1, "has labels; expected a database without this task"),
        (["--vision-task", "cls"], 1, "has no labels; expected files *_mmos.csv"),
        (["--vision-task", "depth"], 2, "argument --vision-task: invalid choice; got 'depth'"),
    ):
        assert main([*words, *change]) == code
        (error,) = capsys.readouterr().err.strip().splitlines()
        assert line in error
    assert main(["miqa", "import", str(tmp_path / "none"), *words[3:]]) == 2
    assert "is not a folder" in capsys.readouterr().err
    assert len(MiqaDatabase(tmp_path / "out").rows(DET)) == 59


def test_the_published_split_is_used(tmp_path: Path) -> None:
    folder = published(tmp_path, CLS)
    write_csv(folder / "splits" / "cls_train.csv", ["Image Name", "Category"],
              [[f"{name}.JPEG", name[:3]] for name in REFERENCES[:4]])  # fmt: skip
    write_csv(folder / "splits" / "cls_val.csv", ["Image Name", "Category"], [["n04_e.JPEG", "n04"]])
    assert import_labels(folder, CLS, tmp_path / "out").published_split
    sides = {(row.reference, row.part, row.category) for row in MiqaDatabase(tmp_path / "out").rows(CLS)}
    assert ("n04_e", Part.VALIDATION, "n04") in sides
    assert ("n02_c", Part.TRAIN, "n02") in sides
    write_csv(folder / "splits" / "cls_val.csv", ["Image Name"], [["n04_e.JPEG"], ["n01_a.JPEG"]])
    with pytest.raises(InputError, match="both sides"):
        import_labels(folder, CLS, tmp_path / "again")


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("../../../etc/passwd", 0.5, "not the name of a distorted image"),
        ("n01_a/../n01_b_fog_1.png", 0.5, "not the name of a distorted image"),
        ("n01_a_fog_9.png", 0.5, "not the name of a distorted image"),
        ("n01_a_gaussian_noise_1.png", "nan", "not a number"),
        ("n01_a_gaussian_noise_1.png", 1.5, r"outside of \[0, 1\]"),
        ("n01_a_gaussian_noise_1.png", "", "not a number"),
    ],
)
def test_a_damaged_label_is_one_line_with_its_file(
    tmp_path: Path, name: str, value: object, reason: str
) -> None:
    folder = published(tmp_path, DET)
    for kind in ("accuracy", "consistency"):
        write_csv(folder / "labels" / f"n01_a_{kind}.csv", ["filename", "AP_weighted_avg"], [[name, value]])
    with pytest.raises(InputError, match=f"n01_a_.*{reason}") as error:
        import_labels(folder, DET, tmp_path / "out")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()


def test_other_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no labels"):
        import_labels(tmp_path, CLS, tmp_path / "out")
    folder = published(tmp_path, CLS)
    (folder / "images").rename(folder / "elsewhere")
    with pytest.raises(InputError, match="none of the 60 labelled images"):
        import_labels(folder, CLS, tmp_path / "out")
    (folder / "elsewhere").rename(folder / "images")
    import_labels(folder, CLS, tmp_path / "out")
    with pytest.raises(InputError, match="has labels"):
        import_labels(folder, CLS, tmp_path / "out")
