"""The stubs in typings/ match what they describe."""

from __future__ import annotations

import os
import subprocess
import sys

from style_sources import ROOT

from write_message_stubs import TYPINGS, stubs

_OPTIONS = ("--concise", "--ignore-missing-stub", "--mypy-config-file", "pyproject.toml")
_PARTIAL = ("stub does not have", "metaclass differs")
"""Reports of stubtest about what the stubs of rclpy leave out on purpose."""


def test_message_stubs_equal_the_definitions() -> None:
    wanted = stubs()
    packages = {path.parts[0] for path in wanted}
    written = {
        path.relative_to(TYPINGS): path.read_text(encoding="utf-8")
        for path in TYPINGS.rglob("*.pyi")
        if path.relative_to(TYPINGS).parts[0] != "rclpy"
    }
    stale = {path for path in wanted | written if wanted.get(path) != written.get(path)}
    assert packages
    assert not stale, f"run scripts/write_message_stubs.py: {sorted(map(str, stale))}"


def test_rclpy_stubs_describe_the_installed_rclpy() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "rclpy", *_OPTIONS],
        cwd=ROOT,
        env=os.environ | {"MYPYPATH": str(TYPINGS)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    wrong = [
        line
        for line in done.stdout.splitlines()
        if line.startswith("rclpy.")
        and not line.startswith("rclpy.type_support.")  # base classes for the type checker only
        and not any(word in line for word in _PARTIAL)
    ]
    assert "rclpy.type_support.ServiceType is not present at runtime" in done.stdout, (
        done.stdout + done.stderr
    )
    assert not wrong
