"""Tables of the catalogue: YAML files beside this module."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final

from embodied_iqa.base.errors import InternalError, UsageError
from embodied_iqa.base.records import structure
from embodied_iqa.models.subjects.catalogue.entry import Backend, Role, SubjectEntry

_TABLES: Final = (
    "embedded",
    "panel",
    "planners",
    "database_vlms",
    "database_vlas",
    "static_vlms",
    "static_vlas",
)
"""In listing order; the first document of a table holds the common fields of its entries."""


@cache
def entries() -> tuple[SubjectEntry, ...]:
    """Return every subject: of this package, of the database, of StaticEmbodiedBench."""
    return tuple(_by_name().values())


def names_of(role: Role, backend: Backend | None = None) -> tuple[str, ...]:
    """Return the names of a role, of one back end or of all."""
    return tuple(item.name for item in entries() if item.role is role and backend in {None, item.backend})


def find_entry(name: str) -> SubjectEntry | None:
    """Return the subject of this name, or None."""
    return _by_name().get(name)


def entry(name: str) -> SubjectEntry:
    """Return the subject of this name.

    Raises:
        UsageError: There is none; the message lists the names.
    """
    found = find_entry(name)
    if found is None:
        raise UsageError("unknown subject", got=name, available=_by_name())
    return found


@cache
def _by_name() -> MappingProxyType[str, SubjectEntry]:
    import yaml  # noqa: PLC0415 - images of policies read no table and have no YAML

    found: dict[str, SubjectEntry] = {}
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for table in _TABLES:
        text = (files("embodied_iqa.models.subjects.catalogue") / f"{table}.yaml").read_text(encoding="utf-8")
        common, rows = yaml.load_all(text, Loader=loader)
        for item in structure(tuple[SubjectEntry, ...], [common | row for row in rows], f"{table}.yaml"):
            if item.name in found:
                raise InternalError(f"the catalogue has two subjects {item.name}")
            found[item.name] = item
    return MappingProxyType(found)
