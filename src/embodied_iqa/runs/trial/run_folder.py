"""Folder of a run: creation, and the provenance that is stored in it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib import metadata
from itertools import count
from pathlib import Path
from typing import Any

from embodied_iqa import __version__
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.resources import source_checkout
from embodied_iqa.base.user_files.yaml_files import dump_yaml
from embodied_iqa.base.user_folders import cache_folder
from embodied_iqa.world.scenes.scene import WORLD_VERSION
from embodied_iqa.world.tasks.instruction import parse_instruction

_CONFIG = "config.yaml"
_LEFT_BY_A_START = frozenset({"log", _CONFIG})
_SLUG_LETTERS = 100
_PACKAGES = (
    "numpy",
    "scipy",
    "opencv-python-headless",
    "mujoco",
    "numba",
    "mcap",
    "rosbags",
    "sacrebleu",
    "ros-rclpy",
)


def new_run_id(now: datetime) -> str:
    """Return the name of a run: the time of its start."""
    return now.strftime("%Y-%m-%d_%H%M%S")


def slug(words: str) -> str:
    """Return words as a part of the name of a file or folder; different words may have the same one."""
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-") or "task"


def task_slug(task: str) -> str:
    """Return a task as a part of the name of a folder: different tasks have different ones.

    A sentence that is not in the plain words of the simulated cell, which are their own name, carries a hash.
    """
    words = slug(task)
    if words.replace("-", " ") == task or _is_canonical(task):
        return words if len(words) <= _SLUG_LETTERS else _hashed(words, task)
    return _hashed(words, task)


def _hashed(words: str, task: str) -> str:
    return f"{words[:_SLUG_LETTERS].rstrip('-')}-{hashlib.sha256(task.encode()).hexdigest()[:8]}"


def _is_canonical(task: str) -> bool:
    """Return whether a task is in the canonical words of the cell, where the marks A and B are capitals."""
    try:
        return str(parse_instruction(task)) == task
    except UsageError:
        return False


def make_run_folder(path: Path) -> Path:
    """Create the folder of a run, or use that of a start that failed: it holds only logs and configuration.

    Raises:
        InputError: It holds anything else, or cannot be created.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(_is_result(entry) for entry in path.iterdir()):
            expected = f"a new or empty folder, such as {_unused(path)}"
            raise InputError(f"the run folder {path} is not empty", expected=expected)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise InputError(f"cannot write to the run folder {path}: {error.strerror}") from None
    return path.resolve()


def drop_unbegun(path: Path, recordings: Sequence[Path], *, keep_logs: bool) -> Path | None:
    """Remove the run folder of a trial that ended before its first run began.

    Only what such a start writes is removed, and a folder that holds anything else stays.

    Args:
        path: The run folder.
        recordings: Files that the trial would have written.
        keep_logs: Move the logs of the nodes to the user's cache, in place of those of an earlier start.

    Returns:
        Folder of the logs; None where none are kept.
    """
    logs, kept = path / "log", cache_folder() / "failed-start"
    keeps = keep_logs and logs.is_dir()
    if keeps:
        shutil.rmtree(kept, ignore_errors=True)
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(logs, kept)
    else:
        shutil.rmtree(logs, ignore_errors=True)
    for file in (path / _CONFIG, *recordings):
        file.unlink(missing_ok=True)
    for folder in dict.fromkeys((*(recording.parent for recording in recordings), path)):
        with contextlib.suppress(OSError):  # it is not there, or holds what is not of this start
            folder.rmdir()
    return kept if keeps else None


def _unused(path: Path) -> Path:
    """Return the first of ``NAME-2``, ``NAME-3`` and so on that does not exist."""
    names = (path.with_name(f"{path.name}-{number}") for number in count(2))
    return next(name for name in names if not name.exists())


def _is_result(entry: Path) -> bool:
    """Return whether a run folder holds more than a start that failed leaves."""
    if entry.name in _LEFT_BY_A_START:
        return False
    return not entry.is_dir() or any(entry.iterdir())


def versions() -> dict[str, str]:
    """Return the versions of this package, its world, Python and the packages that affect the numbers."""
    found = {
        "embodied_iqa": __version__,
        "world": str(WORLD_VERSION),
        "python": platform.python_version(),
    }
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed by pip"
    return found


def git_hash() -> str:
    """Return the commit of this checkout, with `+changes` if files differ; `unknown` without a checkout."""
    commit = _git("rev-parse", "HEAD")
    changes = _git("status", "--porcelain")
    return "unknown" if commit is None or changes is None else commit + ("+changes" if changes else "")


def commit_and_date(besides: str) -> tuple[str, str]:
    """Return the commit of this checkout, 8 digits, and its date, YYYY-MM-DD; empty without a checkout.

    The commit is followed by ``with changes`` if files differ.

    Args:
        besides: Folder of the checkout whose changes do not count.
    """
    found = _git("show", "-s", "--date=short", "--format=%H %ad", "HEAD")
    changes = _git("status", "--porcelain", "--", ".", f":(exclude){besides}")
    if found is None or changes is None:
        return "", ""
    commit, date = found.split()
    return commit[:8] + (" with changes" if changes else ""), date


def _git(*arguments: str) -> str | None:
    """Return what git says of this checkout; None without a checkout, a repository or git."""
    root = source_checkout()
    if root is None:
        return None
    command = ["git", "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)  # noqa: S603 - git
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def write_json(path: Path, tree: Mapping[str, Any] | Sequence[Any]) -> None:
    """Write JSON, whole or not at all; NaN is refused."""
    write_text_whole(path, json.dumps(tree, indent=2, allow_nan=False, ensure_ascii=False) + "\n")


def write_yaml(path: Path, tree: Mapping[str, Any]) -> None:
    """Write YAML, whole or not at all."""
    write_text_whole(path, dump_yaml(dict(tree)))
