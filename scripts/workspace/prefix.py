"""Makes the virtual environment a prefix in which ament tools find the package, by links to the sources.

An editable installation copies no data files. With these links `ros2 run`, `ros2 launch` and the ament index
find nodes, launch files and parameters in .venv, always as they are in the working copy.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from workspace.layout import Layout

__all__ = ["publish"]

_NAME = "embodied_iqa"
_SHARED = ("package.xml", "launch", "config", "requirements")


def publish(layout: Layout) -> None:
    """Link the package's shared files and executables into the environment."""
    share = _fresh(layout.venv / "share" / _NAME)
    for name in _SHARED:
        if (layout.root / name).exists():
            (share / name).symlink_to(layout.root / name)
    executables = _fresh(layout.venv / "lib" / _NAME)
    for node in sorted((layout.root / "resource" / "executables").glob("*_node")):
        (executables / node.name).symlink_to(node)
    index = layout.venv / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True, exist_ok=True)
    (index / _NAME).touch()
    # colcon searches below the folder it is started in; what the wheels brought is not to be built.
    for folder in (layout.venv, layout.build):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "COLCON_IGNORE").touch()


def _fresh(folder: Path) -> Path:
    """An empty folder in the place of whatever was there (links are removed, not followed)."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
