"""Images of a format that is not read are named by everything that reads folders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.cli.main import main
from embodied_iqa.data.database.sources.photographs import FolderSource
from embodied_iqa.data.frames.any_frames import open_frames
from embodied_iqa.data.frames.image_folder import FolderFrames
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.quality.gate.stored_frames import CameraFrames

NOTE = "left out: 1 image of a format that is not read: clip.heic"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an image, one of another format, and what is no image."""
    write_image(tmp_path / "in/a.png", np.random.default_rng(0).integers(0, 256, (48, 64, 3), dtype=np.uint8))
    for name in ("clip.heic", "notes.txt", "tasks.csv", "README"):
        (tmp_path / "in" / name).touch()
    return tmp_path / "in"


def test_they_are_named_up_to_a_limit_and_other_files_are_not(folder: Path) -> None:
    (folder / "top").mkdir()
    for name in ("1.CR2", "2.gif", "3.gif", "4.gif", "5.gif"):
        (folder / "top" / name).touch()
    frames = FolderFrames(folder)
    named = "clip.heic, top/1.CR2, top/2.gif, top/3.gif, top/4.gif and 1 more"
    assert frames.note == f"left out: 6 images of a format that is not read: {named}"
    frames.leave_out(folder / "top")
    assert frames.note == NOTE
    assert not open_frames(folder / "a.png").note


def test_a_folder_of_nothing_else_says_so(folder: Path) -> None:
    (folder / "a.png").unlink()
    with pytest.raises(
        InputError, match=r"holds no images \(left out: 1 image .* not read: clip\.heic\); exp"
    ):
        open_frames(folder)


def test_an_rlds_data_set_is_called_one(tmp_path: Path) -> None:
    (tmp_path / "set" / "1.0.0").mkdir(parents=True)
    (tmp_path / "set" / "1.0.0" / "set-train.tfrecord-00000-of-00001").touch()
    (tmp_path / "set" / "1.0.0" / "dataset_info.json").touch()
    for path in (tmp_path / "set", tmp_path / "set" / "1.0.0"):
        with pytest.raises(InputError, match=r"is an RLDS data set, which is not read: convert it"):
            open_frames(path)


def test_gate_and_databases_name_them(folder: Path) -> None:
    assert CameraFrames(folder, ["top"], {}).note == NOTE
    assert FolderSource(folder, None, task="pick the cube").notes() == (NOTE,)


def test_commands_name_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics", "score", "psnr", str(folder), "--reference", str(folder)]) == 0
    assert f"note: {NOTE}" in capsys.readouterr().err.splitlines()
    assert main(["distort", str(folder), "--distortion", "1:1", "--out", str(folder.with_name("out"))]) == 0
    assert f"note: {NOTE}" in capsys.readouterr().err.splitlines()
