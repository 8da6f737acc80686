"""Set-up writes the bytecode of what later processes import, also where the shell forbids it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from workspace.bytecode import TRIAL
from workspace.layout import Layout
from workspace.ros_source import RosSource
from workspace.steps import Step, steps_for

ROOT = Path(__file__).resolve().parents[3]
_NOT_IN_A_TRIAL = {"kernels.forward", "kernels.expose_mosaic"}
"""Kinematics of many configurations, and cameras of a larger resolution."""
_CACHED_KERNELS = """
from numba.core.dispatcher import Dispatcher
import sys
from workspace.kernels import compile_kernels

def names(kernel):
    called = (kernel.py_func.__globals__.get(name) for name in kernel.py_func.__code__.co_names)
    inner = (names(other) for other in called if isinstance(other, Dispatcher))
    return {f"{kernel.__module__.rpartition('.')[2]}.{kernel.__name__}"}.union(*inner)

said = []
compile_kernels(said.append)
assert said and all(line.startswith(f"kernels {n} of {len(said)}: ") for n, line in enumerate(said, 1)), said
found = set()
for module in list(sys.modules.values()):
    for kernel in vars(module).values() if module.__name__.endswith("kernels") else ():
        if isinstance(kernel, Dispatcher) and kernel.signatures:
            assert {*kernel.stats.cache_hits, *kernel.stats.cache_misses} == set(kernel.signatures), kernel
            found |= names(kernel)
print(*found)
"""
"""Prints the functions that were called, each loaded from the cache or saved there, and what they call."""


def _packages(root: Path) -> Path:
    """Packages of the trial's names, all empty."""
    for name in TRIAL:
        folder = root.joinpath(*name.split("."))
        folder.mkdir(parents=True)
        for parent in [folder, *folder.parents]:
            if parent == root:
                break
            (parent / "__init__.py").touch()
    return root


@pytest.fixture
def step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Step:
    """The step in a working copy whose packages are empty, in a shell that forbids bytecode."""
    layout = Layout(tmp_path / "with space")
    (layout.venv / "bin").mkdir(parents=True)
    layout.python.symlink_to(sys.executable)
    (layout.root / "scripts").symlink_to(ROOT / "scripts")
    monkeypatch.setenv("PYTHONPATH", str(_packages(tmp_path / "packages")))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    return next(step for step in steps_for(layout, RosSource.SOURCED) if step.stamp.name == "bytecode")


def _cached(folder: Path) -> set[str]:
    return {file.name.partition(".")[0] for file in (folder / "__pycache__").glob("*.pyc")}


def test_every_module_of_the_project_below_the_listed_ones_is_cached(
    step: Step, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes, library = tmp_path / "packages/embodied_iqa/live/nodes", tmp_path / "packages/onnxruntime"
    (nodes / "arm").mkdir()
    (nodes / "arm" / "__init__.py").touch()
    (nodes / "arm" / "joint.py").touch()
    (library / "tools.py").touch()
    step.perform()
    assert step.is_current()
    assert _cached(nodes / "arm") == {"__init__", "joint"}
    assert _cached(library) == {"__init__"}, "of a library only what its import loads"
    assert capsys.readouterr().out == ""


def test_what_cannot_be_imported_is_one_line_and_does_not_end_set_up(
    step: Step, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = tmp_path / "packages/embodied_iqa/live/nodes"
    (nodes / "broken.py").write_text("raise ImportError('libEGL.so.1: no such file')\n")
    (nodes / "sound.py").touch()
    step.perform()
    assert step.is_current()
    assert "sound" in _cached(nodes)
    (line,) = capsys.readouterr().out.splitlines()
    assert "bytecode.log" in line
    log = (tmp_path / "with space/.build/bytecode.log").read_text()
    assert "embodied_iqa.live.nodes.broken: ImportError: libEGL.so.1" in log
    assert "Traceback" not in log


def test_a_process_that_dies_does_not_end_set_up(
    step: Step, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "packages/onnxruntime/__init__.py").write_text("import os; os.abort()\n")
    step.perform()
    assert step.is_current()
    assert len(capsys.readouterr().out.splitlines()) == 1


@pytest.mark.parametrize("option", [[], ["--models"]], ids=["trial", "models"])
def test_everything_listed_can_be_imported(option: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "workspace.bytecode", *option],
        cwd=ROOT / "scripts",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


def test_every_kernel_of_a_trial_is_in_the_cache() -> None:
    """Each signature was loaded from the cache, or compiled and then saved there."""
    done = subprocess.run(
        [sys.executable, "-c", _CACHED_KERNELS],
        cwd=ROOT / "scripts",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    missing = _compiled_functions() - _NOT_IN_A_TRIAL - set(done.stdout.split())
    assert not missing


def _compiled_functions() -> set[str]:
    """Name of module and function of everything with the decorator `compiled`."""
    found = set()
    for file in (ROOT / "src").rglob("*kernels.py"):
        text = file.read_text(encoding="utf-8")
        found |= {
            f"{file.stem}.{name}" for name in re.findall(r"^@compiled\ndef (\w+)\(", text, re.MULTILINE)
        }
    return found
