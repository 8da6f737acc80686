"""Subjects in the user's own code, named ``python:module:factory``.

Naming the module is the consent to run it. The factory takes no arguments and returns a `Vlm` or a `Vla`.
"""

from __future__ import annotations

import importlib.util
import re
import typing
from typing import Any, Final

from embodied_iqa.errors import InputError, UsageError, UserError, first_line
from embodied_iqa.lazy import load
from embodied_iqa.subjects.catalogue import Role

__all__ = ["METHODS", "check_factory", "load_factory", "role_of_factory"]

METHODS: Final = {Role.VLM: "answer", Role.VLA: "act"}
"""The method that makes a class a VLM or a VLA."""
_TARGET: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*\Z")
_IMPORTABLE: Final = "an installed module, or its folder in PYTHONPATH"


def check_factory(target: str) -> None:
    """Check the form of a target and that its module exists; only packages around the module are imported.

    Raises:
        UsageError: The form is wrong or there is no such module.
    """
    if not _TARGET.match(target):
        raise UsageError("not a factory", expected="python:MODULE:FACTORY", got=f"python:{target}")
    module = target.partition(":")[0]
    try:
        found = importlib.util.find_spec(module)
    except Exception as error:
        raise UsageError(
            f"module {module} cannot be found: {first_line(error)}", expected=_IMPORTABLE
        ) from error
    if found is None:
        raise UsageError(f"no module {module}", expected=_IMPORTABLE)


def load_factory(target: str) -> Any:
    """Import a factory.

    Raises:
        UserError: It cannot be imported.
    """
    check_factory(target)
    try:
        factory = load(target)
    except UserError:
        raise
    except Exception as error:
        raise InputError(
            f"{target} cannot be imported: {type(error).__name__}: {first_line(error)}"
        ) from error
    if not callable(factory):
        raise InputError(
            f"{target} is not a factory", expected="a class or function", got=type(factory).__name__
        )
    return factory


def role_of_factory(target: str) -> Role:
    """Return what a factory makes, from the class or the annotated return type.

    Raises:
        UserError: It cannot be imported, or leaves the role open.
    """
    made = load_factory(target)
    if not isinstance(made, type):
        try:
            made = typing.get_type_hints(made).get("return")
        except (NameError, TypeError):  # names for type checkers only, or no function
            made = None
    roles = [role for role, method in METHODS.items() if hasattr(made, method)]
    if len(roles) != 1:
        raise UsageError(
            f"python:{target} leaves open whether it makes a VLM or a VLA",
            expected="an annotated return type with a method `answer` or `act`, such as `-> Vla`",
        )
    return roles[0]
