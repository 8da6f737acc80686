"""The linters and the type checker run as tests, so that pytest alone shows what they say."""

from __future__ import annotations

import subprocess
import sys

from style_sources import ROOT


def _run(*words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}"


def test_ruff_rules() -> None:
    _run("ruff", "check", "--quiet", ".")


def test_ruff_format() -> None:
    _run("ruff", "format", "--check", "--quiet", ".")


def test_mypy_strict() -> None:
    """One run for the package, the scripts, the policy host and the benchmarks: pyproject.toml lists them."""
    _run("mypy")
