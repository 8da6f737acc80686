"""Every subject by name. A subject is imported only when it is asked for."""

from __future__ import annotations

import importlib
from enum import StrEnum
from importlib.resources import as_file, files
from typing import Any, Final, cast

from embodied_iqa.errors import InputError, UsageError
from embodied_iqa.scoring.constants import SubjectConstants, load_constants
from embodied_iqa.subjects.protocols import SubjectInfo, Vla, Vlm

__all__ = [
    "VLAS",
    "VLMS",
    "Role",
    "constants_of",
    "info_of",
    "make_vla",
    "make_vlm",
    "role_of",
    "subject_names",
]

VLMS: Final[dict[str, str]] = {
    "classical-vlm": "embodied_iqa.subjects.classical_vlm:ClassicalVlm",
}
"""Name to ``module:class`` of the vision-language models."""

VLAS: Final[dict[str, str]] = {
    "classical-vla": "embodied_iqa.subjects.classical_vla:ClassicalVla",
}
"""Name to ``module:class`` of the vision-language-action models."""


class Role(StrEnum):
    """What a subject is scored for."""

    VLM = "vlm"
    """Answers in words: cognition."""
    VLA = "vla"
    """Answers with actions: decision."""


def subject_names() -> tuple[str, ...]:
    """List all names, VLMs first."""
    return (*VLMS, *VLAS)


def role_of(name: str) -> Role:
    """Say what a subject is.

    Raises:
        UsageError: No subject has this name.
    """
    if name in VLMS:
        return Role.VLM
    if name in VLAS:
        return Role.VLA
    raise UsageError("unknown subject", got=name, available=subject_names())


def make_vlm(name: str) -> Vlm:
    """Make a vision-language model.

    Raises:
        UsageError: No VLM has this name.
    """
    return cast("Vlm", _make("VLM", name, VLMS))


def make_vla(name: str) -> Vla:
    """Make a vision-language-action model.

    Raises:
        UsageError: No VLA has this name.
    """
    return cast("Vla", _make("VLA", name, VLAS))


def info_of(name: str) -> SubjectInfo:
    """Say who a subject is.

    Raises:
        UsageError: No subject has this name.
    """
    return make_vlm(name).info if role_of(name) is Role.VLM else make_vla(name).info


def constants_of(name: str) -> SubjectConstants:
    """Return what the scores of a subject are scaled by, as it ships with the package.

    Raises:
        UsageError: No subject has this name.
        InputError: It was not calibrated, or in another version.
    """
    version = info_of(name).version
    with as_file(files("embodied_iqa.subjects") / "constants" / f"{name}.json") as path:
        if not path.is_file():
            raise InputError(f"{name} has no constants: run `embodied-iqa subjects calibrate {name}`")
        constants = load_constants(path)
    if constants.version != version:
        raise InputError(
            f"the constants of {name} are stale: run `embodied-iqa subjects calibrate {name}`",
            expected=f"version {version}",
            got=constants.version,
        )
    return constants


def _make(what: str, name: str, known: dict[str, str]) -> Any:
    if name not in known:
        raise UsageError(f"unknown {what}", got=name, available=known)
    module, _, factory = known[name].partition(":")
    return getattr(importlib.import_module(module), factory)()
