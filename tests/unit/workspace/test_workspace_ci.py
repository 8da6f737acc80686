"""Continuous integration: a signal to its script ends the runs on both Pythons and loses no output."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
from pathlib import Path

import pytest

from live_process import COMPLETION_S, completed, running_program

ROOT = Path(__file__).resolve().parents[3]
MAKE = f"""#!{sys.executable}
import os, signal, sys
from pathlib import Path

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
name = "second" if "VENV=.venv-3.12" in sys.argv else "first"
if "docs" in sys.argv:
    print("a site", flush=True)
    sys.exit(int(os.environ["SITE"]))
if "test" not in sys.argv:
    sys.exit()
print(name, "begins", flush=True)
if os.environ["ENDS"]:
    print("=== 2 passed in", {{"first": "2.50s", "second": "1.25s"}}[name], "===")
    sys.exit()
Path(name).touch()
signal.sigwait([signal.SIGINT])
print(name, "says how far it came", flush=True)
sys.exit(2)
"""
PYTHON = f"""#!/bin/sh
case "$1" in
    -c) ;;
    --version) echo Python ;;
    *) exec {sys.executable} "$@" ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout in which `make` and both Pythons are the test's."""
    root = tmp_path / "checkout"
    for name in (".ci/run", "scripts/closing_line.py", "tests/lists/second-python.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    (root / "bin").mkdir()
    for name, text in {"make": MAKE, "python3.11": PYTHON, "python3.12": PYTHON}.items():
        (root / "bin" / name).write_text(text)
        (root / "bin" / name).chmod(0o755)
    return root


def variables(checkout: Path, ends: str, site: int = 0) -> dict[str, str]:
    path = os.pathsep.join([str(checkout / "bin"), os.environ["PATH"]])
    return {
        "PATH": path,
        "ENDS": ends,
        "SITE": str(site),
        "HOME": str(checkout),
        "TMPDIR": str(checkout / "tests"),
    }


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_both_runs_and_leaves_their_output(
    checkout: Path, tmp_path: Path, sent: signal.Signals, code: int
) -> None:
    command = ["bash", str(checkout / ".ci" / "run")]
    with running_program(command, tmp_path / "logs", variables(checkout, "")) as program:
        begun = [checkout / "first", checkout / "second"]
        program.wait_until(lambda: all(file.exists() for file in begun), "both run", COMPLETION_S)
        program.process.send_signal(sent)
        assert program.wait(COMPLETION_S) == code
        assert not program.running()
        lines = program.stdout.splitlines()
    assert lines[-4:] == [
        "first begins",
        "first says how far it came",
        "3.12 second begins",
        "3.12 second says how far it came",
    ]
    assert not list((checkout / "tests").glob("tmp.*")), "the logs are removed"


def test_two_runs_end_with_one_closing_line(checkout: Path, tmp_path: Path) -> None:
    command = ["bash", str(checkout / ".ci" / "run")]
    program = completed(command, tmp_path / "logs", COMPLETION_S, variables(checkout, "yes"))
    assert program.stdout.splitlines()[-6:] == [
        "first begins",
        "=== 2 passed in 2.50s ===",
        "3.12 second begins",
        "3.12 === 2 passed in 1.25s ===",
        "3.12 a site",
        "===== 4 passed in 2.50s =====",
    ]


@pytest.mark.parametrize("pythons", [("python3.11", "python3.12"), ("python3.11",)], ids=len)
def test_a_site_that_is_not_built_fails_and_the_tests_run(
    checkout: Path, tmp_path: Path, pythons: tuple[str, ...]
) -> None:
    if len(pythons) == 1:  # hides one that the machine has
        (checkout / "bin" / "python3.12").write_text("#!/bin/sh\nexit 1\n")
    command = ["bash", str(checkout / ".ci" / "run")]
    with running_program(command, tmp_path / "logs", variables(checkout, "yes", site=1)) as program:
        assert program.wait(COMPLETION_S) == 1
    lines = [line.removeprefix("3.12 ") for line in program.stdout.splitlines()]
    assert lines[lines.index("a site") + 1] == "ci: the site is not built: make docs"
    assert re.fullmatch(r"=+ \d passed in 2.50s =+", lines[-1])
