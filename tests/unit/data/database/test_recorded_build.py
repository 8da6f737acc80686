"""Whole databases from recordings: of a trial, and of any camera with a file of tasks."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.cli.main import main
from embodied_iqa.data.database.check import check_database
from embodied_iqa.data.database.sources.simulated import SimulationSource
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.images.codecs import read_image
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import image_to_cdr
from trial_recording import NOISE, TASK, Recorder, stamp_ns, start_ns, type_store

WIDTH_PX, HEIGHT_PX = 160, 120
PANEL = ("classical-vlm", "panel-vlm-plain", "classical-vla", "panel-vla-query", "panel-vla-hand")
"""Both kinds of each role; the last one sees the wrist camera alone."""
TYPES = 30


@cache
def scene(number: int, view: View) -> NDArray[np.uint8]:
    """What the simulated cell shows: images that are fit to be references."""
    return SimulationSource(3, WIDTH_PX, HEIGHT_PX).read(number).frames[view].rgb


class LargeRecorder(Recorder):
    """Its images are large enough for a database."""

    def camera(self, view: View, run: int, frame: int, *, pose_late: bool) -> NDArray[np.uint8]:
        rgb = scene(2 * run + frame // 2, view)
        add_image(self.writer, view, stamp_ns(run, frame), rgb)
        topic = f"/camera/{view}/pose"
        self.send(topic, "geometry_msgs/msg/PoseStamped", stamp_ns(run, frame), pose=self.pose(0.5))
        return rgb


def add_image(writer: TrialWriter, view: View, stamp: int, rgb: NDArray[np.uint8]) -> None:
    types, topic = type_store(), f"/camera/{view}"
    k = [140.0, 0.0, 79.5, 0.0, 140.0, 59.5, 0.0, 0.0, 1.0]
    kind = "sensor_msgs/msg/CameraInfo"
    info = types.new(kind, header=types.header(stamp), k=k, width=WIDTH_PX, height=HEIGHT_PX)
    writer.add_channel(f"{topic}/camera_info", kind)
    writer.write(f"{topic}/camera_info", types.serialise(info), stamp + 1)
    writer.add_channel(f"{topic}/image_raw", "sensor_msgs/msg/Image")
    writer.write(f"{topic}/image_raw", image_to_cdr(rgb, stamp, "x"), stamp + 2)


def write_large_trial(path: Path) -> Path:
    """A clean run and a noisy one, a decision each."""
    recorder = LargeRecorder(path)
    for run, spec in enumerate((None, NOISE)):
        recorder.event(1, run, start_ns(run), spec)
        for frame in range(2):
            recorder.frame(run, frame, spec, decides=frame == 0)
        recorder.event(3, run, stamp_ns(run, 1), None, outcome=1, reason="done", frames_published=4)
    return recorder.close({"version": "1", "camera_node.source": "simulated"})


def built(out: Path, *words: str) -> tuple[DatabaseStore, list[dict[str, Any]]]:
    """Build, verify, and return the references."""
    panel = ["--panel", ",".join(PANEL), "--seed", "1", "--json"]
    assert main(["build", "--out", str(out), *panel, *words]) == 0
    assert main(["db", "check", str(out)]) == 0
    store = DatabaseStore(out)
    return store, store.references().to_pylist()


def subjects_in(store: DatabaseStore, panel: tuple[str, ...]) -> set[str]:
    """Return who has answered."""
    parts = (part for name in panel for part in store.annotation_parts(name))
    return {row["subject"] for part in parts for row in part.to_pylist()}


def test_a_trial_becomes_a_whole_database(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = write_large_trial(tmp_path / "trial.mcap")
    store, references = built(tmp_path / "db", "--from-bag", str(recording))
    tree = json.JSONDecoder().raw_decode(capsys.readouterr().out)[0]
    assert tree["counts"]["annotations"] == len(PANEL) * 2 * (1 + TYPES)
    assert tree["counts"]["scores"] == len(PANEL) * 2 * TYPES
    assert {row["origin"].split()[1] for row in references} == {str(stamp_ns(0, 0)), str(stamp_ns(1, 0))}
    for row, number in zip(references, (0, 2), strict=True):
        assert (row["view"], row["real"], row["instruction"], row["source"]) == (
            "top",
            False,
            TASK,
            "recording",
        )
        np.testing.assert_array_equal(read_image(store.path / row["image"]), scene(number, View.TOP))
        assert row["gripper"] == 0.25
        assert row["T_base_tool"][3] == pytest.approx(0.3)
    tasks = store.tasks().to_pylist()
    assert [(task["rank"], task["text"]) for task in tasks] == [(1, TASK)] * 2
    assert subjects_in(store, PANEL) == set(PANEL)
    before = store.scores_file.read_bytes()
    built(tmp_path / "db", "--from-bag", str(recording))
    assert store.scores_file.read_bytes() == before


def test_any_recording_becomes_a_whole_database_with_a_file_of_tasks(tmp_path: Path) -> None:
    recording = tmp_path / "kitchen.mcap"
    with TrialWriter(recording, types=type_store()) as writer:
        for number in range(4):
            add_image(writer, View.WRIST, 1000 * number, scene(number, View.WRIST))
    tasks = tmp_path / "tasks.csv"
    lines = [
        "# embodied-iqa-tasks 1",
        "image,bag,stamp_ns,view,rank,text,verb,main_object,background,real",
        ",kitchen.mcap,1000,wrist,1,pick the red cube,pick,toy,wood,false",
        ",kitchen.mcap,1000,wrist,2,push the leftmost object,push,,,",
        ",kitchen.mcap,3000,wrist,1,push the blue cube,push,,,",
    ]
    tasks.write_text("\n".join(lines) + "\n", encoding="utf-8")
    store, references = built(tmp_path / "db", "--from-bag", str(recording), "--tasks", str(tasks))
    first, second = references
    for row, number in ((first, 1), (second, 3)):
        np.testing.assert_array_equal(read_image(store.path / row["image"]), scene(number, View.WRIST))
        assert (row["view"], row["stamp_ns"]) == ("wrist", 1000 * number)
    assert [first[name] for name in ("main_object", "background", "real")] == ["toy", "wood", False]
    assert [second[name] for name in ("main_object", "background", "real")] == [None, None, True]
    counts = store.record().counts
    assert (counts["references"], counts["tasks"], counts["pairs"]) == (2, 3, 2 * TYPES)
    assert counts["scores"] == len(PANEL) * 3 * TYPES
    for row in references:
        (camera,) = row["cameras"]
        assert camera["T_base_camera"] is None, "the recording does not hold it"
        assert camera["fx_px"] == 140.0
        assert (row["T_base_tool"], row["gripper"]) == (None, None)
    unknown = {
        "classical-vlm": "camera is not known; expected a calibrated camera",
        "classical-vla": "classical-vla needs the pose of the tool and the gripper, which are not known",
    }
    for subject, words in unknown.items():
        errors = {row for part in store.annotation_parts(subject) for row in part["error"].to_pylist()}
        assert any(words in str(error) for error in errors)
    report = check_database(store)
    assert report.errors == ()
    assert "2 references with a camera whose pose or lens is not known" in report.remarks


def test_pose_of_nan_leaves_the_image_out_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = tmp_path / "kitchen.mcap"
    with TrialWriter(recording, types=type_store()) as writer:
        types, kind = type_store(), "geometry_msgs/msg/PoseStamped"
        writer.add_channel("/camera/wrist/pose", kind)
        for number in range(2):
            stamp = 1000 * (number + 1)
            add_image(writer, View.WRIST, stamp, scene(number, View.WRIST))
            turn = types.new("geometry_msgs/msg/Quaternion", x=0.0, y=0.0, z=0.0, w=float(number))
            pose = types.new(
                "geometry_msgs/msg/Pose", position=types.new("geometry_msgs/msg/Point"), orientation=turn
            )
            message = types.new(kind, header=types.header(stamp), pose=pose)
            writer.write("/camera/wrist/pose", types.serialise(message), stamp)
    tasks = tmp_path / "tasks.csv"
    head = "# embodied-iqa-tasks 1\nimage,bag,stamp_ns,view,rank,text,verb\n"
    rows = [f",kitchen.mcap,{stamp},wrist,1,pick the red cube,pick" for stamp in (1000, 2000)]
    tasks.write_text(head + "\n".join(rows) + "\n", encoding="utf-8")
    words = ["--from-bag", str(recording), "--tasks", str(tasks), "--references", "1"]
    store, references = built(tmp_path / "db", *words)
    assert subjects_in(store, PANEL) == set(PANEL)
    assert store.record().counts["annotations"] == len(PANEL) * (1 + TYPES)
    assert [row["stamp_ns"] for row in references] == [2000]
    assert references[0]["cameras"][0]["T_base_camera"] == np.eye(4).ravel().tolist()
    skipped = (store.path / "skipped.csv").read_text()
    assert "kitchen.mcap" in skipped
    assert "1000 ns on /camera/wrist/pose" in skipped
    assert "a quaternion of length 1" in skipped
