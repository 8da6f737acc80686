"""Builds the wheel and tries it in clean environments: `python scripts/check_wheel.py gate data`.

For each extra once with the newest and once with the lowest versions that pyproject.toml allows. Prints the
size of the environment and the processor time of an import; ends with 1 if something fails or is above
its limit.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
UV: Final = Path(sys.executable).with_name("uv")
RESOLUTIONS: Final = ("highest", "lowest-direct")
_NEEDED: Final = (
    "CHANGELOG.md", "LICENSE", "MANIFEST.in", "README.md", "config", "launch", "pyproject.toml",
    "requirements", "resource", "ros", "src",
)  # fmt: skip
IMPORT: Final = """
import time
begun_s = time.process_time()
import numpy
numpy_s = time.process_time() - begun_s
import embodied_iqa
embodied_iqa.Gate
imported_s = time.process_time() - begun_s
embodied_iqa.Gate("simulated")
print(numpy_s, imported_s, time.process_time() - begun_s)
"""
GATE: Final = """
import pathlib, tempfile
import numpy as np
import embodied_iqa
from embodied_iqa.cli.main import main
from embodied_iqa.imaging.images.codecs import write_image
quality = embodied_iqa.Gate("simulated").judge(np.zeros((48, 64, 3), np.uint8), stamp_ns=1)
assert quality.verdict.name == "REJECT", quality
import embodied_iqa.cli.gate.proxying
random, folder = np.random.default_rng(0), pathlib.Path(tempfile.mkdtemp())
for number in range(24):
    write_image(folder / f"{number}.png", random.integers(40, 200, (48, 64, 3), dtype=np.uint8))
file = str(folder / "mine.yaml")
assert main(["gate", "calibrate", str(folder), "--view", "top", "--out", file]) == 0
assert main(["gate", "check", str(folder), "--view", "top", "--calibration", file]) == 0
"""
DATA: Final = """
import tempfile
import cv2, numpy as np
import embodied_iqa
from embodied_iqa.cli.main import main
image = np.random.default_rng(0).integers(0, 256, (192, 256, 3), dtype=np.uint8)
folder = tempfile.mkdtemp()
cv2.imwrite(f"{folder}/a.png", image)
words = ["--distortion", "02:3", "--distortion", "17:1", "--out", f"{folder}/out"]
assert main(["distort", f"{folder}/a.png", *words]) == 0
assert main(["metrics", "score", "psnr,ssim,ms_ssim,niqe", f"{folder}/out", "--reference", folder]) == 0
assert embodied_iqa.metric("ms_ssim")(image, image) == 1.0
import embodied_iqa.cli.build.building, embodied_iqa.cli.recording, embodied_iqa.pages.reports.stored
"""


@dataclass(frozen=True, slots=True)
class Trial:
    """What an extra has to do.

    Attributes:
        program: Runs in the clean environment; an exception is a failure.
        largest_mb: Of the environment's packages.
        slowest_s: Of the import of the gate, NumPy's included.
    """

    program: str
    largest_mb: float
    slowest_s: float


TRIALS: Final = {"gate": Trial(GATE, 150.0, 0.3), "data": Trial(DATA, 1200.0, 0.6)}


def main() -> int:
    """Build, install, try; return the exit code."""
    parser = argparse.ArgumentParser(description="Build the wheel and try it in clean environments.")
    parser.add_argument("extras", nargs="*", metavar="EXTRA", help=f"of {', '.join(TRIALS)} (default: gate)")
    extras = parser.parse_args().extras or ["gate"]
    if unknown := [extra for extra in extras if extra not in TRIALS]:
        parser.error(f"no trial of {unknown[0]}; available: {', '.join(TRIALS)}")
    with tempfile.TemporaryDirectory() as scratch:
        wheel = _wheel(Path(scratch))
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
        good = [
            _is_good(Path(scratch), wheel, extra, resolution)
            for extra in extras
            for resolution in RESOLUTIONS
        ]
    return 0 if all(good) else 1


def _wheel(scratch: Path) -> Path:
    source = scratch / "source"  # setuptools leaves its folders where it builds
    shutil.copytree(ROOT, source, symlinks=True, ignore=_not_packaged)
    words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*words, "--wheel-dir", str(scratch), str(source)], check=True)
    (wheel,) = scratch.glob("*.whl")
    return wheel


def _not_packaged(folder: str, names: list[str]) -> set[str]:
    """Return what a wheel is not built of, at the top of the working copy."""
    return set(names).difference(_NEEDED) if Path(folder) == ROOT else set()


def _is_good(scratch: Path, wheel: Path, extra: str, resolution: str) -> bool:
    """Install an extra in a new environment and run its program there; print one line."""
    trial, place = TRIALS[extra], scratch / f"{extra}-{resolution}"
    python = place / "bin" / "python"
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, place], check=True)
    asked = f"{wheel.as_posix()}[{extra}]"
    install = [UV, "pip", "install", "--quiet", "--python", python, "--resolution", resolution, asked]
    installed = subprocess.run(install, check=False).returncode == 0
    done = (
        installed and subprocess.run([python, "-c", trial.program], cwd=scratch, check=False).returncode == 0
    )
    if not done:
        print(f"{extra} {resolution}: {'fails' if installed else 'cannot be installed'}")
        return False
    megabytes = sum(file.stat().st_size for file in place.rglob("*") if file.is_file()) / 1e6
    times_s = [[float(word) for word in _output(python, IMPORT).split()] for _ in range(5)]
    numpy_s, taken_s, ready_s = map(min, zip(*times_s, strict=True))
    good = megabytes <= trial.largest_mb and taken_s <= trial.slowest_s
    limits = "" if good else f"; at most {trial.largest_mb:g} MB and {1e3 * trial.slowest_s:g} ms"
    times = f"import of the gate {1e3 * taken_s:.0f} ms, of NumPy alone {1e3 * numpy_s:.0f} ms"
    print(f"{extra} {resolution}: {megabytes:.0f} MB, {times}; ready after {1e3 * ready_s:.0f} ms{limits}")
    return good


def _output(python: Path, program: str) -> str:
    words = [str(python), "-c", program]
    kept = os.environ.keys() - {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}
    alone = {name: os.environ[name] for name in kept}
    return subprocess.run(words, capture_output=True, text=True, check=True, env=alone).stdout


if __name__ == "__main__":
    sys.exit(main())
