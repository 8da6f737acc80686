"""`embodied-iqa recording info`: what a recording holds, and what is wrong with its stamps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recording_samples import EVENT_TYPE, IMAGE_TOPIC, type_store

from embodied_iqa.cli.main import main
from embodied_iqa.data.recording.survey import Times, has_header
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE, image_to_cdr

MS = 1_000_000
START_NS = 1_700_000_000_000 * MS


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Ten images, one each 100 ms; the fifth after a gap, and three with wrong stamps."""
    types, path = type_store(), tmp_path / "bag.mcap"
    stamps_ns = [START_NS + number * 100 * MS for number in range(10)]
    stamps_ns[2], stamps_ns[6], stamps_ns[8] = 0, stamps_ns[5], stamps_ns[1]
    with TrialWriter(path, types=types) as writer:
        writer.add_channel(IMAGE_TOPIC, IMAGE_TYPE)
        writer.add_channel("/empty", EVENT_TYPE)
        for number, stamp_ns in enumerate(stamps_ns):
            received_ns = START_NS + number * 100 * MS + 400 * MS * (number > 4)
            writer.write(IMAGE_TOPIC, image_to_cdr(np.zeros((4, 6, 3), np.uint8), stamp_ns), received_ns)
    return path


def printed(capsys: pytest.CaptureFixture[str], path: Path) -> dict[str, Any]:
    assert main(["recording", "info", str(path), "--json"]) == 0
    tree: dict[str, Any] = json.loads(capsys.readouterr().out)
    return tree


def test_topics_rates_and_faults_of_stamps(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = printed(capsys, recording)
    assert (tree["messages"], tree["compression"]) == (10, None)
    assert (tree["first_ns"], tree["last_ns"]) == (START_NS, START_NS + 1300 * MS)
    empty, images = sorted(tree["topics"], key=lambda row: row["messages"])
    assert (empty["topic"], empty["messages"], empty["rate_hz"]) == ("/empty", 0, None)
    assert empty["received"]["first_ns"] is None
    assert (images["topic"], images["type"]) == (IMAGE_TOPIC, IMAGE_TYPE)
    assert images["rate_hz"] == pytest.approx(9 / 1.3)
    assert images["received"]["longest_gap_ns"] == 500 * MS
    stamps = images["stamps"]
    assert (stamps["zero"], stamps["equal"], stamps["backwards"]) == (1, 1, 1)
    assert (stamps["first_ns"], stamps["last_ns"]) == (START_NS, START_NS + 900 * MS)


def test_an_encoding_that_is_not_read_is_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cdr, path = image_to_cdr(np.zeros((4, 6, 3), np.uint8), START_NS), tmp_path / "bag.mcap"
    with TrialWriter(path, types=type_store()) as writer:
        writer.add_channel(IMAGE_TOPIC, IMAGE_TYPE)
        writer.write(IMAGE_TOPIC, cdr.replace(b"rgb8", b"nv24"), START_NS)
    (row,) = printed(capsys, path)["topics"]
    assert row["image"]["encoding"] == "nv24"
    assert "unknown image encoding; got 'nv24'" in row["image"]["unread"]
    assert main(["recording", "info", str(path)]) == 0
    assert f"not read: {IMAGE_TOPIC}: unknown image encoding; got 'nv24'" in capsys.readouterr().out


def test_a_damaged_image_does_not_make_its_topic_unread(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cdr, path = image_to_cdr(np.zeros((4, 6, 3), np.uint8), START_NS), tmp_path / "bag.mcap"
    with TrialWriter(path, types=type_store()) as writer:
        writer.add_channel(IMAGE_TOPIC, IMAGE_TYPE)
        for number, data in enumerate((cdr[:-8], cdr)):
            writer.write(IMAGE_TOPIC, data, START_NS + number)
    (row,) = printed(capsys, path)["topics"]
    assert row["image"]["unread"] is None


def test_stamps_of_two_cameras_on_one_topic_do_not_go_backwards() -> None:
    times = Times()
    for k in range(5):
        times.add(START_NS + k * 100 * MS, "top")
        times.add(START_NS + k * 100 * MS - 30 * MS, "wrist")
    assert (times.count, times.equal, times.backwards) == (10, 0, 0)
    times.add(START_NS, "top")
    times.add(START_NS, "top")
    assert (times.equal, times.backwards) == (1, 1)


def test_names_of_topics_are_printed_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    with TrialWriter(tmp_path / "bag.mcap", types=type_store()) as writer:
        writer.add_channel("/a[/b]\x1b[31m", IMAGE_TYPE)
    assert main(["recording", "info", str(tmp_path / "bag.mcap")]) == 0
    assert "/a[/b]\\x1b[31m" in capsys.readouterr().out


def test_the_table_says_the_same(
    recording: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["recording", "info", str(recording)]) == 0
    said = capsys.readouterr().out
    assert "10 messages of 2 topics" in said
    assert "from 2023-11-14 22:13:20.000 UTC, 1.300 s long" in said
    assert "1 zero, 1 equal, 1 backwards" in said
    assert "6.92" in said


def test_what_is_no_recording_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "notes.mcap"
    path.write_text("no recording")
    assert main(["recording", "info", str(path)]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "is not a recording" in said


@pytest.mark.parametrize(
    ("definition", "begins"),
    [
        ("# a comment\n\nstd_msgs/Header header\nint32 x\n", True),
        ("std_msgs/msg/Header header # and words\n", True),
        ("uint8 ON=1\nstring NAME = on\nstd_msgs/Header header\n", True),
        ("int32 x\nstd_msgs/Header header\n", False),
        ("string data\n====\nMSG: std_msgs/Header\n", False),
        ("", False),
    ],
)
def test_a_type_begins_with_a_header_or_not(definition: str, begins: bool) -> None:
    assert has_header(definition) is begins


def test_a_rate_needs_two_times_that_rise() -> None:
    times = Times()
    for time_ns in (5, 5):
        assert times.rate_hz is None
        times.add(time_ns)
    assert times.rate_hz is None
    times.add(10**9 + 5)
    assert times.rate_hz == 2.0
