"""Imports on first use: commands, back ends and optional libraries, named by ``module:attribute``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from operator import attrgetter
from types import ModuleType
from typing import Any, Final, cast

from embodied_iqa.base.errors import MissingDependencyError, UsageError, first_line

INSTALL_STUDIO: Final = "pip install 'embodied_iqa[studio]'"
INSTALL_CELL: Final = "pip install 'embodied_iqa[cell]'"
"""Installs the arm, whose libraries have to be compiled on some machines."""

INSTALL_DATA: Final = "pip install 'embodied_iqa[data]'"
INSTALL_OPENCV: Final = "pip install opencv-python-headless"
"""Where nothing else of `INSTALL_DATA` is needed, which is 1.2 GB."""
"""Installs what reads images, recordings and databases, without the studio and the arm."""

_MODULES: Final = """
    av cv2 duckdb jinja2 lz4 markupsafe mcap mcap_ros2 mujoco numba onnxruntime packaging pyarrow
    rich rosbags sacrebleu safetensors scipy shtab simplejpeg zstandard
"""
OF_DATA: Final = frozenset(_MODULES.split())
"""Modules of the extra `data` that the light install, the extra `gate`, lacks."""

_OF_STUDIO: Final = frozenset({"python_multipart", "starlette", "uvicorn"})
_OF_CELL: Final = frozenset({"rtde_control", "ruckig"})
OF_ALL: Final = OF_DATA | _OF_STUDIO | _OF_CELL
"""Modules of requirements/core.txt that the light install lacks."""

_PACKAGE = __name__.partition(".")[0]


def has_module(name: str) -> bool:
    """Return whether a module is installed, without importing it."""
    return importlib.util.find_spec(name) is not None


def load(target: str, install: str = "") -> Any:
    """Import a module, or an attribute of a module.

    Use it for what is slow to import or optional: a sub-command, a back end, a library of an extra.

    Args:
        target: ``package.module`` or ``package.module:attribute``.
        install: Command that installs an optional library; an error of its import is then reported together
            with this command, whatever its type.

    Returns:
        The module or the attribute.

    Raises:
        MissingDependencyError: A library is not installed or cannot be loaded.
        UsageError: The module has no such attribute.
    """
    module, _, attribute = target.partition(":")
    with importing(module, install):
        found = importlib.import_module(module)
    if not attribute:
        return found
    try:
        return attrgetter(attribute)(found)
    except AttributeError:
        public = sorted(name for name in vars(found) if not name.startswith("_"))
        raise UsageError(f"{module} has no {attribute}", available=public) from None


@contextmanager
def importing(module: str, install: str = "") -> Iterator[None]:
    """Report a library that ordinary imports in the block lack, as `load` does.

    Args:
        module: What is imported, for the message.
        install: See `load`.

    Raises:
        MissingDependencyError: A library is not installed or cannot be loaded.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = error.name or module
        if missing.partition(".")[0] == _PACKAGE:
            raise
        command = install or install_of(missing)
        raise MissingDependencyError(f"{missing} is not installed", expected=command) from error
    except (ImportError, OSError, RuntimeError) as error:
        if not install:
            raise
        message = f"{module} cannot be loaded: {first_line(error)}"
        raise MissingDependencyError(message, expected=install) from error


@contextmanager
def without(module: str) -> Iterator[None]:
    """Let ordinary imports in the block do without an optional module, unless it is imported already."""
    hidden = module not in sys.modules
    if hidden:
        sys.modules[module] = cast("ModuleType", None)  # what `import` takes for a module that is missing
    try:
        yield
    finally:
        if hidden:
            del sys.modules[module]


def install_of(module: str) -> str | None:
    """Return the command that installs the smallest extra with a module; None for one of others."""
    top = module.partition(".")[0]
    commands = ((OF_DATA, INSTALL_DATA), (_OF_STUDIO, INSTALL_STUDIO), (_OF_CELL, INSTALL_CELL))
    return next((command for modules, command in commands if top in modules), None)


class Later:
    """A module, optional or slow to import, that is imported when one of its attributes is first used.

    Args:
        name: The module.
        install: See `load`, whose errors the first use raises.
    """

    def __init__(self, name: str, install: str = "") -> None:
        self._name = name
        self._install = install

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(load(self._name, self._install), attribute)
        setattr(self, attribute, found)
        return found
