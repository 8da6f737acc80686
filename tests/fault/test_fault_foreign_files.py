"""Files as people bring them through the commands: no traceback, and nothing changes silently."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from embodied_iqa.base.errors import UserError
from embodied_iqa.base.resources import shared_file
from embodied_iqa.cli import rescoring_frames
from embodied_iqa.cli.main import main
from embodied_iqa.data.frames.any_frames import open_frames
from embodied_iqa.imaging.images.stored_images import StoredImage
from embodied_iqa.models.subjects.reference import parse_vlm
from foreign_files import TOPIC, ForeignFile, foreign_file
from lerobot_samples import TOP
from trial_recording import PixelVlm

GATE = shared_file("config/gate/simulated.yaml")
"""Knows no camera of this size: every image is read, and rejected."""
FEW, MANY = range(3), range(200)


def commands_of(file: ForeignFile, out: Path) -> list[list[str]]:
    """The commands that take such a file, with the topic that it has."""
    key = {"mcap": TOPIC, "sqlite": TOPIC, "data set": TOP}.get(file.kind, "")
    topic = ["--topic", f"top={key}"] if key else []
    view = topic or ["--view", "top"]
    path, task = str(file.path), ["--task", "open the drawer"]
    found = [
        ["distort", path, "--distortion", "10:3", "--workers", "1", "--out", str(out / "distorted")],
        ["gate", "calibrate", path, *view, "--out", str(out / "gate.yaml")],
        ["gate", "check", path, *view, "--calibration", str(GATE)],
        ["metrics", "score", "psnr", path, "--reference", path],
    ]
    if file.kind in {"png", "photographs"}:
        tasks = written_tasks(file.path, file.path / "tasks.yaml")
        words = ["--tasks", tasks, "--out", str(out / "db"), "--steps", "references", "--references", "1"]
        found.append(["build", "--from-folder", path, *words])
    else:
        judged = [*topic, *task, "--vlm", "pixel", "--distortion", "10:3", "--out", str(out / "rescored")]
        depth = ["--depth-out", str(out / "depth"), "--workers", "1", "--out", str(out / "deep")]
        built = [*topic, *task, "--out", str(out / "db"), "--steps", "references", "--references", "1"]
        found += [
            ["recording", "info", path],
            ["distort", path, "--distortion", "10:3", *depth],
            ["rescore", path, *judged],
            ["build", "--from-bag", path, *built],
            ["recording", "export", path, "--out", str(out / "exported")],
        ]
    if file.kind == "mcap":
        told = ["--task-topic", "/told", "--vlm", "pixel", "--distortion", "10:3", "--out", str(out / "told")]
        found += [["rescore", path, *topic, *told], ["recover", path]]
    return found


def written_tasks(photos: Path, file: Path) -> str:
    """Write a task for each photograph; return the file's name."""
    lines = ["format: embodied-iqa-tasks", "version: 1", "images:"]
    for photo in sorted(photos.iterdir()):
        lines += [
            f"- image: {photo.name}",
            "  view: top",
            "  tasks:",
            "  - {rank: 1, text: open the drawer}",
        ]
    file.write_text("\n".join(lines) + "\n")
    return str(file)


def check(seed: int, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return what is wrong."""
    file, out, faults = foreign_file(seed, folder / "file"), folder / "out", list[str]()
    out.mkdir()
    faults += changes_of(file)
    for words in commands_of(file, out):
        name = f"{seed} {file.kind}: {words[0]} {words[1] if words[0] in {'gate', 'metrics'} else ''}"
        try:
            code = main(words)
        except Exception as error:  # noqa: BLE001 - it is what the test looks for
            faults.append(f"{name} raises {type(error).__name__}: {error}")
            continue
        captured = capsys.readouterr()
        if code not in {0, 1, 2} or "Traceback" in captured.out + captured.err:
            faults.append(f"{name}: exit code {code}: {captured.err}")
        if code and not captured.err and not captured.out:
            faults.append(f"{name}: exit code {code} without a word")
    shutil.rmtree(folder / "file")
    shutil.rmtree(out)
    return faults


def changes_of(file: ForeignFile) -> list[str]:
    """Return images that are lost without a word, or of other pixels where the format notices it."""
    try:
        found = list(open_frames(file.path).images())
    except UserError:
        return [] if file.damaged else [f"{file.kind} is whole and refused"]
    stored = [one for one in found if isinstance(one, StoredImage)]
    known = {rgb.tobytes() for rgb in file.images or ()}
    try:
        shown = [one.rgb.tobytes() for one in stored] if file.images is not None else []
    except UserError:
        return [] if file.damaged else [f"{file.kind} is whole and unreadable"]
    faults = []
    if file.images is not None and (file.is_checked or not file.damaged):
        if any(pixels not in known for pixels in shown):
            faults.append(f"{file.kind}: other pixels")
        if len(found) < len(file.images):
            faults.append(f"{file.kind}: {len(file.images) - len(found)} images are lost without a word")
    if not file.damaged and len(stored) < len(found):
        faults.append(f"{file.kind} is whole and has unreadable images")
    return faults


@pytest.fixture(autouse=True)
def _pixel_vlm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        rescoring_frames, "parse_vlm", lambda _name: parse_vlm("openai:http://127.0.0.1:1/v1#m")
    )
    monkeypatch.setattr(rescoring_frames, "make_vlm", lambda _name, _options: PixelVlm())


@pytest.mark.parametrize("seed", FEW)
def test_a_foreign_file_is_read_or_refused_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int
) -> None:
    assert check(seed, tmp_path, capsys) == []


@pytest.mark.stress
@pytest.mark.parametrize("seed", MANY)
def test_many_foreign_files_are_read_or_refused_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int
) -> None:
    assert check(seed, tmp_path, capsys) == []
