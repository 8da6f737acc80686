"""The user's own code, named ``python:module:attribute``: subjects, cameras, distortions, metrics.

Naming the module is the consent to run it.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from embodied_iqa.base.errors import InputError, UsageError, UserError, first_line
from embodied_iqa.base.lazy import load

PREFIX: Final = "python:"
_TARGET: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*\Z")
_IMPORTABLE: Final = "an installed module, or its folder in PYTHONPATH"


def check_target(target: str) -> None:
    """Check the form of ``module:attribute`` and that the module exists.

    Only the packages that contain the module are imported.

    Raises:
        UsageError: The form is wrong or the module is not found.
    """
    if not _TARGET.match(target):
        raise UsageError("not a name in a module", expected=f"{PREFIX}MODULE:NAME", got=f"{PREFIX}{target}")
    module = target.partition(":")[0]
    try:
        found = importlib.util.find_spec(module)
    except Exception as error:
        raise UsageError(
            f"module {module} cannot be found: {first_line(error)}", expected=_IMPORTABLE
        ) from error
    if found is None:
        raise UsageError(f"no module {module}", expected=_IMPORTABLE)


def load_object(target: str) -> Any:
    """Import an attribute of the user's module.

    Raises:
        UsageError: The module or the attribute is not found.
        InputError: The module fails when it is imported.
    """
    check_target(target)
    with own_code(f"{target} cannot be imported"):
        return load(target)


def load_factory(target: str) -> Any:
    """Import a class or function.

    Raises:
        UserError: It cannot be imported or called.
    """
    factory = load_object(target)
    if not callable(factory):
        raise InputError(
            f"{target} is not a factory", expected="a class or function", got=type(factory).__name__
        )
    return factory


@contextmanager
def own_code(failure: str) -> Iterator[None]:
    """Report an exception of the user's code in one line, which begins with ``failure``.

    Raises:
        InputError: The code in the block raises anything but a `UserError`.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        raise InputError(f"{failure}: {type(error).__name__}: {first_line(error)}") from error
