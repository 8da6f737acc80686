"""References of a database from recordings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.data.database.sources.candidate import fingerprint_of
from embodied_iqa.data.database.sources.recorded import RecordingSource
from embodied_iqa.data.recording.bag_camera import BagCamera
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.world.tasks.task_files import load_task_file
from trial_recording import TASK, image, stamp_ns, write_trial

LISTED = """\
format: embodied-iqa-tasks
version: 1
images:
- image: a.png
  main_object: mug
  tasks: [{rank: 1, text: pick up the mug}]
- bag: b.mcap
  stamp_ns: 7
  view: top
  tasks: [{rank: 1, text: push the red cube}]
"""


def test_decisions_of_a_trial_become_references(tmp_path: Path) -> None:
    source = RecordingSource(write_trial(tmp_path / "trial.mcap"))
    assert source.count == 4
    assert source.real
    found = [source.read(index) for index in range(4)]
    for candidate, (run, frame) in zip(found, [(0, 0), (0, 2), (1, 0), (1, 2)], strict=True):
        shown = candidate.frames[candidate.view]
        assert shown.stamp_ns == stamp_ns(run, frame)
        assert np.array_equal(shown.rgb, image(candidate.view, frame, run))
        assert [(task.rank, task.text) for task in candidate.tasks] == [(1, TASK)]
        assert np.array_equal(candidate.T_base_tool[3], [0, 0, 0, 1])
    assert len({candidate.reference_id for candidate in found}) == 4
    again = RecordingSource(tmp_path / "trial.mcap").read(3)
    assert again.reference_id == found[3].reference_id


def test_frames_that_a_task_file_lists(tmp_path: Path) -> None:
    recording = write_trial(tmp_path / "trial.mcap")
    tasks = tmp_path / "tasks.csv"
    head = "# embodied-iqa-tasks 1\nimage,bag,stamp_ns,view,rank,text,verb\n"
    tasks.write_text(f"{head},trial.mcap,{stamp_ns(0, 1)},wrist,2,lift the left toy,pick\n", encoding="utf-8")
    source = RecordingSource(recording, tasks)
    candidate = source.read(0)
    assert source.count == 1
    assert np.array_equal(candidate.frames[View.WRIST].rgb, image(View.WRIST, 1))
    assert [(task.rank, task.text) for task in candidate.tasks] == [(2, "lift the left toy")]
    tasks.write_text(f"{head},trial.mcap,{stamp_ns(0, 1) + 1},top,1,lift it,pick\n", encoding="utf-8")
    with pytest.raises(InputError, match="no frame: camera top has none"):
        RecordingSource(recording, tasks).read(0)


def test_the_fingerprint_of_a_task_file_is_that_of_databases_built_before(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks.yaml"
    tasks.write_text(LISTED, encoding="utf-8")
    items = load_task_file(tasks, files_exist=False)
    assert fingerprint_of(items) == fingerprint_of(items[::-1]) == "b56177547c285ffa9168ebd5f51e16af"


def test_references_in_order_are_read_in_one_pass_and_found_in_any_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = RecordingSource(write_trial(tmp_path / "trial.mcap"))
    in_order = [source.read(index) for index in range(4)]
    read = BagCamera.read
    reads: list[int] = []

    def counted(camera: BagCamera, deadline_s: float) -> Frame | None:
        frame = read(camera, deadline_s)
        reads.append(0 if frame is None else frame.stamp_ns)
        return frame

    monkeypatch.setattr(BagCamera, "read", counted)
    copy = tmp_path / "copy.mcap"
    copy.write_bytes((tmp_path / "trial.mcap").read_bytes())
    again = RecordingSource(copy)
    for index in range(4):
        again.read(index)
    assert len(reads) == len(set(reads)), "an image was read twice"
    for index in (3, 0, 2, 2, 1):
        found = again.read(index)
        assert found.view == in_order[index].view
        assert np.array_equal(found.frames[found.view].rgb, in_order[index].frames[found.view].rgb)
