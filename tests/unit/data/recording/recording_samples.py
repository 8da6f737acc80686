"""Small recordings for the tests of this room."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from mcap.reader import make_reader
from rosbags.highlevel import AnyReader

from embodied_iqa.data.recording.messages import TypeStore
from embodied_iqa.data.recording.writer import TrialWriter, WriterOptions
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE, image_to_cdr

IMAGE_TOPIC = "/camera/top/image_raw"
EVENT_TOPIC = "/trial/events"
EVENT_TYPE = "embodied_iqa_msgs/msg/TrialEvent"


@dataclass(frozen=True)
class Written:
    """A message as it was written."""

    topic: str
    log_time_ns: int
    sequence: int
    cdr: bytes


@cache
def type_store() -> TypeStore:
    return TypeStore()


@cache
def samples(count: int) -> tuple[Written, ...]:
    """Images, small and large against a chunk of 2 kB, and events, `count` of each."""
    random = np.random.default_rng(3)
    types = type_store()
    made = []
    for index in range(count):
        rgb = random.integers(0, 256, (24 if index % 3 else 4, 40, 3), dtype=np.uint8)
        event = types.new(EVENT_TYPE, header=types.header(index), task=f"task {index}", run_index=index)
        made.append(Written(IMAGE_TOPIC, 1_000 + 2 * index, index, image_to_cdr(rgb, index, "top_frame")))
        made.append(Written(EVENT_TOPIC, 1_001 + 2 * index, index, types.serialise(event)))
    return tuple(made)


def write_recording(path: Path, count: int = 40, options: WriterOptions | None = None) -> tuple[Written, ...]:
    """Record the samples, configuration and a file; return the samples."""
    options = options or WriterOptions(chunk_bytes=2048)
    with TrialWriter(path, types=type_store(), options=options) as writer:
        writer.add_channel(IMAGE_TOPIC, IMAGE_TYPE)
        writer.add_metadata("config", {"seed": "3"})
        writer.add_channel(EVENT_TOPIC, EVENT_TYPE)
        writer.add_attachment("config.yaml", "application/yaml", b"seed: 3\n", 5)
        for message in samples(count):
            writer.write(message.topic, message.cdr, message.log_time_ns, sequence=message.sequence)
    return samples(count)


def read_with_mcap(path: Path) -> list[Written]:
    """All messages, as the mcap library reads them, checksums included."""
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True)
        return [
            Written(channel.topic, message.log_time, message.sequence, message.data)
            for _, channel, message in reader.iter_messages()
        ]


def read_with_rosbags(path: Path) -> list[tuple[str, int, bytes]]:
    """Topic, log time and bytes of all messages, as the rosbags library reads them; each is deserialised."""
    with AnyReader([path]) as reader:
        found = []
        for connection, time_ns, raw in reader.messages():
            reader.deserialize(raw, connection.msgtype)
            found.append((connection.topic, time_ns, bytes(raw)))
        return found
