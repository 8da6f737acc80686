"""`dataset.json`: how a database was made, its size, its subjects, and the hash of every table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Self

from embodied_iqa import __version__
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.records import structure, unstructure
from embodied_iqa.base.user_files.json_files import load_json
from embodied_iqa.data.database.schema import SCHEMA_VERSION
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.scoring.constants import SubjectConstants
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.world.protocols import SubjectInfo


@dataclass(frozen=True, slots=True)
class RecordedSubject:
    """A subject of the database; it need not be loaded.

    Attributes:
        name: Its reference in the panel.
        role: VLM or VLA.
        says: The name that it reports, see `SubjectInfo`.
        version: See `SubjectInfo`; likewise the following ones.
        description: One sentence.
        views: The views that it looks at.
        any_view: It is made for images of any camera; older databases lack this.
        d_max_m: Scale of a VLA's position score (m); None where it has no scores.
        documents: Number of documents behind a VLM's frequencies; None where it has no scores.
    """

    name: str
    role: Role
    says: str
    version: str
    description: str
    views: tuple[View, ...]
    any_view: bool | None = False
    d_max_m: float | None = None
    documents: int | None = None

    @classmethod
    def of(cls, name: str, role: Role, info: SubjectInfo) -> Self:
        """Return the entry of a loaded subject."""
        return cls(name, role, info.name, info.version, info.description, info.views, info.any_view)

    @property
    def info(self) -> SubjectInfo:
        """What the subject reported about itself."""
        return SubjectInfo(self.says, self.version, self.description, self.views, bool(self.any_view))

    def with_scale(self, constants: SubjectConstants | None) -> Self:
        """Return the entry with the constants by which the subject's scores are scaled; None for none."""
        if constants is None:
            return replace(self, d_max_m=None, documents=None)
        frequencies = constants.frequencies
        documents = None if frequencies is None else frequencies.n_documents
        return replace(self, d_max_m=constants.d_max_m, documents=documents)


MERGED: Final = "merged"
"""Source of a database of two others, in its plan."""


@dataclass(frozen=True, slots=True)
class DatabaseRecord:
    """Content of `dataset.json`.

    Attributes:
        plan: What the content depends on besides the subjects, see `BuildPlan.tree`.
        subjects: VLMs and VLAs, by name.
        embodied_iqa: Version of this package that wrote the database.
        counts: Rows by table, and `failures`: missing answers by subject.
        skipped: Rejected candidates by kind of reason.
        recipes: Versions of the score formulas.
        sha256: Hash of every table by file name.
        schema: Version of the tables' columns.
        unfinished: Command that goes on with a build that has not ended; null where none is under way.
    """

    plan: dict[str, Any] = field(default_factory=dict)
    subjects: tuple[RecordedSubject, ...] = ()
    embodied_iqa: str = __version__
    counts: dict[str, Any] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    recipes: dict[str, str] = field(default_factory=dict)
    sha256: dict[str, str] = field(default_factory=dict)
    schema: int = SCHEMA_VERSION
    unfinished: str | None = None

    def tree(self) -> Mapping[str, Any]:
        """Return it as JSON has it."""
        tree: Mapping[str, Any] = unstructure(self)
        return tree


def read_record(file: Path) -> DatabaseRecord:
    """Read `dataset.json`.

    Raises:
        InputError: It is missing, damaged or of another schema version.
    """
    tree = load_json(file, "the record")
    version = tree.get("schema") if isinstance(tree, dict) else None
    if version != SCHEMA_VERSION:
        raise InputError(
            f"{file.parent} is a database of another version",
            expected=f"schema {SCHEMA_VERSION}",
            got=version,
        )
    return structure(DatabaseRecord, tree, f"the record {file}")


def write_record(file: Path, record: DatabaseRecord) -> None:
    """Write `dataset.json`, whole or not at all."""
    write_json_whole(file, record.tree())
