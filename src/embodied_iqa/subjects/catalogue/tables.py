"""Reads the tables of the catalogue, which are YAML beside this file."""

from __future__ import annotations

import dataclasses
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final

import yaml

from embodied_iqa.errors import InternalError, UsageError
from embodied_iqa.images.frame import View
from embodied_iqa.subjects.catalogue.entry import Backend, Paper, Role, SubjectEntry

__all__ = ["entries", "entry", "find_entry", "names_of"]

_TABLES: Final = ("embedded", "panel", "database_vlms", "database_vlas", "static_vlms", "static_vlas")
"""In the order in which they are listed; a table's first document is what its entries have in common."""
_FIELDS: Final = frozenset(field.name for field in dataclasses.fields(SubjectEntry))


@cache
def entries() -> tuple[SubjectEntry, ...]:
    """Return every subject: those of this package, of the database, of StaticEmbodiedBench."""
    return tuple(_by_name().values())


def names_of(role: Role, backend: Backend | None = None) -> tuple[str, ...]:
    """Return the names of a role, of one back end or of all."""
    return tuple(
        item.name for item in entries() if item.role is role and (backend is None or item.backend is backend)
    )


def find_entry(name: str) -> SubjectEntry | None:
    """Return the subject of this name, or None."""
    return _by_name().get(name)


def entry(name: str) -> SubjectEntry:
    """Return the subject of this name.

    Raises:
        UsageError: There is none; the message lists those that exist.
    """
    found = find_entry(name)
    if found is None:
        raise UsageError("unknown subject", got=name, available=_by_name())
    return found


@cache
def _by_name() -> MappingProxyType[str, SubjectEntry]:
    found: dict[str, SubjectEntry] = {}
    for table in _TABLES:
        for item in _read(table):
            if item.name in found:
                raise InternalError(f"the catalogue has two subjects {item.name}")
            found[item.name] = item
    return MappingProxyType(found)


def _read(table: str) -> list[SubjectEntry]:
    text = (files("embodied_iqa.subjects.catalogue") / f"{table}.yaml").read_text(encoding="utf-8")
    common, rows = yaml.load_all(text, Loader=_Loader)
    return [_entry(common | row, table) for row in rows]


_Loader: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _entry(row: dict[str, Any], table: str) -> SubjectEntry:
    unknown = set(row) - _FIELDS
    if unknown:
        raise InternalError(f"{table}.yaml: unknown {sorted(unknown)} of {row.get('name')}")
    return SubjectEntry(
        **row
        | {
            "role": Role(row["role"]),
            "backend": Backend(row["backend"]),
            "views": tuple(View(word) for word in row["views"]),
            "papers": tuple(Paper(word) for word in row.get("papers", ())),
        }
    )
