"""Answers that say little: of subjects that answered nothing, and those that see no target on a reference.

What a subject needs may be not known of the images, or it cannot be reached.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from embodied_iqa.data.database.completeness import answers_of
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.models.subjects.unseen_targets import UnseenTargets

_KEY: Final = ["reference_id", "task_id"]


@dataclass(frozen=True, slots=True)
class Unanswered:
    """Subjects that share a reason.

    Attributes:
        subjects: Their names.
        answers: How many answers each of them lacks: all.
        reason: Of most of the references, without the subject's name.
    """

    subjects: tuple[str, ...]
    answers: int
    reason: str

    def __str__(self) -> str:
        """Return one line."""
        who = self.subjects[0] if len(self.subjects) == 1 else f"{len(self.subjects)} subjects"
        names = "" if len(self.subjects) == 1 else f" ({', '.join(self.subjects)})"
        return f"{who}: all {self.answers:,} answers missing; reason: {self.reason}{names}"


def unanswered(store: DatabaseStore, names: Iterable[str]) -> tuple[Unanswered, ...]:
    """Return those of some subjects that have errors and no answer at all, by reason."""
    found: dict[tuple[int, str], list[str]] = {}
    for name in names:
        table = answers_of(store, name, ["pair_id", "error"])
        if not len(table) or table["error"].null_count:
            continue
        # on a pair the reason is that there is none on its reference
        of_references = table.filter(pc.is_null(table["pair_id"]))
        reasons = Counter((of_references if len(of_references) else table)["error"].to_pylist())
        reason = reasons.most_common(1)[0][0].removeprefix(f"{name} ")
        found.setdefault((len(table), reason), []).append(name)
    return tuple(Unanswered(tuple(who), count, reason) for (count, reason), who in found.items())


def unseen_targets(store: DatabaseStore, *, all_views: bool = False) -> UnseenTargets:
    """Count which answers and decisions on the references of a database see no target.

    Only those against which something was scored count; none in a database without scores.

    Args:
        store: The database.
        all_views: Also count what subjects said of images from a view that they are not made for.
    """
    found = UnseenTargets()
    if not store.scores_file.is_file():
        return found
    scores = store.scores(["subject", *_KEY, "own_view", "score"])
    own = pc.or_(scores["own_view"], pa.scalar(all_views))
    scored = scores.filter(pc.and_(own, pc.is_valid(scores["score"])))
    keys = scored.group_by(["subject", *_KEY]).aggregate([])
    for subject in store.record().subjects:
        column = "answer" if subject.role is Role.VLM else "status"
        table = answers_of(store, subject.name, ["pair_id", *_KEY, column])
        of_references = table.filter(pc.and_(pc.is_null(table["pair_id"]), pc.is_valid(table[column])))
        wanted = keys.filter(pc.equal(keys["subject"], subject.name)).select(_KEY)
        counted = of_references.select([*_KEY, column]).join(wanted, _KEY, join_type="left semi")
        for said in counted[column].to_pylist():
            found.add(subject.role, said)
    return found
