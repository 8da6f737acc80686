"""The linters and the type checker run as tests, so that pytest alone shows what they say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from style_sources import ROOT

_CALLER = """\
from typing import assert_type
import numpy as np
from numpy.typing import NDArray
import embodied_iqa

image = np.zeros((16, 16, 3), np.uint8)
assert_type(embodied_iqa.distort(image, "01:1"), NDArray[np.uint8])
assert_type(embodied_iqa.distort("a.png", "01:1"), NDArray[np.uint8])
assert_type(embodied_iqa.metric("ssim")("a.png", "b.png"), float)
assert_type(embodied_iqa.measure("a.png", "b.png"), float)
repair = embodied_iqa.RepairOptions(allowed=("exposure",))
embodied_iqa.Gate("mine.yaml", embodied_iqa.GateOptions(mode="shadow", kind="learned", repair=repair))
embodied_iqa.GateOptions(mode="shadwo")
embodied_iqa.metrc("ssim")
"""
"""What a user's type checker must take, and two misspelt words at its end."""


def _run(*words: str) -> None:
    done = _done(*words)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}"


def _done(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def test_ruff_rules() -> None:
    _run("ruff", "check", "--quiet", ".")


def test_ruff_format() -> None:
    _run("ruff", "format", "--check", "--quiet", ".")


def test_mypy_strict() -> None:
    """One run for the package, the scripts, the policy host and the benchmarks: pyproject.toml lists them."""
    _run("mypy")


def test_a_type_checker_takes_right_calls_of_the_package_and_finds_misspelt_names(tmp_path: Path) -> None:
    caller = tmp_path / "caller.py"
    caller.write_text(_CALLER, encoding="utf-8")
    done = _done("mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path}", str(caller))
    found = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert len(found) == 2, done.stdout
    assert "shadwo" in found[0]
    assert 'no attribute "metrc"; maybe "metric"?' in found[1]
