"""Repositories of the Hugging Face Hub: from the local cache, fetched only with consent."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from embodied_iqa.base.errors import InputError, UsageError, first_line
from embodied_iqa.base.lazy import load
from embodied_iqa.models.subjects.reference import SubjectReference
from embodied_iqa.models.subjects.subject_options import Progress

INSTALL_MODELS: Final = (
    "pip install -r requirements/models.txt in a checkout, else pip install 'embodied_iqa[models]'"
)
_WANTED: Final = ("*.json", "*.jinja", "*.txt", "*.model", "*.tiktoken", "*.safetensors", "*.py")
"""Files that are fetched; pickled weights are not."""


class NotFetchedError(UsageError):
    """A repository is not on this machine, and consent or revision to fetch it are missing."""


def find_snapshot(
    reference: SubjectReference, *, allow_network: bool, progress: Progress
) -> tuple[Path, str]:
    """Return the folder of a repository's snapshot and its commit.

    Args:
        reference: Repository and optional revision.
        allow_network: The user consents to fetching it.
        progress: Called before anything is fetched.

    Raises:
        MissingDependencyError: huggingface_hub is not installed.
        NotFetchedError: It would have to be fetched, without consent or without a revision.
        InputError: It cannot be fetched.
    """
    hub = load("huggingface_hub", INSTALL_MODELS)
    name, revision = reference.target, reference.revision or None
    try:
        folder = Path(
            hub.snapshot_download(
                name, revision=revision, local_files_only=True, allow_patterns=list(_WANTED)
            )
        )
    except (OSError, ValueError):
        _may_fetch(reference, allow_network=allow_network, offline=hub.constants.HF_HUB_OFFLINE)
        progress(f"fetching {name}@{revision}")
        folder = _fetch(hub, name, revision)
    return folder, folder.name


def _may_fetch(reference: SubjectReference, *, allow_network: bool, offline: bool) -> None:
    name = reference.target
    if not allow_network:
        raise NotFetchedError(
            f"{name} is not on this machine",
            expected="loading.allow_network with a revision (it is fetched), or transformers:FOLDER",
            got=reference.text,
        )
    if not reference.revision:
        raise NotFetchedError(
            f"{name} has no pinned revision: its content could change",
            expected=f"{reference.text}@COMMIT",
        )
    if offline:
        raise NotFetchedError(f"{name} is not on this machine, and HF_HUB_OFFLINE forbids fetching it")


def _fetch(hub: Any, name: str, revision: str | None) -> Path:
    try:
        return Path(hub.snapshot_download(name, revision=revision, allow_patterns=list(_WANTED)))
    except Exception as error:  # the hub's library raises errors of several HTTP libraries
        message = f"cannot fetch {name}@{revision}: {type(error).__name__}: {first_line(error)}"
        raise InputError(message) from error
