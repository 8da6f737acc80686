"""Recovery: cut anywhere, flip anything, and lose no more than was hit."""

from __future__ import annotations

import itertools
import json
from functools import cache
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcap.opcode import Opcode
from mcap.reader import make_reader
from mcap.records import Channel, Chunk, Header, Message, Schema
from mcap.stream_reader import StreamReader, breakup_chunk
from mcap.writer import CompressionType
from mcap.writer import Writer as LibraryWriter
from recording_samples import EVENT_TOPIC, read_with_mcap, read_with_rosbags, samples, write_recording

from embodied_iqa.cli.main import main
from embodied_iqa.data.recording.compression import Compression
from embodied_iqa.data.recording.errors import RecordingReadError, RecordingWriteError
from embodied_iqa.data.recording.framing import MAGIC, encode, message_prefix
from embodied_iqa.data.recording.repair.recover import recover
from embodied_iqa.data.recording.writer import WriterOptions

COUNT = 30


@cache
def whole_file(compression: Compression) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trial.mcap"
        write_recording(path, COUNT, WriterOptions(chunk_bytes=2048, compression=compression))
        return path.read_bytes()


@cache
def chunk_ends(compression: Compression) -> tuple[tuple[int, int], ...]:
    """Where each chunk record ends in the file, and how many messages lie up to there, by the library."""
    file = BytesIO(whole_file(compression))
    summary = make_reader(file).get_summary()
    assert summary is not None
    ends, total = [(0, 0)], 0
    for index in summary.chunk_indexes:
        file.seek(index.chunk_start_offset)
        chunk = next(StreamReader(file, skip_magic=True, emit_chunks=True).records)
        assert isinstance(chunk, Chunk)
        total += sum(isinstance(record, Message) for record in breakup_chunk(chunk, validate_crc=True))
        ends.append((index.chunk_start_offset + index.chunk_length, total))
    return tuple(ends)


def header_end(content: bytes) -> int:
    return 8 + 9 + int.from_bytes(content[9:17], "little")


SHARES = st.floats(0, 1, exclude_max=True)
COMPRESSIONS = st.sampled_from(list(Compression))
EXAMPLES = pytest.mark.parametrize("examples", [30, pytest.param(120, marks=pytest.mark.stress)])


@EXAMPLES
def test_cut_anywhere_keeps_every_message_wholly_before_the_cut(examples: int) -> None:
    settings(max_examples=examples)(given(SHARES, COMPRESSIONS)(_recover_what_is_cut))()


def _recover_what_is_cut(share: float, compression: Compression) -> None:
    content = whole_file(compression)
    first = header_end(content)
    cut = first + int(share * (len(content) - first))
    expected = max(count for end, count in chunk_ends(compression) if end <= cut)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "cut.mcap"
        path.write_bytes(content[:cut])
        report = recover(path)
        assert report.output is not None
        found = read_with_mcap(report.output)
        assert len(found) >= expected
        assert found == list(samples(COUNT)[: len(found)])
        assert report.kept_messages == len(found)
        assert [m[2] for m in read_with_rosbags(report.output)] == [m.cdr for m in found] or not found
        assert recover(report.output).output is None
        assert sorted(Path(folder).iterdir()) == [path, report.output]


@EXAMPLES
def test_one_wrong_byte_costs_at_most_two_chunks(examples: int) -> None:
    """The chunk that is hit, and the next where the search for its start needs that one's bytes."""
    settings(max_examples=examples)(
        given(SHARES, st.integers(1, 255), COMPRESSIONS)(_recover_what_is_flipped)
    )()


def _recover_what_is_flipped(share: float, flip: int, compression: Compression) -> None:
    content = bytearray(whole_file(compression))
    first, last = header_end(content), max(end for end, _ in chunk_ends(compression))
    position = first + int(share * (last - first))
    content[position] ^= flip
    with TemporaryDirectory() as folder:
        path = Path(folder) / "flipped.mcap"
        path.write_bytes(content)
        report = recover(path)
        assert report.output is not None
        found = read_with_mcap(report.output)
        largest = max(b[1] - a[1] for a, b in itertools.pairwise(chunk_ends(compression)))
        assert len(found) >= 2 * COUNT - 2 * largest
        assert {m.cdr for m in found} <= {m.cdr for m in samples(COUNT)}
        assert recover(report.output).output is None


def test_kept_and_lost_are_counted(tmp_path: Path) -> None:
    content = bytearray(whole_file(Compression.ZSTD))
    (start, before), (end, after) = chunk_ends(Compression.ZSTD)[3:5]
    content[end - 5] ^= 1
    path = tmp_path / "flipped.mcap"
    path.write_bytes(content)
    report = recover(path, tmp_path / "repaired.mcap")
    assert start < end
    assert (report.damaged_chunks, report.lost_messages) == (1, after - before)
    assert report.kept_messages == 2 * COUNT - (after - before)
    assert not report.cut_short
    assert sum(report.messages.values()) == report.kept_messages
    kept = [*samples(COUNT)[:before], *samples(COUNT)[after:]]
    assert read_with_mcap(tmp_path / "repaired.mcap") == kept


def test_metadata_and_attachments_survive(tmp_path: Path) -> None:
    path = tmp_path / "cut.mcap"
    path.write_bytes(whole_file(Compression.ZSTD)[:-1])
    report = recover(path)
    assert (report.metadata, report.attachments) == (1, 1)
    assert report.output is not None
    with report.output.open("rb") as file:
        reader = make_reader(file)
        assert [(m.name, m.metadata) for m in reader.iter_metadata()] == [("config", {"seed": "3"})]
        assert [(a.name, a.data) for a in reader.iter_attachments()] == [("config.yaml", b"seed: 3\n")]


def test_uncompressed_chunk_is_used_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "cut.mcap"
    options = WriterOptions(chunk_bytes=1 << 20, compression=Compression.NONE)
    written = write_recording(path, COUNT, options)
    content = path.read_bytes()
    cut = content.index(written[20].cdr) + 3
    path.write_bytes(content[:cut])
    report = recover(path)
    assert report.output is not None
    assert read_with_mcap(report.output) == list(written[:20])


def test_zeros_at_the_end_as_a_loss_of_power_leaves_them(tmp_path: Path) -> None:
    path = tmp_path / "zeros.mcap"
    end, count = chunk_ends(Compression.ZSTD)[5]
    path.write_bytes(whole_file(Compression.ZSTD)[:end] + bytes(5000))
    report = recover(path)
    assert report.cut_short
    assert report.kept_messages == count
    assert report.skipped_bytes == 5000


@pytest.mark.parametrize("chunked", [True, False])
def test_files_of_other_writers(tmp_path: Path, chunked: bool) -> None:
    path = tmp_path / "other.mcap"
    with path.open("wb") as file:
        writer = LibraryWriter(file, compression=CompressionType.LZ4, use_chunking=chunked, chunk_size=1000)
        writer.start("ros2")
        schema = writer.register_schema("std_msgs/msg/String", "ros2msg", b"string data")
        channel = writer.register_channel("/words", "cdr", schema)
        for index in range(50):
            cdr = b"\0\1\0\0\5\0\0\0word\0" + bytes(3)
            writer.add_message(channel, index, cdr, index, index)
        writer.flush()
        if not chunked:
            file.flush()
    report = recover(path)
    assert report.messages == {"/words": 50}
    assert report.output is not None
    assert [m.sequence for m in read_with_mcap(report.output)] == list(range(50))


def test_intact_file_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trial.mcap"
    write_recording(path, COUNT)
    assert main(["recover", str(path)]) == 0
    assert "undamaged" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == [path]


def test_command_reports_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cut.mcap"
    path.write_bytes(whole_file(Compression.ZSTD)[:-100])
    out = tmp_path / "out.mcap"
    assert main(["recover", str(path), "--out", str(out), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["output"] == str(out)
    assert report["cut_short"] is True
    assert report["kept_messages"] == 2 * COUNT
    assert report["messages"][EVENT_TOPIC] == COUNT
    assert main(["recover", str(path), "--out", str(out)]) == 1
    assert "already exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"SQLite format 3\0", "not an MCAP"),
        (b"\x89MCAP0\r\n", "nothing to recover"),
        (b"\x89MCAP0\r\n\x01\x40\0\0\0\0\0\0\0\x04\0\0\0ro", "nothing to recover"),
    ],
)
def test_nothing_to_recover(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.mcap"
    path.write_bytes(content)
    with pytest.raises(RecordingReadError, match=message):
        recover(path)
    assert list(tmp_path.iterdir()) == [path]


def test_missing_file_and_other_profile(tmp_path: Path) -> None:
    with pytest.raises(RecordingReadError, match="No such file"):
        recover(tmp_path / "none.mcap")
    path = tmp_path / "other.mcap"
    with path.open("wb") as file:
        LibraryWriter(file).start("ros1")
    with pytest.raises(RecordingReadError, match="expected profile 'ros2'; got 'ros1'"):
        recover(path)


def test_failed_output_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "cut.mcap"
    path.write_bytes(whole_file(Compression.ZSTD)[:-1])

    def fail(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        recover(path, tmp_path / "out.mcap", fail)
    with pytest.raises(RecordingWriteError):
        recover(path, tmp_path / "nowhere" / "out.mcap")
    assert list(tmp_path.iterdir()) == [path]


def _file_of(path: Path, *records: bytes) -> Path:
    path.write_bytes(MAGIC + encode(Header("ros2", "test")) + b"".join(records))
    return path


def _message(channel: int, time_ns: int) -> bytes:
    return message_prefix(channel, time_ns, time_ns, time_ns, 4) + bytes(4)


def test_messages_of_a_lost_schema_or_channel_are_counted_as_lost(tmp_path: Path) -> None:
    path = _file_of(
        tmp_path / "lost.mcap",
        encode(Schema(id=1, data=b"string data", encoding="ros2msg", name="std_msgs/msg/String")),
        encode(Channel(id=1, topic="/kept", message_encoding="cdr", metadata={}, schema_id=1)),
        encode(Channel(id=2, topic="/no_schema", message_encoding="cdr", metadata={}, schema_id=7)),
        encode(Channel(id=3, topic="/schemaless", message_encoding="cdr", metadata={}, schema_id=0)),
        *(_message(channel, 10 * channel + n) for channel in (1, 2, 3, 4) for n in range(channel)),
    )
    report = recover(path)
    assert report.messages == {"/kept": 1, "/schemaless": 3}
    assert (report.kept_messages, report.lost_messages, report.damaged_chunks) == (4, 2 + 4, 0)
    assert report.output is not None
    assert [(m.topic, m.log_time_ns) for m in read_with_mcap(report.output)] == [
        ("/kept", 10), ("/schemaless", 30), ("/schemaless", 31), ("/schemaless", 32),
    ]  # fmt: skip


@pytest.mark.parametrize("compression", list(Compression))
def test_bytes_of_a_cut_chunk_are_counted_unless_messages_come_out_of_it(
    tmp_path: Path, compression: Compression
) -> None:
    (before, _), (start, kept), (end, _) = chunk_ends(compression)[:3]
    assert before == 0
    content = whole_file(compression)
    chunk_at = next(at for at in range(start, end) if content[at] == Opcode.CHUNK)
    path = tmp_path / "cut.mcap"
    path.write_bytes(content[: end - 1])
    report = recover(path)
    more = report.kept_messages - kept
    assert report.skipped_bytes == (0 if more else end - 1 - chunk_at)
    assert more == 0 or compression is not Compression.ZSTD


@pytest.mark.parametrize(("kind", "kept"), [(0, True), (11, True), (12, False), (255, False)])
def test_a_message_outside_chunks_begins_as_serialised_data_does(
    tmp_path: Path, kind: int, kept: bool
) -> None:
    """Without a checksum only the kind of encoding, 0 to 11, tells a message from other bytes."""
    message = message_prefix(1, 5, 5, 5, 4) + bytes([0, kind, 0, 0])
    channel = Channel(id=1, topic="/x", message_encoding="cdr", metadata={}, schema_id=0)
    report = recover(_file_of(tmp_path / "loose.mcap", encode(channel), message, _message(1, 6)))
    assert report.kept_messages == (2 if kept else 1)
