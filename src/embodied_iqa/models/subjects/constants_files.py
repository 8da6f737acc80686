"""Files of subjects' scoring constants: shipped with the package, or measured by the user."""

from __future__ import annotations

import hashlib
import re
import shlex
from importlib.resources import files
from pathlib import Path

from embodied_iqa.base.lazy import load
from embodied_iqa.base.user_code import PREFIX
from embodied_iqa.base.user_folders import data_folder
from embodied_iqa.models.scoring.constants import SubjectConstants, UncalibratedError, load_constants
from embodied_iqa.models.subjects.catalogue import Role, find_entry
from embodied_iqa.models.subjects.known_tasks import PANEL_FACTORY
from embodied_iqa.models.subjects.reference import parse_reference, role_of
from embodied_iqa.models.subjects.registry import info_of

_HASH_LETTERS = 8
_SLUG_LETTERS = 80


def shipped_constants_file(name: str) -> Path:
    """Return the file with the constants of an embedded subject."""
    return Path(str(files("embodied_iqa.models.subjects"))) / "constants" / f"{name}.json"


def file_stem(name: str) -> str:
    """Return a subject's name as a file name; references get a hash."""
    plain = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")[:_SLUG_LETTERS]
    if plain != name:
        plain += "-" + hashlib.sha256(name.encode()).hexdigest()[:_HASH_LETTERS]
    return plain


def own_constants_file(name: str) -> Path:
    """Return the file with the user's constants of a subject."""
    return data_folder() / "constants" / f"{file_stem(name)}.json"


def calibration_command(name: str, role: Role | None = None) -> str:
    """Return the command that measures a subject's constants, with a role that its name may leave open."""
    words = f"embodied-iqa subjects calibrate {shlex.quote(name)}"
    return words if role is None or find_entry(name) is not None else f"{words} --role {role}"


def constants_of(name: str, version: str | None = None, role: Role | None = None) -> SubjectConstants:
    """Return the scoring constants of a subject: the user's own, else the shipped ones.

    Args:
        name: Name of the subject in its answers.
        version: Version in its answers; None for the present version of an embedded subject.
        role: What it was in the run, for the command in the error; None where that is not known.

    Raises:
        UsageError: Not a subject.
        UncalibratedError: Not calibrated, or in another version.
        InputError: The file is broken.
    """
    if not name.startswith(PREFIX):  # which is imported for its role, and need not be here to report a run
        role_of(name)
    way_out = f"run `{calibration_command(name, role)}` with the same parameters"
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
    """Return the version of an embedded subject; None for others, which are not loaded."""
    entry = find_entry(name)
    if entry is None or not entry.factory:
        return None
    if entry.factory.startswith(PANEL_FACTORY):  # its network takes a second to load
        return str(load(f"{PANEL_FACTORY}:card_of")(name).version)
    return info_of(parse_reference(name)).version
