"""Builds the wheel and tries it in clean environments: `python scripts/check_wheel.py gate data`.

For each extra once with the newest and once with the lowest versions that pyproject.toml allows. The lowest
are those of the package's own requirements: what these require in turn is the newest. Prints the size of the
environment and the processor time of an import; ends with 1 if something fails or is above its limit, if a
lower end of pyproject.toml cannot be installed, and if both ends are the same versions. An extra that is too
large to install, or needs more than packages, is only resolved.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT: Final = Path(__file__).resolve().parents[1]
UV: Final = Path(sys.executable).with_name("uv")
HIGHEST: Final = "highest"
LOWEST: Final = "lowest-direct"
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
quality = embodied_iqa.Gate("simulated").judge(np.zeros((48, 64, 3), np.uint8), "top", 1)
assert quality.verdict.name == "REJECT", quality
import embodied_iqa.cli.gate.proxying
random, folder = np.random.default_rng(0), pathlib.Path(tempfile.mkdtemp())
for number in range(24):
    write_image(folder / f"{number}.png", random.integers(40, 200, (48, 64, 3), dtype=np.uint8))
file = str(folder / "mine.yaml")
assert main(["gate", "calibrate", str(folder), "--view", "top", "--out", file]) == 0
assert main(["gate", "check", str(folder), "--view", "top", "--calibration", file]) == 0
"""
RECORD: Final = """
import embodied_iqa.cli.gate.proxying, embodied_iqa.data.recording.writer
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
STUDIO: Final = """
import python_multipart, uvicorn
import embodied_iqa.pages.studio.server
"""
CELL: Final = """
import rtde_control, rtde_io, rtde_receive
import embodied_iqa.arm.robot.speed_scaling, embodied_iqa.arm.emulator.emulator
import embodied_iqa.world.simulation.lockstep
"""


@dataclass(frozen=True, slots=True)
class Trial:
    """What an extra has to do.

    Attributes:
        program: Runs in the clean environment; an exception is a failure. Without one, the extra is resolved
            and not installed.
        largest_mb: Of the environment's packages.
        slowest_s: Of the import of the gate with the newest versions, which pip installs; NumPy's included.
    """

    program: str = ""
    largest_mb: float = 1200.0
    slowest_s: float = 0.6


TRIALS: Final = {
    "gate": Trial(GATE, 150.0, 0.3),
    "record": Trial(RECORD, 250.0),
    "data": Trial(DATA),
    "studio": Trial(STUDIO),
    "cell": Trial(CELL),
    "all": Trial(STUDIO + CELL),
    "models": Trial(),  # 5 GB
    "hardware": Trial(),  # needs libraries of the system
    "ros": Trial(),  # needs messages that a checkout builds
}


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
        good = [_are_both_good(Path(scratch), wheel, extra) for extra in extras]
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


def _are_both_good(scratch: Path, wheel: Path, extra: str) -> bool:
    """Try the newest and the lowest versions of an extra; print a line for each, and what is wrong."""
    newest, lowest = (resolved(ROOT / "pyproject.toml", extra, end) for end in (HIGHEST, LOWEST))
    if newest is None or lowest is None:
        print(f"{extra} {HIGHEST if newest is None else LOWEST}: cannot be resolved")
        return False
    wrong = wrong_ends(lower_ends(ROOT / "pyproject.toml", extra), newest, lowest)
    print("".join(f"{extra}: {reason}\n" for reason in wrong), end="")
    ends = ((HIGHEST, newest), (LOWEST, lowest))
    good = [_is_good(scratch, wheel, extra, resolution, versions) for resolution, versions in ends]
    return all(good) and not wrong


def resolved(project: Path, extra: str, resolution: str) -> dict[str, Version] | None:
    """Return the versions of all that an extra of a pyproject.toml installs; None if uv finds none."""
    command = [UV, "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--python", sys.executable]
    done = subprocess.run(
        [*command, "--extra", extra, "--resolution", resolution, project],
        stdout=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    pins = (line.partition(" ;")[0].partition("==") for line in done.stdout.splitlines() if "==" in line)
    return {canonicalize_name(name): Version(pin) for name, _, pin in pins} if done.returncode == 0 else None


def lower_ends(project: Path, extra: str) -> dict[str, Version]:
    """Return the lowest version of each package that an extra asks for itself or by other extras."""
    table = tomllib.loads(project.read_text(encoding="utf-8"))["project"]

    def asked(lines: list[str]) -> Iterator[Requirement]:
        for requirement in map(Requirement, lines):
            if canonicalize_name(requirement.name) != canonicalize_name(table["name"]):
                yield requirement
            for other in requirement.extras if requirement.name == table["name"] else ():
                yield from asked(table["optional-dependencies"][other])

    ends: dict[str, Version] = {}
    for requirement in asked([*table["dependencies"], *table["optional-dependencies"][extra]]):
        name = canonicalize_name(requirement.name)
        for part in requirement.specifier:
            if part.operator == ">=":
                ends[name] = max(ends.get(name, Version("0")), Version(part.version))
    return ends


def wrong_ends(ends: dict[str, Version], newest: dict[str, Version], lowest: dict[str, Version]) -> list[str]:
    """Return what is wrong with the two ends of an extra: a range that others narrow, or one end only."""
    wrong = [
        f"pyproject.toml allows {name} {end}, the others need {lowest[name]}"
        for name, end in ends.items()
        if lowest[name] != end
    ]
    same = all(newest[name] == lowest[name] for name in ends)
    return [*wrong, *(["the newest and the lowest versions are the same"] if same else [])]


def _is_good(scratch: Path, wheel: Path, extra: str, resolution: str, versions: dict[str, Version]) -> bool:
    """Install versions and the wheel in a new environment and run an extra's program; print one line."""
    trial, place = TRIALS[extra], scratch / f"{extra}-{resolution}"
    if not trial.program:
        print(f"{extra} {resolution}: {len(versions)} packages, resolved and not installed")
        return True
    python = place / "bin" / "python"
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, place], check=True)
    install = [UV, "pip", "install", "--quiet", "--no-deps", "--python", python]
    pins = [f"{name}=={version}" for name, version in versions.items()]
    installed = subprocess.run([*install, *pins, wheel], check=False).returncode == 0
    done = (
        installed and subprocess.run([python, "-c", trial.program], cwd=scratch, check=False).returncode == 0
    )
    if not done:
        print(f"{extra} {resolution}: {'fails' if installed else 'cannot be installed'}")
        return False
    megabytes = sum(file.stat().st_size for file in place.rglob("*") if file.is_file()) / 1e6
    times_s = [[float(word) for word in _output(python, IMPORT).split()] for _ in range(5)]
    numpy_s, taken_s, ready_s = map(min, zip(*times_s, strict=True))
    is_slow = resolution == HIGHEST and taken_s > trial.slowest_s
    good = megabytes <= trial.largest_mb and not is_slow
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
