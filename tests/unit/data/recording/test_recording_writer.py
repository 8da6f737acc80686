"""The writer, read back by libraries that share no code with it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from mcap.reader import NonSeekingReader, make_reader
from mcap_ros2.decoder import DecoderFactory
from recording_samples import (
    EVENT_TOPIC,
    EVENT_TYPE,
    IMAGE_TOPIC,
    read_with_mcap,
    read_with_rosbags,
    samples,
    type_store,
    write_recording,
)

from embodied_iqa.base.errors import InputError, InternalError, UsageError
from embodied_iqa.data.recording.compression import Compression
from embodied_iqa.data.recording.definitions import MessageDefinitions
from embodied_iqa.data.recording.errors import RecordingWriteError
from embodied_iqa.data.recording.mcap_output import McapOutput
from embodied_iqa.data.recording.messages import TypeStore
from embodied_iqa.data.recording.repair.recover import recover
from embodied_iqa.data.recording.writer import TrialWriter, WriterOptions, qos_text
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE
from small_disk import small_disk


@pytest.mark.parametrize("compression", list(Compression))
def test_independent_readers_get_every_byte(tmp_path: Path, compression: Compression) -> None:
    path = tmp_path / "trial.mcap"
    options = WriterOptions(chunk_bytes=2048, compression=compression)
    written = write_recording(path, options=options)
    assert read_with_mcap(path) == list(written)
    assert read_with_rosbags(path) == [(m.topic, m.log_time_ns, m.cdr) for m in written]


def test_checksums_of_chunks_and_data_hold_for_a_reader_that_does_not_seek(tmp_path: Path) -> None:
    path = tmp_path / "trial.mcap"
    written = write_recording(path)
    with path.open("rb") as file:
        found = NonSeekingReader(file, validate_crcs=True).iter_messages(log_time_order=False)
        assert sum(1 for _ in found) == len(written)


def test_summary_counts_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "trial.mcap"
    written = write_recording(path)
    with path.open("rb") as file:
        reader = make_reader(file)
        summary = reader.get_summary()
        assert summary is not None
        assert summary.statistics is not None
        assert summary.statistics.message_count == len(written)
        assert summary.statistics.message_start_time == written[0].log_time_ns
        assert summary.statistics.message_end_time == written[-1].log_time_ns
        assert summary.statistics.chunk_count == len(summary.chunk_indexes)
        assert [(m.name, m.metadata) for m in reader.iter_metadata()] == [("config", {"seed": "3"})]
        assert [(a.name, a.data) for a in reader.iter_attachments()] == [("config.yaml", b"seed: 3\n")]
        assert reader.get_header().profile == "ros2"


def test_embedded_definitions_decode_our_own_types(tmp_path: Path) -> None:
    path = tmp_path / "trial.mcap"
    write_recording(path)
    with path.open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        tasks = [event.task for *_, event in reader.iter_decoded_messages(topics=[EVENT_TOPIC])]
    assert tasks == [f"task {index}" for index in range(40)]


def test_large_message_is_a_chunk_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "trial.mcap"
    write_recording(path)
    with path.open("rb") as file:
        summary = make_reader(file).get_summary()
    assert summary is not None
    for chunk in summary.chunk_indexes:
        channels = {summary.channels[key].topic for key in chunk.message_index_offsets}
        assert chunk.uncompressed_size < 2 * 2048 or channels == {IMAGE_TOPIC}


def test_flush_is_due_once_a_period(tmp_path: Path) -> None:
    with TrialWriter(tmp_path / "trial.mcap", types=type_store()) as writer:
        writer.add_channel(EVENT_TOPIC, EVENT_TYPE)
        writer.write(EVENT_TOPIC, samples(1)[1].cdr, 1)
        assert [writer.step(now) for now in (0, 999_999_999, 1_000_000_000, 1_000_000_001)] == [
            False,
            False,
            True,
            False,
        ]
        assert (writer.status.messages, writer.status.pending) == (1, 0)


def test_never_overwrites(tmp_path: Path) -> None:
    path = tmp_path / "trial.mcap"
    path.write_bytes(b"precious")
    with pytest.raises(RecordingWriteError, match=r"trial\.mcap.*already exists"):
        TrialWriter(path)
    assert path.read_bytes() == b"precious"


def test_missing_folder_is_the_users_error(tmp_path: Path) -> None:
    with pytest.raises(RecordingWriteError, match="No such file or directory"):
        TrialWriter(tmp_path / "nowhere" / "trial.mcap")


def test_unknown_type_and_second_type_and_unknown_topic(tmp_path: Path) -> None:
    with TrialWriter(tmp_path / "trial.mcap", types=type_store()) as writer:
        with pytest.raises(InputError, match=r"available: .*TrialEvent"):
            writer.add_channel("/x", "embodied_iqa_msgs/msg/Nonsense")
        writer.add_channel("/x", EVENT_TYPE)
        writer.add_channel("/x", EVENT_TYPE)
        with pytest.raises(RecordingWriteError, match="two types"):
            writer.add_channel("/x", IMAGE_TYPE)
        with pytest.raises(InternalError):
            writer.write("/y", b"", 0)


def test_types_that_cannot_be_hashed_are_recorded_all_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "share" / "wide_msgs" / "msg"
    folder.mkdir(parents=True)
    (folder / "Wide.msg").write_text("wstring words\n")
    types = TypeStore(MessageDefinitions(prefixes=(tmp_path,), sources=()))
    with TrialWriter(tmp_path / "trial.mcap", types=types) as writer:
        writer.add_channel("/x", "wide_msgs/msg/Wide")
        writer.write("/x", b"\0\1\0\0\0\0\0\0", 1)
    assert len(read_with_mcap(tmp_path / "trial.mcap")) == 1


def test_wrong_options_are_refused() -> None:
    options = WriterOptions()
    assert (options.chunk_bytes, options.flush_period_ns) == (65_536, 1_000_000_000)
    assert WriterOptions(chunk_bytes=1, flush_period_ns=1).flush_period_ns == 1
    with pytest.raises(UsageError):
        WriterOptions(chunk_bytes=0)
    with pytest.raises(UsageError):
        WriterOptions(flush_period_ns=0)


def test_qos_text_of_an_ordinary_topic() -> None:
    infinite = {"sec": 9223372036, "nsec": 854775807}
    assert yaml.safe_load(qos_text()) == [
        {
            "history": "keep_last",
            "depth": 10,
            "reliability": "reliable",
            "durability": "volatile",
            "deadline": infinite,
            "lifespan": infinite,
            "liveliness": "automatic",
            "liveliness_lease_duration": infinite,
            "avoid_ros_namespace_conventions": False,
        }
    ]
    assert yaml.safe_load(qos_text(depth=1))[0]["depth"] == 1
    with pytest.raises(UsageError, match="wrong history depth"):
        qos_text(depth=0)


def test_a_finished_file_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "trial.mcap"
    before = len(list(Path("/proc/self/fd").iterdir()))
    output = McapOutput(path, "test")
    output.finish()
    content = path.read_bytes()
    output.finish()
    assert path.read_bytes() == content
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_qos_text_is_what_other_readers_understand(tmp_path: Path) -> None:
    from rosbags.highlevel import AnyReader
    from rosbags.interfaces import QosDurability, QosReliability

    text = qos_text(reliable=False, transient_local=True, depth=3)
    assert "&" not in text
    assert yaml.safe_load(text)[0]["deadline"] == {"sec": 9223372036, "nsec": 854775807}
    path = tmp_path / "trial.mcap"
    with TrialWriter(path, types=type_store()) as writer:
        writer.add_channel("/x", EVENT_TYPE, text)
    with AnyReader([path]) as reader:
        (profile,) = reader.connections[0].ext.offered_qos_profiles
    assert profile.depth == 3
    assert profile.reliability is QosReliability.BEST_EFFORT
    assert profile.durability is QosDurability.TRANSIENT_LOCAL


DISK_FULL = """
import resource, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from recording_samples import EVENT_TOPIC, EVENT_TYPE, IMAGE_TOPIC, samples, type_store
from embodied_iqa.data.recording.compression import Compression
from embodied_iqa.data.recording.definitions import MessageDefinitions
from embodied_iqa.data.recording.errors import RecordingWriteError
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE
from embodied_iqa.data.recording.writer import TrialWriter, WriterOptions

options = WriterOptions(chunk_bytes=2048, compression=Compression.NONE)
writer = TrialWriter(Path(sys.argv[1]), types=type_store(), options=options)
writer.add_channel(IMAGE_TOPIC, IMAGE_TYPE)
writer.add_channel(EVENT_TOPIC, EVENT_TYPE)
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))
errors = 0
for index, message in enumerate(samples(40)):
    if index == 60:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000_000, resource.RLIM_INFINITY))
    try:
        writer.write(message.topic, message.cdr, message.log_time_ns)
    except RecordingWriteError as error:
        assert "cannot write the recording" in str(error), error
        errors += 1
writer.close()
print(errors, writer.status.messages, writer.status.lost)
"""


def test_full_disk_is_counted_and_the_file_stays_whole(tmp_path: Path) -> None:
    """The operating system refuses to let the file grow for a while, as a full disk does."""
    path = tmp_path / "trial.mcap"
    script = [sys.executable, "-c", DISK_FULL, str(path), str(Path(__file__).parent)]
    done = subprocess.run(script, capture_output=True, text=True, check=True)
    errors, messages, lost = map(int, done.stdout.split())
    assert errors > 0
    assert lost >= errors
    assert messages + lost == 80
    found = read_with_mcap(path)
    assert len(found) == messages
    assert found[-1].log_time_ns == samples(40)[-1].log_time_ns


@settings(max_examples=20, deadline=None)
@given(sizes=st.lists(st.integers(0, 300), max_size=30), chunk=st.integers(1, 600))
def test_any_sizes_survive(tmp_path_factory: pytest.TempPathFactory, sizes: list[int], chunk: int) -> None:
    path = tmp_path_factory.mktemp("sizes") / "trial.mcap"
    with TrialWriter(path, types=type_store(), options=WriterOptions(chunk_bytes=chunk)) as writer:
        writer.add_channel("/x", EVENT_TYPE)
        for index, size in enumerate(sizes):
            writer.write("/x", bytes(size), index, sequence=index)
    assert [(m.sequence, m.cdr) for m in read_with_mcap(path)] == [(i, bytes(n)) for i, n in enumerate(sizes)]


def fill_disk(path: Path, spare_bytes: int) -> None:
    """Write a file until the disk is full but for some bytes."""
    free = shutil.disk_usage(path.parent).free
    path.write_bytes(bytes(free - spare_bytes))


def write_images(writer: TrialWriter, count: int) -> None:
    for index in range(count):
        writer.write(IMAGE_TOPIC, bytes(100_000), index)


def test_a_full_disk_is_named_and_the_file_is_finished_all_the_same(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 4) as disk:
        path = disk / "trial.mcap"
        writer = TrialWriter(path, types=type_store(), options=WriterOptions(compression=Compression.NONE))
        writer.add_channel(IMAGE_TOPIC, IMAGE_TYPE)
        fill_disk(disk / "other", 300_000)
        with pytest.raises(RecordingWriteError, match=rf"the disk at {disk} is full \(\d\.\d of 4 MB free\)"):
            write_images(writer, 100)
        messages = writer.status.messages
        assert messages > 0
        assert shutil.disk_usage(disk).free < 150_000
        writer.close()
        assert len(read_with_mcap(path)) == messages
        assert recover(path).output is None, "undamaged"
        with pytest.raises(RecordingWriteError, match=f"the disk at {disk} is full"):
            TrialWriter(disk / "second.mcap", types=type_store())
        assert sorted(item.name for item in disk.iterdir()) == ["other", "trial.mcap"]


def test_without_space_for_the_index_a_recording_is_recovered_on_another_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 4) as disk:
        path = disk / "trial.mcap"
        writer = TrialWriter(path, types=type_store(), options=WriterOptions(compression=Compression.NONE))
        writer.add_channel(IMAGE_TOPIC, IMAGE_TYPE)
        write_images(writer, 3)
        cut = disk / "cut.mcap"  # as a kill leaves it
        cut.write_bytes(path.read_bytes())
        writer.close()
        fill_disk(disk / "other", 0)
        with pytest.raises(RecordingWriteError, match=rf"the disk at {disk} is full .*; .*--out"):
            recover(cut)
        report = recover(cut, tmp_path / "whole.mcap")
        assert report.kept_messages == 3
        assert len(read_with_mcap(tmp_path / "whole.mcap")) == 3
        assert not list(disk.glob(".*"))


def test_a_message_keeps_both_of_its_times(tmp_path: Path) -> None:
    path = tmp_path / "times.mcap"
    with TrialWriter(path, types=type_store()) as writer:
        writer.add_channel(EVENT_TOPIC, EVENT_TYPE)
        cdr = samples(1)[1].cdr
        writer.write(EVENT_TOPIC, cdr, 20, 5)
        writer.write(EVENT_TOPIC, cdr, 30, 0)
        writer.write(EVENT_TOPIC, cdr, 40)
    with path.open("rb") as file:
        times = [(m.log_time, m.publish_time, m.sequence) for _, _, m in make_reader(file).iter_messages()]
    assert times == [(20, 5, 0), (30, 0, 0), (40, 40, 0)]
