"""Finds config/, launch/ and the other shared files, in a source checkout as well as installed.

Three layouts hold them: a checkout (beside `src/`, also with `pip install --editable` and
`colcon build --symlink-install`), a prefix into which pip or colcon installed the package
(`<prefix>/share/embodied_iqa`, the ament convention), and other prefixes that AMENT_PREFIX_PATH names.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from embodied_iqa.errors import InputError

__all__ = ["shared_file", "shared_folder", "source_checkout"]

_PACKAGE = "embodied_iqa"
_MARKS = ("package.xml", "config")
"""What every layout has: an empty share folder of another package is not mistaken for ours."""


def source_checkout() -> Path | None:
    """Return the checkout that this code runs from, or None where the package is installed."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / "setup.py").is_file() and _is_shared(root) else None


def shared_folder() -> Path:
    """Return the folder that holds config/ and launch/.

    Raises:
        InputError: None of the three layouts is there: the installation is not whole.
    """
    tried = list(_candidates())
    for folder in tried:
        if _is_shared(folder):
            return folder
    raise InputError(
        "the shared files of embodied_iqa are not installed",
        expected="config/ and package.xml in one of " + ", ".join(map(str, tried)),
    )


def shared_file(relative: str) -> Path:
    """Return the path of one shared file or folder.

    Args:
        relative: With forward slashes below the shared folder, such as "config/fastdds_shared_memory.xml".

    Raises:
        InputError: It is not there; the message lists its neighbours.
    """
    file = shared_folder() / relative
    if file.exists():
        return file
    neighbours = sorted(item.name for item in file.parent.iterdir()) if file.parent.is_dir() else []
    raise InputError(f"no {file.name} in {file.parent}", available=neighbours)


def _is_shared(folder: Path) -> bool:
    return all((folder / mark).exists() for mark in _MARKS)


def _candidates() -> Iterator[Path]:
    module = Path(__file__).resolve()
    yield module.parents[2]
    # <prefix>/lib/python3.12/site-packages/embodied_iqa/resources.py
    if len(module.parents) > 4:
        yield module.parents[4] / "share" / _PACKAGE
    yield Path(sys.prefix) / "share" / _PACKAGE
    for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
        yield Path(prefix) / "share" / _PACKAGE
