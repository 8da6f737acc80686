"""A long recording of realsense-ros with depth: how fast it is read, and in how much memory it is rescored.

The recording is generated: colour and depth of 640 x 480 px at 30 Hz and joint states at 120 Hz, in chunks as
`ros2 bag` writes them; the mcap and rosbags libraries read the same file. Memory must not grow with length:
all of it is rescored, and a quarter.

python benchmarks/bench_foreign_bag.py --seconds 60 --json build/bench_foreign_bag.json
python benchmarks/bench_foreign_bag.py --seconds 7200 --folder /data    # two hours, 270 GB
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
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


def messages(types: TypeStore, seconds: float) -> Iterator[tuple[str, str, int, bytes]]:
    """Yield topic, type, time and bytes in the order of their times."""
    random = np.random.default_rng(0)
    photos = [random.integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8) for _ in range(8)]
    depth = np.ascontiguousarray(random.integers(300, 2000, (HEIGHT, WIDTH), np.uint16)).tobytes()
    for number in range(round(seconds * RATE_HZ)):
        at_ns = START_NS + number * SECOND_NS // RATE_HZ
        header = types.header(at_ns, "camera_color_optical_frame")
        for _ in range(4):
            state = types.new(STATE_TYPE, header=header, name=JOINTS, position=[0.1 * k for k in range(6)])
            yield STATES, STATE_TYPE, at_ns, types.serialise(state)
        yield COLOUR, IMAGE_TYPE, at_ns, image_to_cdr(photos[number % 8], at_ns, "camera_color_optical_frame")
        size = {"height": HEIGHT, "width": WIDTH, "step": 2 * WIDTH}
        image = types.new(IMAGE_TYPE, header=header, encoding="16UC1", data=depth, **size)
        yield DEPTH, IMAGE_TYPE, at_ns, types.serialise(image)


def write(path: Path, seconds: float) -> int:
    """Write the recording as the MCAP plugin of `ros2 bag` does; return its bytes."""
    types, store, ids = TypeStore(), get_typestore(Stores.ROS2_JAZZY), dict[str, int]()
    with path.open("wb") as file:
        writer = Writer(file, compression=CompressionType.NONE, chunk_size=4 << 20)
        writer.start(profile="ros2", library="bench_foreign_bag")
        for topic, kind, at_ns, cdr in messages(types, seconds):
            if topic not in ids:
                text, _ = store.generate_msgdef(kind, ros_version=2)
                schema = writer.register_schema(kind, "ros2msg", text.encode())
                ids[topic] = writer.register_channel(topic, "cdr", schema)
            writer.add_message(ids[topic], at_ns, cdr, at_ns)
        writer.finish()
    return path.stat().st_size


def read_ours(path: Path) -> int:
    return sum(
        isinstance(one, StoredImage) and one.rgb.size > 0 for one in open_frames(path).images([COLOUR])
    )


def read_mcap(path: Path) -> int:
    """Messages as the library gives them, decoded by numpy: it has no decoder of images."""
    count = 0
    with path.open("rb") as file:
        for _, _, message in make_reader(file).iter_messages([COLOUR]):
            pixels = np.frombuffer(message.data, np.uint8)[-HEIGHT * WIDTH * 3 :]
            count += pixels.reshape(HEIGHT, WIDTH, 3).size > 0
    return count


def read_rosbags(path: Path) -> int:
    count = 0
    with AnyReader([path], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
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


def rescore(path: Path, folder: Path) -> dict[str, float]:
    """Rescore with the statistics gate in a process of its own; return its peak memory and rate."""
    code = (
        "import resource, sys, time; from embodied_iqa.cli.main import main; began = time.perf_counter();"
        "rc = main(sys.argv[1:]);"
        "print('PEAK', rc, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter() - began)"
    )
    gate = folder / "gate.yaml"
    words = ["--topic", f"top={COLOUR}", "--task", "open the drawer", "--distortion", "19:5"]
    words += ["--every", str(DISTORTED_S), "--calibration", str(gate), "--out", str(folder / "out")]
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


def calibrate(folder: Path) -> None:
    """Write a calibration of the gate from a short recording."""
    short = folder / "clean.mcap"
    write(short, 2.0)
    words = ["--topic", f"top={COLOUR}", "--output", str(folder / "gate.yaml")]
    if embodied_iqa_main(["gate", "calibrate", str(short), *words]) != 0:
        raise SystemExit("no calibration")


def measure(folder: Path, seconds: float, rounds: int) -> dict[str, float]:
    calibrate(folder)
    path, frames = folder / "realsense.mcap", round(seconds * RATE_HZ)
    numbers: dict[str, float] = {"seconds": seconds, "frames": frames}
    numbers["gib"] = write(path, seconds) / 2**30
    for read in (read_ours, read_mcap, read_rosbags):
        numbers[f"{read.__name__.removeprefix('read_')}_frames_per_s"] = frames_per_s(
            read, path, frames, rounds
        )
    for peer in ("mcap", "rosbags"):
        numbers[f"ours_to_{peer}"] = numbers["ours_frames_per_s"] / numbers[f"{peer}_frames_per_s"]
    (folder / "whole").mkdir()
    (folder / "whole/gate.yaml").write_text((folder / "gate.yaml").read_text())
    whole = rescore(path, folder / "whole")
    numbers["rescore_peak_gib"], numbers["rescore_frames_per_s"] = (
        whole["peak_gib"],
        frames / whole["seconds"],
    )
    path.unlink()
    write(path, seconds / 4)
    numbers["rescore_quarter_peak_gib"] = rescore(path, folder)["peak_gib"]
    numbers["reader_peak_gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return numbers


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="length of the recording")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where the recording is written (default: temporary)")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder, prefix="foreign-bag-") as folder:
        numbers = measure(Path(folder), arguments.seconds, arguments.rounds)
    for name, value in numbers.items():
        print(f"{name:<26}{value:10.3f}")
    if arguments.json:
        write_text_whole(arguments.json, json.dumps(numbers, indent=2))


if __name__ == "__main__":
    main()
