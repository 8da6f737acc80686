"""Catalogue of subjects: those of the papers and those of this package."""

from embodied_iqa.models.subjects.catalogue.entry import Backend, Paper, Role, StatisticsKind, SubjectEntry
from embodied_iqa.models.subjects.catalogue.tables import entries, entry, find_entry, names_of

__all__ = [
    "Backend",
    "Paper",
    "Role",
    "StatisticsKind",
    "SubjectEntry",
    "entries",
    "entry",
    "find_entry",
    "names_of",
]
