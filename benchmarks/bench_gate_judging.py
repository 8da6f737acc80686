"""The judge `statistics` in each installation: milliseconds of the processor an image, by size.

python benchmarks/bench_gate_judging.py --json build/bench_gate_judging.json

Time of the processor, because other programs lengthen it less. An installation is imitated: its process does
not see the packages that it lacks. The node and the proxy compile for images of 1024x512 and more; a loop in
Python does not.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import cast

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from machine_state import machine_state
from numpy.typing import NDArray

from embodied_iqa.base.files import write_text_whole

INSTALLED: dict[str, tuple[str, ...]] = {
    "[gate]": ("cv2", "numba"),
    "[gate] and OpenCV": ("numba",),
    "[data], node or proxy": (),
}
"""What an installation lacks."""
SIZES = ((224, 224), (640, 480), (1280, 720))
_GATE = Path(__file__).resolve().parents[1] / "config/gate/simulated.yaml"


def photograph(width_px: int, height_px: int) -> NDArray[np.uint8]:
    """Return an image with areas, edges and noise."""
    random = np.random.default_rng(5)
    cells = random.integers(0, 256, (height_px // 16 + 1, width_px // 16 + 1, 3))
    areas = np.kron(cells, np.ones((16, 16, 1)))[:height_px, :width_px]
    return np.clip(areas + random.normal(0, 4, areas.shape), 0, 255).astype(np.uint8)


def worked_ms(repeats: int) -> dict[str, float]:
    """Return the median time of the processor for one image of each size, in what is installed here."""
    from embodied_iqa.quality.gate.calibration_file import shared_gate_file  # noqa: PLC0415 - see `INSTALLED`
    from embodied_iqa.quality.gate.image_filters import compile_for  # noqa: PLC0415
    from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge  # noqa: PLC0415

    camera = shared_gate_file(str(_GATE)).cameras[0]
    found = {}
    for width, height in SIZES:
        compile_for([width * height])
        judge = StatisticsJudge([replace(camera, width_px=width, height_px=height)])
        image = photograph(width, height)
        judge.judge(camera.view, image)
        times_s = []
        for _ in range(repeats):
            began_s = time.process_time()
            judge.judge(camera.view, image)
            times_s.append(time.process_time() - began_s)
        found[f"{width}x{height}"] = round(1e3 * statistics.median(times_s), 1)
    return found


def _imitated(installation: str, repeats: int) -> dict[str, float]:
    words = [sys.executable, __file__, "--repeats", str(repeats), "--as", installation]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return cast("dict[str, float]", json.loads(done.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--as", dest="installation", choices=INSTALLED, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.installation:
        for name in INSTALLED[arguments.installation]:
            sys.modules[name] = cast("ModuleType", None)  # what `import` takes for missing
        print(json.dumps(worked_ms(arguments.repeats)))
        return
    rows = {name: _imitated(name, arguments.repeats) for name in INSTALLED}
    text = json.dumps({"machine": machine_state(), "milliseconds": rows}, indent=2)
    print(text)
    if arguments.json:
        write_text_whole(arguments.json, text + "\n")


if __name__ == "__main__":
    main()
