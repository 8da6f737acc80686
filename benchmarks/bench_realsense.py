"""The RealSense path from librealsense's software device: nothing lost, bit-exact, how much of a core.

python benchmarks/bench_realsense.py --seconds 60 --json build/bench_realsense.json
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from pathlib import Path

import numpy as np

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.imaging.images.frame import Intrinsics, View
from embodied_iqa.imaging.images.realsense import RealSenseCamera, RealSenseOptions

sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "tests"))

from software_realsense import SoftwareRealSense

WIDTH, HEIGHT, RATE = 640, 480, 30
LENS = Intrinsics(WIDTH, HEIGHT, 385.0, 385.0, 319.5, 239.5)
PATTERNS = 16


def patterns() -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    return [
        (
            rng.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8),
            rng.integers(300, 6000, (HEIGHT, WIDTH), dtype=np.uint16),
        )
        for _ in range(PATTERNS)
    ]


def feed(source: SoftwareRealSense, images: list[tuple[np.ndarray, np.ndarray]], count: int) -> None:
    """Hand over images at the camera's rate, stamped by a clock that has nothing to do with ours."""
    began = time.monotonic()
    for number in range(count):
        time.sleep(max(0.0, began + number / RATE - time.monotonic()))
        source.feed(*images[number % PATTERNS], number, 77_000 + number * 1e3 / RATE)


def stream(seconds: float) -> dict[str, float]:
    """Read everything that is fed for so long, and compare it bit by bit."""
    source, images, count = SoftwareRealSense("BENCH", LENS, RATE), patterns(), round(seconds * RATE)
    camera = RealSenseCamera(
        View.TOP,
        "BENCH",
        RealSenseOptions(WIDTH, HEIGHT, RATE),
        lambda _stamp: np.eye(4),
        time.time_ns,
        devices=lambda: [source.device],
    )
    feeder = threading.Thread(target=feed, args=(source, images, count), daemon=True)
    busy_s, began = time.process_time(), time.monotonic()
    feeder.start()
    got, exact, stamps, delays = 0, 0, [], []
    while got < count:
        both = camera.read_rgbd(5.0)
        if both is None:
            break
        delays.append((time.time_ns() - both.frame.stamp_ns) / 1e6)
        rgb, depth = images[got % PATTERNS]
        same_depth = both.sensor_depth is not None and np.array_equal(both.sensor_depth, depth)
        exact += bool(np.array_equal(both.frame.rgb, rgb) and same_depth)
        stamps.append(both.frame.stamp_ns)
        got += 1
    seconds = time.monotonic() - began
    feeder.join(5.0)
    result = {
        "fed": count,
        "received": got,
        "lost": count - got,
        "bit-exact": exact,
        "rate [Hz]": got / seconds,
        "cores busy": (time.process_time() - busy_s) / seconds,
        "stamp jitter, std [us]": float(np.std(np.diff(stamps))) / 1e3,
        "age when read, median [ms]": float(np.median(delays)),
        "age when read, p99 [ms]": float(np.percentile(delays, 99)),
    }
    camera.close()
    return result


def fastest(count: int) -> float:
    """Return sets a second as fast as they go: images in, colour and aligned depth out."""
    source, images = SoftwareRealSense("FAST", LENS, RATE), patterns()
    camera = RealSenseCamera(
        View.TOP,
        "FAST",
        RealSenseOptions(WIDTH, HEIGHT, RATE),
        lambda _stamp: np.eye(4),
        lambda: 0,
        devices=lambda: [source.device],
    )
    began = time.perf_counter()
    for number in range(count):
        source.feed(*images[number % PATTERNS], number, number * 1e3 / RATE)
        if camera.read_rgbd(5.0) is None:
            raise SystemExit("a set was lost")
    camera.close()
    return count / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    numbers = stream(arguments.seconds)
    numbers["sets a second, as fast as it goes"] = fastest(120)
    print(f"RealSense path, {WIDTH}x{HEIGHT} at {RATE} Hz, colour + aligned depth, {arguments.seconds:.0f} s")
    for name, value in numbers.items():
        print(f"  {name:<36}{value:10.2f}")
    if arguments.json:
        write_text_whole(arguments.json, json.dumps(numbers, indent=2) + "\n")


if __name__ == "__main__":
    main()
