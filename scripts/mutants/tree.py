"""Copy of the working copy in which mutants are written, and the test of one mutant there."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mutants.children import in_child, interpret_kernels, run_pytest
from mutants.operators import Mutant
from mutants.plugin import Recorder


@contextmanager
def locked_tree(root: Path, store: Path) -> Iterator[Path]:
    """Give the copy in ``store``, brought up to date with ``root``, to one process at a time.

    Raises:
        SystemExit: another run uses it.
    """
    tree = store / "tree"
    tree.mkdir(parents=True, exist_ok=True)
    with (store / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(
                f"another run uses {store}; give this one a folder of its own: --store DIR"
            ) from None
        _bring_up_to_date(root, tree)
        yield tree


def _bring_up_to_date(root: Path, tree: Path) -> None:
    command = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True).stdout.decode()
    names = {name for name in listed.split("\0") if name and (root / name).is_file()}
    for old in [path for path in tree.rglob("*") if path.is_file()]:
        if str(old.relative_to(tree)) not in names:
            old.unlink()
    for name in names:
        target = tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.is_file() or target.read_bytes() != (root / name).read_bytes():
            shutil.copy2(root / name, target)
    subprocess.run(["git", "init", "-q", str(tree)], check=True)  # tests that ask git see this tree only


def try_mutant(
    tree: Path, mutant: Mutant, tests: list[str], limit_s: float, *, interpreted: bool
) -> tuple[str, str]:
    """Run tests against one mutant. Returns its outcome and the first test that failed."""
    path = tree / mutant.file
    source = path.read_bytes()

    def work() -> object:
        if interpreted:
            interpret_kernels()
        recorder = Recorder()
        return [run_pytest(tests, recorder, stop=True), recorder.failed]

    path.write_bytes(mutant.applied_to(source))
    try:
        answer: Any = in_child(work, tree, limit_s)
    finally:
        path.write_bytes(source)
    if answer is None:
        return "late", ""
    code, failed = answer
    return ("survived", "") if code in {0, 5} else ("killed", failed[0] if failed else "collection")
