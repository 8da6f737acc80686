"""The gate needs nothing but the extra `gate`, and measures without OpenCV what it measures with it."""

from __future__ import annotations

import argparse
import dataclasses
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

import cv2
import numpy as np
import pytest

from embodied_iqa.base.errors import MissingDependencyError
from embodied_iqa.base.lazy import INSTALL_CELL, INSTALL_DATA, INSTALL_STUDIO, OF_ALL, install_of
from embodied_iqa.base.pins import read_pins
from embodied_iqa.base.resources import source_checkout
from embodied_iqa.cli import gate
from embodied_iqa.quality.gate import image_filters, image_statistics, portable_opencv

ONLY = """
import importlib.abc, sys

allowed, standard = set(sys.argv[1].split(",")), sys.stdlib_module_names

class Only(importlib.abc.MetaPathFinder):
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in allowed | standard:
            return self.finder.find_spec(name, path, target)

before = {name.partition(".")[0] for name in sys.modules}
sys.meta_path[:] = map(Only, sys.meta_path)
"""
GATE = """
import numpy as np
import embodied_iqa

quality = embodied_iqa.Gate(sys.argv[2]).judge(np.zeros((48, 64, 3), np.uint8), "top", 1)
assert quality.verdict.name == "REJECT", quality
print(quality.reason)
"""
LOADED = """
files = [name for name, module in sys.modules.items() if getattr(module, "__file__", None)]
print(",".join({name.partition(".")[0] for name in files} - before - standard))
"""
FILE = "config/gate/simulated.yaml"


def _key(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _extra(name: str) -> set[str]:
    """Packages that an extra lists itself."""
    project = tomllib.loads(((source_checkout() or Path()) / "pyproject.toml").read_text())["project"]
    lines = project["optional-dependencies"][name]
    return {_key(re.match(r"[\w.-]+", line)[0]) for line in lines} - {"embodied-iqa"}


def _allowed(*more: str) -> set[str]:
    """Import names of the packages of the extra `gate`, of further extras, and of what these require."""
    root = source_checkout() or Path()
    found, waiting = set(), {pin.key for pin in read_pins(root / "requirements" / "gate.txt")}
    waiting |= {key for name in more for key in _extra(name)}
    while waiting:
        found |= waiting
        lines = [
            line for name in waiting for line in distribution(name).requires or () if "extra ==" not in line
        ]
        waiting = {_key(re.match(r"[\w.-]+", line)[0]) for line in lines} - found
        waiting = {name for name in waiting if _is_installed(name)}
    owners = packages_distributions().items()
    return {module for module, names in owners if found & {_key(name) for name in names}} | {"embodied_iqa"}


def _is_installed(name: str) -> bool:
    try:
        distribution(name)
    except ModuleNotFoundError:  # of another platform or Python
        return False
    return True


def _run(program: str) -> str:
    file = str((source_checkout() or Path()) / FILE)
    words = [sys.executable, "-c", program, ",".join(_allowed()), file]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_gate_is_made_and_judges_with_the_packages_of_the_extra() -> None:
    reason, loaded = _run(ONLY + GATE + LOADED).splitlines()
    assert reason
    assert set(loaded.split(",")) <= {
        "embodied_iqa",
        "numpy",
        "cattrs",
        "attr",
        "attrs",
        "typing_extensions",
        "yaml",
    }


def test_the_proxy_starts_with_the_packages_of_the_extra() -> None:
    _run(f"{ONLY}\nimport embodied_iqa.cli.gate.proxying")


def test_other_commands_say_in_one_line_what_to_install() -> None:
    program = """
from embodied_iqa.cli.main import main
check = "gate check i.mcap --calibration " + sys.argv[2]
lines = "tasks make --scenes 1", "trial --help", "metrics list", "completion bash", check
print([main(line.split()) for line in lines])
"""
    file = str((source_checkout() or Path()) / FILE)
    words = [sys.executable, "-c", ONLY + program, ",".join(_allowed()), file]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout == "[1, 1, 1, 1, 1]\n", done.stderr
    lines = done.stderr.splitlines()
    only = "from anything but a folder of PNG and JPEG files needs more than the extra `gate`: "
    assert f"gate check {only}" in lines[-1]
    assert lines[-1].endswith("; or check the file on another machine")
    assert len(lines) == 5, done.stderr
    assert all("is not installed; expected pip install 'embodied_iqa[data]'" in line for line in lines), lines


def test_a_calibration_from_a_recording_is_made_elsewhere() -> None:
    program = """
from embodied_iqa.cli.main import main
print(main(["gate", "calibrate", "trial.mcap", "--view", "top", "--out", "mine.yaml"]))
"""
    words = [sys.executable, "-c", ONLY + program, ",".join(_allowed())]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout == "1\n", done.stderr
    (line,) = done.stderr.splitlines()
    only = "from anything but a folder of PNG and JPEG files needs more than the extra `gate`: "
    assert f"gate calibrate {only}" in line
    assert "expected pip install 'embodied_iqa[data]'; or make the file on another machine" in line


def test_what_a_judge_of_image_files_lacks_is_named_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def perform(*_: object) -> int:
        raise MissingDependencyError("onnxruntime is not installed")

    monkeypatch.setattr(gate, "perform", perform)
    with pytest.raises(MissingDependencyError, match=r"^onnxruntime is not installed$"):
        gate.run(argparse.Namespace(action="check", source=tmp_path))


def test_modules_of_all_packages_are_known() -> None:
    folder = (source_checkout() or Path()) / "requirements"
    light = {pin.key for pin in read_pins(folder / "gate.txt")}
    for key in {pin.key for pin in read_pins(folder / "core.txt")} - light:
        modules = {file.parts[0].partition(".")[0] for file in distribution(key).files or ()}
        assert modules & OF_ALL, key


def test_the_extra_is_named_that_has_the_module() -> None:
    """An extra may narrow the range of a package that every installation has, such as NumPy's."""
    light = {pin.key for pin in read_pins((source_checkout() or Path()) / "requirements" / "gate.txt")}
    for extra, command in (
        ("record", INSTALL_DATA),
        ("data", INSTALL_DATA),
        ("studio", INSTALL_STUDIO),
        ("cell", INSTALL_CELL),
    ):
        for key in _extra(extra) - light:
            modules = {file.parts[0].partition(".")[0] for file in distribution(key).files or ()}
            assert {install_of(one) for one in modules & OF_ALL} == {command}, key


@pytest.mark.parametrize("more", [(), ("record", "data")], ids=["gate", "data"])
@pytest.mark.parametrize("ending", ["png", "jpg"])
def test_an_extra_is_enough_to_calibrate_and_check(
    more: tuple[str, ...], ending: str, tmp_path: Path
) -> None:
    random = np.random.default_rng(4)
    scene = cv2.resize(random.integers(40, 200, (6, 8, 3), dtype=np.uint8), (64, 48))
    for number in range(24):
        noise = random.integers(0, 9, scene.shape, dtype=np.uint8)
        cv2.imwrite(str(tmp_path / f"{number:02d}.{ending}"), scene + noise)
    program = """
from embodied_iqa.cli.main import main
folder = sys.argv[2]
view, out = ["--view", "top"], folder + "/mine.yaml"
assert main(["gate", "calibrate", folder, *view, "--out", out]) == 0
assert main(["gate", "check", folder, *view, "--calibration", out]) == 0
"""
    words = [sys.executable, "-c", ONLY + program, ",".join(_allowed(*more)), str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_cannot_be_read_is_left_out_and_the_rest_judged(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    for number in range(24):
        clean = random.integers(90, 99, (48, 64, 3), dtype=np.uint8)
        cv2.imwrite(str(tmp_path / f"{number:02d}.png"), clean)
    cv2.imwrite(str(tmp_path / "six16.png"), clean.astype(np.uint16) * 257)
    content = (tmp_path / "00.png").read_bytes()
    (tmp_path / "corrupt.png").write_bytes(content[: len(content) // 2])
    program = """
from embodied_iqa.cli.main import main
folder = sys.argv[2]
view, out = ["--view", "top"], folder + "/mine.yaml"
assert main(["gate", "calibrate", folder, *view, "--out", out]) == 1
assert main(["gate", "check", folder, *view, "--calibration", out]) == 1
"""
    words = [sys.executable, "-c", ONLY + program, ",".join(_allowed()), str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "24 pass" in done.stdout
    cut = f"left out: {str(tmp_path / 'corrupt.png')!r} is a truncated PNG file"
    opencv = "which needs OpenCV: pip install opencv-python-headless\n"
    deep = f"left out: {str(tmp_path / 'six16.png')!r} has 16 bits a channel, {opencv}"
    assert (done.stderr.count(cut), done.stderr.count(deep)) == (2, 2)
    assert "anything but a folder" not in done.stderr


def test_the_light_sets_have_the_tested_versions() -> None:
    folder = (source_checkout() or Path()) / "requirements"
    core = set(read_pins(folder / "core.txt"))
    assert {*read_pins(folder / "gate.txt"), *read_pins(folder / "record.txt")} <= core


def _images(height: int, width: int) -> list[np.ndarray]:
    random = np.random.default_rng(39)
    noise = random.integers(0, 256, (height, width, 3), dtype=np.uint8)
    blocks = random.integers(0, 256, (8, 8, 3), dtype=np.uint8)
    smooth = cv2.resize(blocks, (width, height), interpolation=cv2.INTER_CUBIC)
    return [noise, smooth, np.full_like(noise, 255), np.where(noise > 250, 255, smooth).astype(np.uint8)]


@pytest.mark.parametrize("size", [(16, 16), (17, 33), (48, 64), (224, 224), (225, 319), (480, 640)])
def test_statistics_without_opencv_are_those_with_it(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for image in _images(*size):
        expected = dataclasses.asdict(image_statistics.measure(image))
        with monkeypatch.context() as patch:
            for module in (image_statistics, image_filters):
                patch.setattr(module, "cv2", portable_opencv)
            assert dataclasses.asdict(image_statistics.measure(image)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("size", [(74, 79), (82, 79), (51, 128), (118, 111), (24, 27), (225, 319)])
def test_an_image_of_odd_size_is_halved_pixel_by_pixel_as_by_opencv(size: tuple[int, int]) -> None:
    height, width = size
    half = (width // 2, height // 2)
    for image in (one // levels * levels for one in _images(*size) for levels in (1, 64)):  # many ties
        expected = cv2.resize(image, half, interpolation=cv2.INTER_AREA)
        assert np.array_equal(portable_opencv.resize(image, half), expected)
