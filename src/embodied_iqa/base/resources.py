"""Location of config/, launch/ and the other shared files, in a checkout or an installation.

Three layouts hold them: a checkout (beside `src/`, also with `pip install --editable` and
`colcon build --symlink-install`), a prefix into which pip or colcon installed the package
(`<prefix>/share/embodied_iqa`, the ament convention), and the other prefixes in AMENT_PREFIX_PATH.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from embodied_iqa.base.errors import InputError

_PACKAGE = "embodied_iqa"
_MANIFEST, _CONFIG = "package.xml", "config"
"""Of an installation; an empty share folder does not count."""
_IN_CHECKOUT = "ros"
"""Folder of a checkout that holds the manifest."""


def source_checkout() -> Path | None:
    """Return the checkout that this code runs from, or None if the package is installed."""
    root = Path(__file__).resolve().parents[3]
    return root if _is_checkout(root) else None


def shared_folder() -> Path:
    """Return the folder that holds config/ and launch/.

    Raises:
        InputError: No layout was found: the installation is incomplete.
    """
    tried = list(_candidates())
    for folder in tried:
        if _is_shared(folder):
            return folder
    raise InputError(
        "the shared files of embodied_iqa are not installed",
        expected=f"{_CONFIG}/ and {_MANIFEST}, in a checkout {_IN_CHECKOUT}/{_MANIFEST}, in one of "
        + ", ".join(map(str, tried)),
    )


def shared_file(relative: str) -> Path:
    """Return the path of one shared file or folder.

    Args:
        relative: With forward slashes below the shared folder, such as "config/fastdds_shared_memory.xml".

    Raises:
        InputError: The file does not exist; the message lists the files beside it.
    """
    file = shared_folder() / relative
    if file.exists():
        return file
    neighbours = sorted(item.name for item in file.parent.iterdir()) if file.parent.is_dir() else []
    raise InputError(f"no {file.name} in {file.parent}", available=neighbours)


def _is_shared(folder: Path) -> bool:
    is_installed = (folder / _MANIFEST).is_file() and (folder / _CONFIG).exists()
    return is_installed or _is_checkout(folder)


def _is_checkout(folder: Path) -> bool:
    return (folder / _IN_CHECKOUT / _MANIFEST).is_file() and (folder / _CONFIG).is_dir()


def _candidates() -> Iterator[Path]:
    module = Path(__file__).resolve()
    yield module.parents[3]
    # <prefix>/lib/python3.12/site-packages/embodied_iqa/base/resources.py
    if len(module.parents) > 5:
        yield module.parents[5] / "share" / _PACKAGE
    yield Path(sys.prefix) / "share" / _PACKAGE
    for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
        yield Path(prefix) / "share" / _PACKAGE
