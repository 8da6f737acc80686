"""Reading of a recording that grows, and the mark of one that is being written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from embodied_iqa.data.recording.errors import RecordingReadError
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.repair.following import RecordingFollower
from embodied_iqa.data.recording.repair.recover import recover
from embodied_iqa.data.recording.write_lock import is_being_written, mark_as_written
from recorder_process import recorder_process
from trial_recording import write_trial

EVERYTHING = 1 << 40


def _read(follower: RecordingFollower, most_bytes: int = EVERYTHING) -> list[tuple[str, int, bytes]]:
    return [(m.topic, m.log_time_ns, m.cdr) for m, _ in follower.read(most_bytes)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_trial(tmp_path_factory.mktemp("following") / "trial.mcap")


@pytest.mark.parametrize("step", [1, 97, 10_007])
def test_a_file_that_grows_by_any_step_yields_every_message_once(
    whole: Path, tmp_path: Path, step: int
) -> None:
    data, growing = whole.read_bytes(), tmp_path / "trial.mcap"
    growing.write_bytes(b"")
    follower = RecordingFollower(growing)
    found, first = [], max(0, len(data) - 20 * step)
    with growing.open("ab", buffering=0) as file:
        for start in [0, *range(first, len(data), step)]:
            file.write(data[file.tell() : (start or first) + (step if start else 0)])
            found += _read(follower)
    with TrialReader(whole) as reader:
        expected = [(m.topic, m.log_time_ns, m.cdr) for m in reader.messages()]
        decoded = [reader.decode(m) for m in reader.messages(["/trial/events"])]
    assert sorted(found) == sorted(expected)
    events = [m for m, _ in RecordingFollower(whole).read(EVERYTHING) if m.topic == "/trial/events"]
    _read(again := RecordingFollower(whole))
    assert [again.decode(m).kind for m in events] == [event.kind for event in decoded]
    assert follower.metadata == {"embodied_iqa": {"version": "1"}}


def test_only_new_bytes_are_read_and_no_more_than_allowed(whole: Path) -> None:
    follower, positions, found = RecordingFollower(whole), [0], []
    while follower.position > positions[-1]:
        positions.append(follower.position)
        found += _read(follower, 1)
    assert len(positions) > 20, "a record a call"
    assert found == _read(RecordingFollower(whole))
    assert _read(follower) == []


def test_a_message_is_found_again_at_its_place(whole: Path) -> None:
    follower = RecordingFollower(whole)
    for message, place in list(follower.read(EVERYTHING))[::7]:
        assert follower.cdr_at(place) == message.cdr


def test_a_file_that_shrank_is_noticed_and_damage_stops(whole: Path, tmp_path: Path) -> None:
    copy = tmp_path / "trial.mcap"
    copy.write_bytes(whole.read_bytes())
    follower = RecordingFollower(copy)
    places = [place for _, place in follower.read(EVERYTHING)]
    assert not follower.has_shrunk
    copy.write_bytes(whole.read_bytes()[:1000])
    assert follower.has_shrunk
    with pytest.raises(RecordingReadError, match="changed while it was read"):
        follower.cdr_at(places[-1])
    copy.unlink()
    with pytest.raises(RecordingReadError, match="cannot be read"):
        _ = follower.has_shrunk


def test_the_mark_lasts_as_long_as_the_writer(tmp_path: Path) -> None:
    closed, killed = tmp_path / "closed.mcap", tmp_path / "killed.mcap"
    assert not is_being_written(closed)
    with recorder_process(closed) as recorder:
        recorder.do("start", 0)
        assert is_being_written(closed)
        recorder.do("close")
        assert not is_being_written(closed)
    with recorder_process(killed) as recorder:
        recorder.do("start", 0)
        assert is_being_written(killed)
        recorder.kill()
        assert not is_being_written(killed), "the system releases it"


def test_a_recording_that_is_still_written_is_named_and_not_repaired(tmp_path: Path) -> None:
    path = tmp_path / "trial.mcap"
    with recorder_process(path) as recorder:
        recorder.do("start", 0)
        with pytest.raises(RecordingReadError, match="is still being recorded"):
            TrialReader(path)
        with pytest.raises(RecordingReadError, match="is still being recorded"):
            recover(path)
        recorder.kill()
        with pytest.raises(RecordingReadError, match="is cut short; repair it with"):
            TrialReader(path)
    assert recover(path).output is not None


def test_a_reader_that_looks_as_the_recorder_starts_leaves_the_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, close = tmp_path / "trial.mcap", os.close
    with file.open("wb") as writer:

        def start_before_the_reader_closes(descriptor: int) -> None:
            mark_as_written(writer.fileno())
            close(descriptor)

        with monkeypatch.context() as patch:
            patch.setattr(os, "close", start_before_the_reader_closes)
            assert not is_being_written(file)
        assert is_being_written(file)
    assert not is_being_written(file)
