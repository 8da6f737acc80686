"""Where the constants of subjects are: shipped with the package, or measured by the user."""

from __future__ import annotations

import hashlib
import re
from importlib.resources import files
from pathlib import Path

from embodied_iqa.scoring.constants import SubjectConstants, UncalibratedError, load_constants
from embodied_iqa.subjects.catalogue import find_entry
from embodied_iqa.subjects.reference import parse_reference, role_of
from embodied_iqa.subjects.registry import info_of
from embodied_iqa.subjects.user_folders import data_folder

__all__ = ["constants_of", "file_stem", "own_constants_file", "shipped_constants_file"]

_HASH_LETTERS = 8
_SLUG_LETTERS = 80


def shipped_constants_file(name: str) -> Path:
    """Return where the package keeps the constants of an embedded subject."""
    return Path(str(files("embodied_iqa.subjects"))) / "constants" / f"{name}.json"


def file_stem(name: str) -> str:
    """Return a subject's name as files and folders are called; references differ by a hash."""
    plain = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")[:_SLUG_LETTERS]
    if plain != name:
        plain += "-" + hashlib.sha256(name.encode()).hexdigest()[:_HASH_LETTERS]
    return plain


def own_constants_file(name: str) -> Path:
    """Return where this user's constants of a subject are kept."""
    return data_folder() / "constants" / f"{file_stem(name)}.json"


def constants_of(name: str, version: str | None = None) -> SubjectConstants:
    """Return what the scores of a subject are scaled by: the user's own measurement, else the shipped one.

    Args:
        name: What the subject's answers call it.
        version: What its answers state; None for that of the subject as it is now, where it is embedded.

    Raises:
        UsageError: It is no subject.
        UncalibratedError: It was not calibrated, or in another version.
        InputError: The file is broken.
    """
    role_of(name)
    way_out = f"run `embodied-iqa subjects calibrate {name}` with the same parameters"
    found = [path for path in (own_constants_file(name), shipped_constants_file(name)) if path.is_file()]
    if not found:
        raise UncalibratedError(f"{name} has no constants: {way_out}")
    wanted = _version_now(name) if version is None else version
    every = [load_constants(path) for path in found]
    for constants in every:
        if constants.subject == name and wanted in {None, constants.version}:
            return constants
    raise UncalibratedError(
        f"the constants of {name} are stale: {way_out}",
        expected=f"version {wanted}",
        got=every[0].version,
    )


def _version_now(name: str) -> str | None:
    """Return the version of an embedded subject; others are not loaded for this."""
    entry = find_entry(name)
    if entry is None or not entry.factory:
        return None
    return info_of(parse_reference(name)).version
