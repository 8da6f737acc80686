"""Imports on first use: commands, back ends and optional libraries, named by ``module:attribute``."""

from __future__ import annotations

import importlib
from operator import attrgetter
from typing import Any

from embodied_iqa.base.errors import MissingDependencyError, UsageError, first_line

_PACKAGE = __name__.partition(".")[0]


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
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or module
        if missing.partition(".")[0] == _PACKAGE:
            raise
        raise MissingDependencyError(f"{missing} is not installed", expected=install or None) from error
    except (ImportError, OSError, RuntimeError) as error:
        if not install:
            raise
        message = f"{module} cannot be loaded: {first_line(error)}"
        raise MissingDependencyError(message, expected=install) from error
    if not attribute:
        return found
    try:
        return attrgetter(attribute)(found)
    except AttributeError:
        public = sorted(name for name in vars(found) if not name.startswith("_"))
        raise UsageError(f"{module} has no {attribute}", available=public) from None


class Later:
    """An optional module that is imported when one of its attributes is first used.

    Args:
        name: The module.
        install: See `load`, whose errors the first use raises.
    """

    def __init__(self, name: str, install: str) -> None:
        self._name = name
        self._install = install

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(load(self._name, self._install), attribute)
        setattr(self, attribute, found)
        return found
