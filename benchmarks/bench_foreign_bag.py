"""A long recording of realsense-ros with depth: how fast it is read, and in how much memory it is rescored.

The recording is generated: colour and depth of 640 x 480 px at 30 Hz and joint states at 120 Hz, in chunks as
`ros2 bag` writes them, split into parts; the mcap and rosbags libraries read the same files. Memory must not
grow with length: all of it is rescored, and a quarter. With --folder the same command goes on where it was
interrupted: parts that are whole and what was measured stay.

python benchmarks/bench_foreign_bag.py --seconds 60 --json build/bench_foreign_bag.json
python benchmarks/bench_foreign_bag.py --seconds 7200 --rounds 1 --folder two-hours    # 310 GiB
python benchmarks/bench_foreign_bag.py --seconds 7200 --rounds 1 --folder two-hours --compressed  # 5 GiB

With --compressed chunks are compressed by zstd, as with the preset zstd_fast of `ros2 bag`, and images are of
blocks instead of noise: as many images of the same size on a smaller disk.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.cli.main import main as embodied_iqa_main
from embodied_iqa.data.frames.any_frames import open_frames
from embodied_iqa.data.recording.messages import TypeStore
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE, image_to_cdr
from embodied_iqa.imaging.images.stored_images import StoredImage

COLOUR = "/camera/camera/color/image_raw"
DEPTH = "/camera/camera/aligned_depth_to_color/image_raw"
STATES = "/joint_states"
START_NS, SECOND_NS = 1_700_000_000_000_000_000, 1_000_000_000
HEIGHT, WIDTH, RATE_HZ = 480, 640, 30
STATE_TYPE, POSE_TYPE = "sensor_msgs/msg/JointState", "geometry_msgs/msg/PoseStamped"
JOINTS = [
    f"{name}_joint" for name in ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
]
DISTORTED_S = 20.0
"""A moment is judged so often, so that rescoring is reading most of the time."""
MOST_S = 600
"""Longest part of the recording."""
BLOCK_PX = 8
"""Side of the blocks of images that compress."""


def messages(
    types: TypeStore, first: int, count: int, block_px: int
) -> Iterator[tuple[str, str, int, bytes]]:
    """Yield topic, type, time and bytes of frames in the order of their times."""
    random, whole = np.random.default_rng(0), np.ones((block_px, block_px), np.uint8)
    small = HEIGHT // block_px, WIDTH // block_px
    photos = [np.kron(random.integers(0, 256, (*small, 3), np.uint8), whole[..., None]) for _ in range(8)]
    depth = np.kron(random.integers(300, 2000, small, np.uint16), whole).astype(np.uint16).tobytes()
    for number in range(first, first + count):
        at_ns = START_NS + number * SECOND_NS // RATE_HZ
        header = types.header(at_ns, "camera_color_optical_frame")
        for _ in range(4):
            state = types.new(STATE_TYPE, header=header, name=JOINTS, position=[0.1 * k for k in range(6)])
            yield STATES, STATE_TYPE, at_ns, types.serialise(state)
        yield COLOUR, IMAGE_TYPE, at_ns, image_to_cdr(photos[number % 8], at_ns, "camera_color_optical_frame")
        size = {"height": HEIGHT, "width": WIDTH, "step": 2 * WIDTH}
        image = types.new(IMAGE_TYPE, header=header, encoding="16UC1", data=depth, **size)
        yield DEPTH, IMAGE_TYPE, at_ns, types.serialise(image)


def write(path: Path, first: int, count: int, *, compressed: bool = False) -> None:
    """Write frames as the MCAP plugin of `ros2 bag` does, unless the file is there."""
    if path.is_file():
        return
    types, store, ids = TypeStore(), get_typestore(Stores.ROS2_JAZZY), dict[str, int]()
    path.parent.mkdir(exist_ok=True)
    fresh = path.with_suffix(".part")
    with fresh.open("wb") as file:
        compression = CompressionType.ZSTD if compressed else CompressionType.NONE
        writer = Writer(file, compression=compression, chunk_size=4 << 20)
        writer.start(profile="ros2", library="bench_foreign_bag")
        for topic, kind, at_ns, cdr in messages(types, first, count, BLOCK_PX if compressed else 1):
            if topic not in ids:
                text, _ = store.generate_msgdef(kind, ros_version=2)
                schema = writer.register_schema(kind, "ros2msg", text.encode())
                ids[topic] = writer.register_channel(topic, "cdr", schema)
            writer.add_message(ids[topic], at_ns, cdr, at_ns)
        writer.finish()
    fresh.rename(path)


def parts_of(bag: Path) -> list[Path]:
    return sorted(bag.glob("*.mcap"), key=lambda path: int(path.stem.rpartition("_")[2]))


def read_ours(path: Path) -> int:
    return sum(
        isinstance(one, StoredImage) and one.rgb.size > 0 for one in open_frames(path).images([COLOUR])
    )


def read_mcap(path: Path) -> int:
    """Messages as the library gives them, decoded by numpy: it has no decoder of images."""
    count = 0
    for part in parts_of(path):
        with part.open("rb") as file:
            for _, _, message in make_reader(file).iter_messages([COLOUR]):
                pixels = np.frombuffer(message.data, np.uint8)[-HEIGHT * WIDTH * 3 :]
                count += pixels.reshape(HEIGHT, WIDTH, 3).size > 0
    return count


def read_rosbags(path: Path) -> int:
    count = 0
    with AnyReader(parts_of(path), default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
        chosen = [one for one in reader.connections if one.topic == COLOUR]
        for connection, _, data in reader.messages(chosen):
            message = reader.deserialize(data, connection.msgtype)
            count += message.data.reshape(HEIGHT, WIDTH, 3).size > 0
    return count


def frames_per_s(read: Callable[[Path], int], path: Path, frames: int, rounds: int) -> float:
    """Return the rate of the fastest round."""
    found = []
    for _ in range(rounds):
        began_s = time.perf_counter()
        if read(path) != frames:
            raise SystemExit(f"{read.__name__} lost images")
        found.append(time.perf_counter() - began_s)
    return frames / min(found)


def rescore(path: Path, gate: Path, out: Path) -> dict[str, float]:
    """Rescore with the statistics gate in a process of its own; return its peak memory and rate."""
    code = (
        "import resource, sys, time; from embodied_iqa.cli.main import main; began = time.perf_counter();"
        "rc = main(sys.argv[1:]);"
        "print('PEAK', rc, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter() - began)"
    )
    words = ["--topic", f"top={COLOUR}", "--task", "open the drawer", "--distortion", "19:5"]
    words += ["--every", str(DISTORTED_S), "--calibration", str(gate), "--out", str(out)]
    ran = subprocess.run(
        [sys.executable, "-c", code, "rescore", str(path), *words],
        capture_output=True,
        text=True,
        check=False,
    )
    line = next((line for line in ran.stdout.splitlines() if line.startswith("PEAK")), "")
    if not line.startswith("PEAK 0 "):
        raise SystemExit(ran.stdout + ran.stderr)
    _, _, peak_kib, took_s = line.split()
    return {"peak_gib": int(peak_kib) / 2**20, "seconds": float(took_s)}


def calibrate(folder: Path, *, compressed: bool) -> Path:
    """Return a calibration of the gate from a short recording, made unless it is there."""
    gate = folder / "gate.yaml"
    if not gate.is_file():
        write(folder / "clean.mcap", 0, 2 * RATE_HZ, compressed=compressed)
        words = ["--topic", f"top={COLOUR}", "--out", str(gate)]
        if embodied_iqa_main(["gate", "calibrate", str(folder / "clean.mcap"), *words]) != 0:
            raise SystemExit("no calibration")
    return gate


def recorded(folder: Path, frames: int, *, compressed: bool) -> tuple[Path, Path]:
    """Return the recording and its first quarter, whose parts are links; what is missing is written."""
    whole, quarter = folder / "realsense", folder / "quarter"
    count = max(4, -(-frames // (MOST_S * RATE_HZ)) // 4 * 4)
    bounds = [frames * number // count for number in range(count + 1)]
    for number, (first, last) in enumerate(pairwise(bounds)):
        write(whole / f"{whole.name}_{number}.mcap", first, last - first, compressed=compressed)
    quarter.mkdir(exist_ok=True)
    for number in range(count // 4):
        link = quarter / f"{quarter.name}_{number}.mcap"
        if not link.is_symlink():
            link.symlink_to((whole / f"{whole.name}_{number}.mcap").resolve())
    return whole, quarter


class Numbers:
    """What was measured, written after each measurement; it is not measured again.

    Args:
        file: Where to.
        seconds: Of the recording.
        compressed: Whether it is.
    """

    def __init__(self, file: Path, seconds: float, *, compressed: bool) -> None:
        self._file = file
        plan: dict[str, float] = {"seconds": seconds, "compressed": float(compressed)}
        self.values = dict(plan)
        if file.is_file():
            self.values = json.loads(file.read_text())
            if any(self.values.get(name) != value for name, value in plan.items()):
                raise SystemExit(f"{file} is of another recording")
        write_text_whole(file, json.dumps(self.values))

    def add(self, name: str, measure: Callable[[], float]) -> None:
        """Measure a number, unless it is known."""
        if name not in self.values:
            self.values[name] = measure()
            print(f"{name:<26}{self.values[name]:10.3f}", flush=True)
            write_text_whole(self._file, json.dumps(self.values, indent=2))


def measure(folder: Path, seconds: float, rounds: int, *, compressed: bool) -> dict[str, float]:
    """Write the recording, read it with three libraries, and rescore all and a quarter of it."""
    frames = round(seconds * RATE_HZ)
    numbers = Numbers(folder / "numbers.json", seconds, compressed=compressed)
    gate = calibrate(folder, compressed=compressed)
    whole, quarter = recorded(folder, frames, compressed=compressed)
    numbers.add("frames", lambda: frames)
    numbers.add("gib", lambda: sum(part.stat().st_size for part in parts_of(whole)) / 2**30)
    for read in (read_ours, read_mcap, read_rosbags):
        name = f"{read.__name__.removeprefix('read_')}_frames_per_s"
        numbers.add(name, partial(frames_per_s, read, whole, frames, rounds))
    for peer in ("mcap", "rosbags"):
        ratio = numbers.values["ours_frames_per_s"] / numbers.values[f"{peer}_frames_per_s"]
        numbers.add(f"ours_to_{peer}", partial(float, ratio))
    for name, bag, count in (("rescore", whole, frames), ("rescore_quarter", quarter, frames // 4)):
        if f"{name}_peak_gib" not in numbers.values:
            found = rescore(bag, gate, folder / f"{name}-{time.time_ns()}")
            numbers.add(f"{name}_frames_per_s", partial(float, count / found["seconds"]))
            numbers.add(f"{name}_peak_gib", partial(float, found["peak_gib"]))
    return numbers.values


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="length of the recording")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where to go on, and what to keep (default: temporary)")
    parser.add_argument("--compressed", action="store_true", help="chunks by zstd, images of blocks")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with ExitStack() as stack:
        if arguments.folder is None:
            made = stack.enter_context(tempfile.TemporaryDirectory(prefix="foreign-bag-"))
        else:
            arguments.folder.mkdir(parents=True, exist_ok=True)
            made = str(arguments.folder)
        numbers = measure(Path(made), arguments.seconds, arguments.rounds, compressed=arguments.compressed)
    if arguments.json:
        write_text_whole(arguments.json, json.dumps(numbers, indent=2))


if __name__ == "__main__":
    main()
