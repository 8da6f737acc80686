"""Upload of an export to the Hugging Face Hub: what would go there, who would see it, and the commit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final

from embodied_iqa import __version__
from embodied_iqa.base.errors import InputError, UsageError, first_line
from embodied_iqa.base.lazy import load
from embodied_iqa.data.export.hugging_face import CONFIGS, THIS
from embodied_iqa.models.subjects.repositories import INSTALL_MODELS

_NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
_LICENCE: Final = re.compile(r'^license: "(.+)"$', re.MULTILINE)
_CARD: Final = "README.md"
_FILES: Final = (_CARD, "LICENSE.txt", "dataset.json")
_TABLES: Final = tuple(f"{name}/{name}-*.parquet" for name in CONFIGS)
_OF_THE_HUB: Final = {".gitattributes"}
_DATASET: Final = "dataset"
_WAIT_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Upload:
    """An export that may be uploaded.

    Attributes:
        folder: The export.
        repository: ``owner/name`` of a data set.
        files: What is uploaded, relative to the folder.
        stays: What else is in the folder, and is not uploaded.
        size_bytes: Of the files.
        licence: As its card names it.
    """

    folder: Path
    repository: str
    files: tuple[str, ...]
    stays: tuple[str, ...]
    size_bytes: int
    licence: str

    @classmethod
    def of_export(cls, folder: Path, repository: str) -> Upload:
        """Return the upload of a folder.

        Raises:
            UsageError: The repository's name is none.
            InputError: The folder is not an export for Hugging Face.
        """
        if not _NAME.fullmatch(repository):
            raise UsageError("wrong name of a repository", expected="OWNER/NAME", got=repository)
        wanted = [folder / name for name in _FILES]
        wanted += sorted(path for pattern in _TABLES for path in folder.glob(pattern))
        files = [path for path in wanted if path.is_file() and not path.is_symlink()]
        licence = _licence_of(folder / _CARD)
        if not licence or len(files) < len(_FILES) + len(CONFIGS):
            raise InputError(
                f"{folder} is not an export for Hugging Face",
                expected="the folder that `embodied-iqa export DB --format hf --out DIR` wrote",
            )
        names = tuple(path.relative_to(folder).as_posix() for path in files)
        others = (path for path in folder.rglob("*") if not path.is_dir())
        stays = {path.relative_to(folder).as_posix() for path in others}.difference(names)
        size_bytes = sum(path.stat().st_size for path in files)
        return cls(folder, repository, names, tuple(sorted(stays)), size_bytes, licence)

    def content(self, name: str) -> Path | bytes:
        """Return what is uploaded as a file: itself; the card names the repository in its example."""
        file = self.folder / name
        if name != _CARD:
            return file
        text = file.read_text(encoding="utf-8")
        return text.replace(f'load_dataset("{THIS}"', f'load_dataset("{self.repository}"').encode()


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository of a data set on the Hub.

    Attributes:
        url: Its page.
        exists: Whether it is there.
        is_private: Whether only its owner sees it; None where it is not there.
        files: What it holds, without the files of the Hub itself.
        commit: The latest.
    """

    url: str
    exists: bool
    is_private: bool | None
    files: frozenset[str]
    commit: str | None

    @property
    def tables(self) -> set[str]:
        """The tables of an earlier upload."""
        return {file for file in self.files if any(fnmatch(file, pattern) for pattern in _TABLES)}


class Hub:
    """The Hugging Face Hub, or the server that ``HF_ENDPOINT`` names, as the user who is logged in.

    Raises:
        MissingDependencyError: huggingface_hub is not installed.
        UsageError: Nobody is logged in, or ``HF_HUB_OFFLINE`` forbids it.
    """

    def __init__(self) -> None:
        hub = load("huggingface_hub", INSTALL_MODELS)
        if load("huggingface_hub.constants:HF_HUB_OFFLINE"):
            raise UsageError("HF_HUB_OFFLINE forbids an upload", expected="the variable unset")
        token = hub.get_token()
        if token is None:
            raise UsageError(
                "nobody is logged in to the Hugging Face Hub", expected="HF_TOKEN, or `hf auth login`"
            )
        self._missing: type[Exception] = load("huggingface_hub.errors:RepositoryNotFoundError")
        self._added, self._deleted = hub.CommitOperationAdd, hub.CommitOperationDelete
        self._api: Any = hub.HfApi(token=token, library_name="embodied_iqa", library_version=__version__)

    def find(self, name: str) -> Repository:
        """Return a repository.

        Raises:
            InputError: The Hub does not answer, or refuses.
        """
        url = f"{self._api.endpoint}/datasets/{name}"
        with _in_one_line(f"cannot read {url}"):
            try:
                found = self._api.repo_info(name, repo_type=_DATASET, timeout=_WAIT_S)
            except self._missing:
                return Repository(url, False, None, frozenset(), None)
        files = {file.rfilename for file in found.siblings or ()} - _OF_THE_HUB
        return Repository(url, True, bool(found.private), frozenset(files), found.sha)

    def push(self, upload: Upload, repository: Repository, *, public: bool) -> str:
        """Upload in one commit, creating the repository where there is none; return the commit's page.

        Tables of an earlier upload that are not in this one are deleted in the same commit.

        Raises:
            InputError: The Hub does not answer, or refuses.
        """
        name = upload.repository
        with _in_one_line(f"cannot upload to {repository.url}"):
            if not repository.exists:
                self._api.create_repo(name, repo_type=_DATASET, private=not public)
            commit = self._api.create_commit(
                name,
                [
                    *(self._added(file, upload.content(file)) for file in upload.files),
                    *(self._deleted(file) for file in repository.tables.difference(upload.files)),
                ],
                repo_type=_DATASET,
                commit_message=f"Export of embodied_iqa {__version__}",
                parent_commit=repository.commit,
            )
        return str(commit.commit_url)


@contextmanager
def _in_one_line(failed: str) -> Iterator[None]:
    """Raise errors of the Hub's library, which are those of several HTTP libraries, as one of the user."""
    try:
        yield
    except Exception as error:
        raise InputError(f"{failed}: {type(error).__name__}: {first_line(error)}") from error


def _licence_of(card: Path) -> str:
    try:
        head = card.read_text(encoding="utf-8").split("---", 2)
    except (OSError, UnicodeDecodeError):
        return ""
    found = _LICENCE.search(head[1]) if len(head) > 2 else None
    return found.group(1) if found else ""
