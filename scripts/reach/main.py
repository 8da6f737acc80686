"""Runs ruff, mypy and the tests that a change can reach; says how many of all tests that are, and why.

A change is what differs from the base: commits, uncommitted and untracked files. The base is where the branch
left origin/main, or the commit before the last one where nothing differs from that. In a clone of one commit
it is that commit, and where nothing differs from it, all tests run.

Where the tests take longer than --seconds, those run that import the change and then the nearest ones,
counted in imports; how many are left to `make test` is printed. Where it is not known what a change reaches,
all run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from reach.selection import Selection, changed_files, durations, select

__all__ = ["default_base", "main"]

ROOT = Path(__file__).resolve().parents[2]
TOOLS = "tests/style/test_style_tools.py"
"""Runs the linters and the type checker, which have been run by then."""
_SHOWN = 12
_SECONDS = 200.0
"""Of tests; on two processors, with linters and types beside them, about two and a half minutes."""
LINTERS = (("ruff", "check", "."), ("ruff", "format", "--check", "."))


def main(words: Sequence[str] | None = None) -> int:
    """Run the command: 0 where all is well, 1 where something fails, 2 for wrong words."""
    parser = argparse.ArgumentParser(prog="make check", description=__doc__)
    parser.add_argument("--base", help="commit to compare with (default: where the branch left origin/main)")
    parser.add_argument("--list", action="store_true", help="only print what would be run")
    parser.add_argument("--workers", default="3", help="processes of the tests (default 3)")
    parser.add_argument(
        "--seconds", type=float, default=_SECONDS, help="of the tests of all processes (default %(default)g)"
    )
    parser.add_argument("--all", action="store_true", help="all tests that the change can reach")
    arguments = parser.parse_args(words)
    begun = time.monotonic()
    base = arguments.base or default_base(ROOT)
    if _commit(ROOT, base) is None:
        parser.error(f"--base: no commit {base!r}")
    there, gone = changed_files(ROOT, base)
    print(f"check: {len(there) + len(gone)} files differ from {base}", flush=True)
    try:
        selection = select(ROOT, there, gone)
    except SyntaxError as error:
        print(f"check: {error.filename}:{error.lineno}: {error.msg}", file=sys.stderr)
        return 1
    if not (arguments.base or there or gone):
        selection.add("no file", selection.every, "an earlier commit is not here: everything")
    chosen = selection.tests
    if not (arguments.all or selection.whole):
        chosen = selection.nearest(durations(ROOT) | {TOOLS: 0.0}, arguments.seconds)
    _explain(selection, len(chosen))
    if arguments.list:
        print("\n".join(sorted(chosen)))
        return 0
    failed = [" ".join(command) for command in LINTERS if not _runs("-m", *command)]
    types = subprocess.run(["make", "--no-print-directory", "types"], cwd=ROOT, check=False)
    failed += ["make types"] if types.returncode else []
    chosen -= {TOOLS}
    if not _runs("-m", "pytest", "-q", "--strict-skips", "--workers", arguments.workers, *sorted(chosen)):
        failed.append("tests")
    seconds = time.monotonic() - begun
    print(f"check: ran {len(chosen)} of {len(selection.every) - 1} test files in {seconds:.0f} s", end="; ")
    print(f"failed: {', '.join(failed)}" if failed else "all is well")
    return 1 if failed else 0


def _runs(*words: str) -> bool:
    return subprocess.run([sys.executable, *words], cwd=ROOT, check=False).returncode == 0


def _commit(root: Path, name: str) -> str | None:
    words = ["git", "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


def default_base(root: Path) -> str:
    """Where the branch left origin/main; the commit before the last where nothing has changed since."""
    if _commit(root, "origin/main") is not None:
        words = ["git", "merge-base", "HEAD", "origin/main"]
        fork = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False).stdout.strip()
        if fork and any(changed_files(root, fork)):
            return fork[:12]
    return "HEAD~1" if _commit(root, "HEAD~1") is not None else "HEAD"  # a shallow clone of one commit


def _explain(selection: Selection, run: int) -> None:
    for line in selection.reasons[:_SHOWN]:
        print(f"  {line}")
    if len(selection.reasons) > _SHOWN:
        print(f"  and {len(selection.reasons) - _SHOWN} more files")
    reached = len(selection.tests)
    what = "everything" if selection.whole else f"{reached} of {len(selection.every)} test files"
    print(f"check: selected {what}", flush=True)
    if run < reached:
        far = f"{reached - run} that reach the change through others only are left to make test"
        print(f"check: running the nearest {run}; {far}, or run all: make check ARGS=--all", flush=True)
