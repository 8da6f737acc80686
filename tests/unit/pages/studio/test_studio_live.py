"""A run that is being recorded: its pages, what they gain, how they end, and that nothing is written."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.pages.studio.watch import live
from embodied_iqa.pages.studio.watch.recordings import OpenRun
from recorder_process import recorder_process
from studio_client import client_of
from trial_recording import PERIOD_NS, image, write_trial

_CHANGING = {
    "os.remove",
    "os.rename",
    "os.mkdir",
    "os.rmdir",
    "os.truncate",
    "os.chmod",
    "os.utime",
    "os.link",
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_changes: list[tuple[str, Any]] | None = None


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    """Keep what changes files; an audit hook stays for the life of the process."""
    if _changes is None:
        return
    if event in _CHANGING or (event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING):
        _changes.append((event, arguments[0]))


@contextmanager
def changes() -> Iterator[list[tuple[str, Any]]]:
    """Collect every open for writing, and every other change, of this process."""
    global _changes  # noqa: PLW0603 - a hook cannot be removed
    _changes = found = []
    try:
        yield found
    finally:
        _changes = None


sys.addaudithook(_audit)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def _lane(page: str) -> dict[str, Any]:
    found = re.search(r'id="lanes">(.*?)</script>', page)
    assert found
    lane: dict[str, Any] = json.loads(found[1])[0]
    return lane


def test_a_page_follows_a_recording_to_its_end(folder: Path) -> None:
    client, _ = client_of(folder)
    with recorder_process(folder / "trial.mcap") as recorder:
        recorder.do("start", 0)
        recorder.frames(0, range(3))
        assert "recording, 0 s so far" in client.get("/run/run").text
        page = client.get("/run/run/0/0").text
        assert "data-follow" in page
        assert "running; gate" in page
        lane = _lane(page)
        assert lane["frames"]["top"] == pytest.approx([n * PERIOD_NS / 1e9 for n in range(3)], abs=1e-4)
        same = client.get(f"/run/run/0/0/live?after=0.2&position={lane['position']}").json()
        assert same == {
            "state": "recording",
            "recorded_s": same["recorded_s"],
            "behind": False,
            "newest": "/run/run/0/0",
        }
        recorder.frames(0, range(3, 5))
        gained = client.get(f"/run/run/0/0/live?after=0.14&position={lane['position']}").json()
        assert gained["lane"]["frames"]["top"] == pytest.approx([0.2, 0.2667], abs=1e-3), "new images only"
        assert len(gained["lane"]["decisions"]) == 3
        assert 'data-verdict="top"' in gained["tracks"]
        recorder.do("end", 0, 5)
        recorder.do("start", 1)
        recorder.frames(1, range(1))
        ended = client.get("/run/run/0/0/live").json()
        assert ended["newest"] == "/run/run/0/1"
        assert ended["lane"]["state"] == "success; gate on"
        assert "data-follow" in client.get("/run/run/0/1?beside=run/0/0").text
        recorder.do("end", 1, 1)
        recorder.do("close")
        assert client.get("/run/run/0/0/live").json() == {"state": "ended"}
        assert "data-follow" not in client.get("/run/run/0/0").text


def test_images_of_a_live_run_are_those_of_the_whole_one(folder: Path) -> None:
    with recorder_process(folder / "trial.mcap") as recorder:
        for run in range(2):
            recorder.do("start", run)
            recorder.frames(run, range(4))
            recorder.do("end", run, 4)
        found = OpenRun(folder, [folder / "trial.mcap"])
        found.update()
        growing = [
            found.image(0, 1, view, n, distorted=side)
            for view in (View.TOP, View.WRIST) for n in range(4) for side in (False, True)
        ]  # fmt: skip
        records = found.tasks[0].record.runs
        recorder.do("close")
    whole = OpenRun(folder)
    assert np.array_equal(growing[4], image(View.TOP, 2, 1))
    finished = [
        whole.image(0, 1, view, n, distorted=side)
        for view in (View.TOP, View.WRIST) for n in range(4) for side in (False, True)
    ]  # fmt: skip
    assert all(np.array_equal(a, b) for a, b in zip(growing, finished, strict=True))
    assert [(r.end_ns, r.outcome, r.verdicts) for r in records] == [
        (r.end_ns, r.outcome, r.verdicts) for r in whole.tasks[0].record.runs
    ]


def test_an_interrupted_recording_names_the_repair(folder: Path) -> None:
    client, _ = client_of(folder)
    with recorder_process(folder / "trial.mcap") as recorder:
        recorder.do("start", 0)
        recorder.frames(0, range(2))
        assert client.get("/run/run/0/0/live").json()["state"] == "recording"
        recorder.kill()
        answer = client.get("/run/run/0/0/live").json()
        assert answer["state"] == "interrupted"
        command = f"embodied-iqa recover {folder / 'trial.mcap'}"
        assert command in answer["message"]
        page = client.get("/run/run/0/0")
        assert page.status_code == 400
        assert command in page.text


def test_a_session_shows_whole_and_growing_tasks(folder: Path) -> None:
    (folder / "config.yaml").write_text("{}")
    for name in ("1-first", "2-second"):
        (folder / name).mkdir()
    write_trial(folder / "1-first" / "trial.mcap")
    client, _ = client_of(folder)
    with recorder_process(folder / "2-second" / "trial.mcap") as recorder:
        recorder.do("flush")
        assert "No run has started yet" in client.get("/run/run").text
        recorder.do("start", 0)
        recorder.frames(0, range(2))
        assert '"/run/run/1/0"' in client.get("/run/run").text
        assert "data-follow" not in client.get("/run/run/0/1").text, "a whole task"
        assert client.get("/run/run/1/0/top/clean/1").headers["content-type"] == "image/webp"
        assert client.get("/run/run/1/0/top/clean/2").status_code == 404
        assert client.get("/run/run/1/1/live").status_code == 404
        assert client.get("/run/run/1/0/live?after=nan").status_code == 400
        assert client.get("/run/run/1/0/live?position=x").status_code == 400
        recorder.kill()
        answer = client.get("/run/run/1/0/live").json()
        assert answer["state"] == "interrupted"
        assert "embodied-iqa recover" in answer["message"]
        assert client.get("/run/run/0/1").status_code == 200


def test_a_recording_too_long_to_be_followed_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "MOST_MESSAGES", 10)
    client, _ = client_of(folder)
    with recorder_process(folder / "trial.mcap") as recorder:
        recorder.do("start", 0)
        recorder.frames(0, range(2))
        answer = client.get("/run/run/0/0")
    assert answer.status_code == 400
    assert "watch it when it has ended" in answer.text


def test_a_write_that_was_taken_back_starts_over(folder: Path) -> None:
    file = folder / "trial.mcap"
    whole = write_trial(folder / "whole.mcap", (None,)).read_bytes()
    file.write_bytes(whole)
    found = live.LiveRecording(file)
    found.update()
    file.write_bytes(whole[:-1000])
    found.update()
    assert 0 < found.position <= len(whole) - 1000
    assert found.run_count == 1


def test_the_files_of_a_run_are_never_opened_for_writing(folder: Path) -> None:
    client, _ = client_of(folder)
    with recorder_process(folder / "trial.mcap") as recorder:
        recorder.do("start", 0)
        recorder.frames(0, range(2))
        before = {item: (item.read_bytes(), item.stat()) for item in folder.iterdir()}
        pages = ("/", "/run/run", "/run/run/0/0", "/run/run/0/0/live", "/run/run/0/0/top/distorted/1")
        with changes() as found:
            (folder.parent / "seen").write_text("the hook sees this")
            for page in pages:
                assert client.get(page).status_code == 200, page
        assert [(event, str(path)) for event, path in found] == [("open", str(folder.parent / "seen"))]
        assert {item: (item.read_bytes(), item.stat()) for item in folder.iterdir()} == before
        recorder.do("end", 0, 2)
        recorder.do("close")
    with changes() as found:
        for page in pages:
            client.get(page)
    assert found == []
