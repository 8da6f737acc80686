"""How fast images are recorded and read, what survives a kill, beside the mcap and rosbags libraries.

Files are written below --folder, which is in memory where the system has such a folder: a disk would be
measured otherwise.

python benchmarks/bench_recording.py --frames 60 --rounds 3 --json build/bench_recording.json
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import cv2
import numpy as np
import skimage.data
from mcap.reader import make_reader
from mcap.writer import CompressionType
from mcap.writer import Writer as McapWriter
from mcap_ros2.decoder import DecoderFactory
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin
from rosbags.rosbag2 import Writer as RosbagsWriter
from rosbags.typesys import Stores, get_typestore

from embodied_iqa.base.errors import UserError
from embodied_iqa.base.files import write_text_whole
from embodied_iqa.data.recording.compression import Compression
from embodied_iqa.data.recording.messages import TypeStore
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.repair.recover import recover
from embodied_iqa.data.recording.writer import TrialWriter, WriterOptions
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE, image_to_cdr

TOPIC = "/camera/top/image_raw"
STATE_TYPE = "sensor_msgs/msg/JointState"
STORE = get_typestore(Stores.ROS2_JAZZY)
TYPES = TypeStore()
MEMORY = Path("/dev/shm")  # noqa: S108 - only temporary folders are made in it
T = TypeVar("T")


def images(width: int, height: int, count: int) -> list[bytes]:
    """Photographs that move under a noisy sensor (1.5 grey levels), as serialised messages."""
    random = np.random.default_rng(0)
    photo = cv2.resize(
        skimage.data.astronaut(), (width + count, height + count), interpolation=cv2.INTER_CUBIC
    )
    noise = random.normal(0.0, 1.5, (height, width, 3))
    frames = []
    for index in range(count):
        clean = photo[index : index + height, index : index + width]
        noisy = np.clip(np.rint(clean + np.roll(noise, 7 * index, axis=1)), 0, 255).astype(np.uint8)
        frames.append(image_to_cdr(noisy, index * 33_333_333, "top_camera_optical_frame"))
    return frames


def write_ours(path: Path, frames: Sequence[bytes], compression: Compression) -> Path:
    with TrialWriter(path, types=TYPES, options=WriterOptions(compression=compression)) as writer:
        writer.add_channel(TOPIC, IMAGE_TYPE)
        for index, cdr in enumerate(frames):
            writer.write(TOPIC, cdr, index * 33_333_333)
            writer.step(index * 33_333_333)
    return path


def write_mcap(path: Path, frames: Sequence[bytes], compression: CompressionType) -> Path:
    text, _ = STORE.generate_msgdef(IMAGE_TYPE, ros_version=2)
    with path.open("wb") as file:
        writer = McapWriter(file, compression=compression, chunk_size=64 * 1024)
        writer.start("ros2")
        schema = writer.register_schema(IMAGE_TYPE, "ros2msg", text.encode())
        channel = writer.register_channel(TOPIC, "cdr", schema)
        for index, cdr in enumerate(frames):
            writer.add_message(channel, index * 33_333_333, cdr, index * 33_333_333)
        writer.finish()
    return path


def write_rosbags(path: Path, frames: Sequence[bytes], *, zstd: bool) -> Path:
    folder = path.with_suffix("")
    bag = RosbagsWriter(folder, version=9, storage_plugin=StoragePlugin.MCAP)
    if zstd:
        bag.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
    with bag as writer:
        connection = writer.add_connection(TOPIC, IMAGE_TYPE, typestore=STORE)
        for index, cdr in enumerate(frames):
            writer.write(connection, index * 33_333_333, cdr)
    return folder / f"{folder.name}.mcap"


WRITERS: dict[str, Callable[[Path, Sequence[bytes]], Path]] = {
    "ours, zstd 1": partial(write_ours, compression=Compression.ZSTD),
    "ours, lz4": partial(write_ours, compression=Compression.LZ4),
    "ours, none": partial(write_ours, compression=Compression.NONE),
    "mcap, zstd 3": partial(write_mcap, compression=CompressionType.ZSTD),
    "mcap, lz4": partial(write_mcap, compression=CompressionType.LZ4),
    "mcap, none": partial(write_mcap, compression=CompressionType.NONE),
    "rosbags, zstd": partial(write_rosbags, zstd=True),
    "rosbags, none": partial(write_rosbags, zstd=False),
}


def read_ours(path: Path) -> int:
    with TrialReader(path) as reader:
        return sum(recorded.image.rgb.shape[0] > 0 for recorded in reader.images())


def read_mcap(path: Path) -> int:
    with path.open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()], validate_crcs=True)
        return sum(
            np.frombuffer(image.data, np.uint8).reshape(image.height, image.width, 3).shape[0] > 0
            for *_, image in reader.iter_decoded_messages()
        )


def read_rosbags(path: Path) -> int:
    with AnyReader([path]) as reader:
        found = 0
        for connection, _, raw in reader.messages():
            image = reader.deserialize(raw, connection.msgtype)
            found += image.data.reshape(image.height, image.width, 3).shape[0] > 0
        return found


READERS = {"ours": read_ours, "mcap + mcap-ros2": read_mcap, "rosbags": read_rosbags}


def _timed(job: Callable[[], T]) -> tuple[float, T]:
    began = time.perf_counter()
    result = job()
    return time.perf_counter() - began, result


def _turned(names: Iterable[str], turn: int) -> list[str]:
    listed = list(names)
    start = turn % len(listed)
    return listed[start:] + listed[:start]


def measure_size(
    size: tuple[int, int], frames: int, rounds: int, parent: Path
) -> dict[str, dict[str, float]]:
    """Write and read in changing order, so that a busy machine hurts all alike; the best round counts."""
    messages = images(*size, frames)
    plain_bytes = sum(len(message) for message in messages)
    writing: dict[str, list[float]] = {name: [] for name in WRITERS}
    reading: dict[str, list[float]] = {name: [] for name in READERS}
    share: dict[str, float] = {}
    for turn in range(rounds):
        for name in _turned(WRITERS, turn):
            with tempfile.TemporaryDirectory(dir=parent) as folder:
                took, stored = _timed(partial(WRITERS[name], Path(folder) / "a.mcap", messages))
                writing[name].append(took)
                share[name] = stored.stat().st_size / plain_bytes
        with tempfile.TemporaryDirectory(dir=parent) as folder:
            path = write_ours(Path(folder) / "a.mcap", messages, Compression.ZSTD)
            for name in _turned(READERS, turn):
                reading[name].append(_timed(partial(READERS[name], path))[0])
    rows = {
        f"write: {name}": {"frames_per_s": frames / min(took), "size_share": share[name]}
        for name, took in writing.items()
    }
    return rows | {
        f"read zstd: {name}": {"frames_per_s": frames / min(took)} for name, took in reading.items()
    }


def write_until_killed(name: str, path: Path) -> None:
    """Joint states at 125 Hz of simulated time, for ever; says how many were handed over."""
    state = TYPES.new(
        STATE_TYPE, name=[f"joint_{i}" for i in range(6)], position=[0.0] * 6, velocity=[0.0] * 6
    )
    cdr = TYPES.serialise(state)
    if name == "ours":
        writer = TrialWriter(path, types=TYPES)
        writer.add_channel("/arm/joint_states", STATE_TYPE)
    else:
        bag = RosbagsWriter(path.with_suffix(""), version=9, storage_plugin=StoragePlugin.MCAP)
        bag.open()
        connection = bag.add_connection("/arm/joint_states", STATE_TYPE, typestore=STORE)
    index = 0
    while True:
        now_ns = index * 8_000_000
        if name == "ours":
            writer.write("/arm/joint_states", cdr, now_ns)
            writer.step(now_ns)
        else:
            bag.write(connection, now_ns, cdr)
        index += 1
        print(index, flush=True)


def measure_kill(name: str, messages: int) -> dict[str, float]:
    """Share of the messages that can be read after SIGKILL, with our recovery for both."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "killed.mcap"
        command = [sys.executable, __file__, "--killed-writer", name, "--path", str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            handed = 0
            for line in child.stdout or ():
                handed = int(line) if line.endswith("\n") else handed
                if handed == messages:
                    os.kill(child.pid, signal.SIGKILL)  # what it printed before is still in the pipe
        stored = path if path.exists() else path.with_suffix("") / "killed.mcap"
        try:
            kept = recover(stored, Path(folder) / "repaired.mcap").kept_messages
        except UserError:
            kept = 0
    return {"handed": handed, "kept": kept, "share": kept / handed}


def measure_recovery(frames: int, parent: Path) -> dict[str, float]:
    """Speed of repairing a file of 720p images that lacks its end, against copying its bytes."""
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        path = write_ours(Path(folder) / "a.mcap", images(1280, 720, frames), Compression.ZSTD)
        content = path.read_bytes()
        path.write_bytes(content[: -len(content) // 50])
        took, _ = _timed(partial(recover, path))
        copied, _ = _timed(partial(shutil.copyfile, path, Path(folder) / "copy"))
    return {"mb_per_s": len(content) / took / 1e6, "copies": took / copied}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--messages", type=int, default=3000)
    memory = MEMORY if MEMORY.is_dir() else Path(tempfile.gettempdir())
    parser.add_argument("--folder", type=Path, default=memory)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--killed-writer", choices=["ours", "rosbags"], help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.killed_writer:
        write_until_killed(arguments.killed_writer, arguments.path)
    numbers: dict[str, dict[str, dict[str, float]]] = {}
    for size in ((640, 480), (1280, 720)):
        rows = numbers[f"{size[0]} x {size[1]}"] = measure_size(
            size, arguments.frames, arguments.rounds, arguments.folder
        )
        print(f"{size[0]} x {size[1]}")
        for name, row in rows.items():
            part = f"{row['size_share']:6.2f} of the plain size" if "size_share" in row else ""
            print(f"  {name:<28}{row['frames_per_s']:8.0f} frames/s {part}")
    numbers["kill"] = {name: measure_kill(name, arguments.messages) for name in ("ours", "rosbags")}
    for name, row in numbers["kill"].items():
        print(f"kill -9: {name:<20}{row['kept']:6.0f} of {row['handed']:.0f} messages kept")
    numbers["recover"] = {"720p": measure_recovery(arguments.frames, arguments.folder)}
    speed = numbers["recover"]["720p"]
    print(f"recover: {speed['mb_per_s']:.0f} MB/s, {speed['copies']:.1f} times the time of a plain copy")
    if arguments.json:
        write_text_whole(arguments.json, json.dumps(numbers, indent=2))


if __name__ == "__main__":
    main()
