"""Makes the virtual environment a prefix in which ament tools find the package, by links to the sources.

An editable installation copies no data files. With these links `ros2 run`, `ros2 launch` and the ament index
find nodes, launch files and parameters in .venv, always as they are in the working copy.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from workspace.layout import Layout
from workspace.ros_source import RosSource

__all__ = ["publish"]

_ROS2 = """\
#!/bin/sh
# `ros2` of the sourced ROS, run by this environment's Python: the system's does not have the packages that
# launch files import, and does not look for our nodes and interfaces here.
prefix=$(cd "$(dirname "$0")/.." && pwd)
AMENT_PREFIX_PATH=$prefix${AMENT_PREFIX_PATH:+:$AMENT_PREFIX_PATH}
LD_LIBRARY_PATH=$prefix/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export AMENT_PREFIX_PATH LD_LIBRARY_PATH
run='import sys; from ros2cli.cli import main; sys.argv[0] = "ros2"; sys.exit(main())'
exec "$prefix/bin/python" -c "$run" "$@"
"""

_NAME = "embodied_iqa"
_SHARED = ("ros/package.xml", "config", "requirements")


def publish(layout: Layout, source: RosSource) -> None:
    """Link the shared files and executables into the environment; beside a sourced ROS, add `ros2`."""
    share = _fresh(layout.venv / "share" / _NAME)
    for name in _SHARED:
        if (layout.root / name).exists():
            _link(share / Path(name).name, layout.root / name)
    # Real folders with links to files: `ros2 launch` does not look into linked folders.
    for file in sorted((layout.root / "launch").glob("*.py")):
        _link(share / "launch" / file.name, file)
    executables = _fresh(layout.venv / "lib" / _NAME)
    for node in sorted((layout.root / "resource" / "executables").glob("*_node")):
        _link(executables / node.name, node)
    index = layout.venv / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True, exist_ok=True)
    (index / _NAME).touch()
    if source is RosSource.SOURCED:
        command = layout.venv / "bin" / "ros2"
        command.write_text(_ROS2, encoding="ascii")
        command.chmod(0o755)
    # colcon searches below the folder it is started in; what the wheels brought is not to be built.
    for folder in (layout.venv, layout.build):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "COLCON_IGNORE").touch()


def _link(place: Path, target: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)


def _fresh(folder: Path) -> Path:
    """An empty folder in the place of whatever was there (links are removed, not followed)."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
