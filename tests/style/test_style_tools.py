"""The linters and the type checker run as tests, so that pytest alone shows what they say."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from style_sources import ROOT


def _run(*words: str, **variables: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=ROOT,
        env=os.environ | variables,
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


@pytest.mark.timeout(600)
def test_mypy_strict_package() -> None:
    _run("mypy")


@pytest.mark.timeout(600)
def test_mypy_strict_setup() -> None:
    _run("mypy", "-p", "workspace", "-p", "mutants", "-p", "reach", "-p", "stress", MYPYPATH="scripts")


@pytest.mark.timeout(600)
def test_mypy_strict_policy_host() -> None:
    _run("mypy", "-p", "policy_host", MYPYPATH="docker/policies:src")


@pytest.mark.timeout(600)
def test_mypy_strict_benchmarks() -> None:
    """Libraries that only benchmarks call have functions without types."""
    _run("mypy", "--allow-untyped-calls", "benchmarks", MYPYPATH="benchmarks:tests")
