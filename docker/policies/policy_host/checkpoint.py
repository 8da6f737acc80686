"""Location, revision and consent of a checkpoint."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError, UsageError
from policy_host.contract import Family, Needs

_COMMIT: Final = re.compile(r"[0-9a-f]{40}\Z")
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*\Z")
_PICKLES: Final = frozenset({".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"})
_SAMPLE_BYTES: Final = 1 << 20
_DIGITS: Final = 12


@dataclass(frozen=True, slots=True)
class Consent:
    """Consent of the user.

    Attributes:
        remote_code: To run code of the checkpoint.
        pickles: To open pickled weights.
    """

    remote_code: bool = False
    pickles: bool = False


@dataclass(frozen=True, slots=True)
class Located:
    """A checkpoint on this machine.

    Attributes:
        folder: With its files.
        name: Repository or folder name.
        revision: Commit of the repository, or 12 digits of a hash over the folder.
    """

    folder: Path
    name: str
    revision: str


def locate(model: str, revision: str, models: Path) -> Located:
    """Find a checkpoint; nothing is fetched.

    Args:
        model: A folder, or a repository ``owner/name`` in the Hub's cache.
        revision: Commit of the repository, or hash of the folder's content; empty for any folder.
        models: Folder of the Hub's cache.

    Raises:
        UsageError: A revision is missing or differs.
        InputError: The checkpoint is missing.
    """
    folder = Path(model)
    if model and folder.is_dir():
        found = content_digest(folder)
        if revision and revision != found:
            raise UsageError(f"{model} is another revision", expected=revision, got=found)
        return Located(folder.resolve(), folder.resolve().name, found)
    if not _REPOSITORY.match(model):
        raise InputError(
            "no checkpoint at this path", expected="a folder, or a repository owner/name", got=model
        )
    if not _COMMIT.match(revision):
        raise UsageError(
            f"which {model}?", expected="--revision with the 40 digits of a commit", got=revision
        )
    folder = models / f"models--{model.replace('/', '--')}" / "snapshots" / revision
    if not folder.is_dir():
        raise InputError(
            f"{model} at {revision} is not in {models}",
            expected=f"hf download {model} --revision {revision} --cache-dir {models}",
        )
    return Located(folder, model, revision)


def check_consent(family: Family, located: Located, consent: Consent, revision: str) -> None:
    """Refuse a checkpoint that needs consent which was not given.

    Args:
        family: Family of the checkpoint.
        located: The checkpoint.
        consent: Consent of the user.
        revision: Revision that the user named: consent is for one exact content.

    Raises:
        UsageError: Consent or revision is missing.
        InputError: It has pickles, and the family needs none.
    """
    if family.needs is not Needs.PICKLES:
        pickles = [file.name for file in _files(located.folder) if file.suffix.lower() in _PICKLES]
        safe = any(file.suffix == ".safetensors" for file in _files(located.folder))
        if pickles and not safe:
            raise InputError(f"{located.name} has pickled weights only, which can run code", got=pickles[0])
    given = {Needs.REMOTE_CODE: consent.remote_code, Needs.PICKLES: consent.pickles}.get(family.needs, True)
    if not given:
        raise UsageError(
            f"checkpoints of {family.name} need {family.needs}, which can run any code",
            expected=f"{family.needs.flag} --revision {located.revision}, once you trust this exact content",
        )
    if family.needs is not Needs.NOTHING and not revision:
        raise UsageError(
            f"{family.needs.flag} is for one revision", expected=f"--revision {located.revision}", got=""
        )


def content_digest(folder: Path) -> str:
    """Return 12 digits of a hash over names, sizes and content; of large files, over both ends."""
    whole = hashlib.sha256()
    for file in _files(folder):
        size = file.stat().st_size
        whole.update(f"{file.relative_to(folder).as_posix()}\0{size}\0".encode())
        with file.open("rb") as content:
            if size <= 16 * _SAMPLE_BYTES:
                whole.update(content.read())
                continue
            whole.update(content.read(_SAMPLE_BYTES))
            content.seek(-_SAMPLE_BYTES, 2)
            whole.update(content.read())
    return whole.hexdigest()[:_DIGITS]


def _files(folder: Path) -> Iterator[Path]:
    """Yield its files, without the metadata of download tools."""
    for file in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
        if file.is_file() and not hidden:
            yield file
