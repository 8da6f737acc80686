"""References that no subject of a panel is made for: known before the work of a build begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from embodied_iqa.data.database.record import RecordedSubject
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.catalogue.entry import Role

_SCORES: Final = {Role.VLM: "cognition", Role.VLA: "decision"}


@dataclass(frozen=True, slots=True)
class UnscoredViews:
    """References without a score of one kind, because its subjects are made for other views.

    Attributes:
        score: Its kind.
        subjects: Their names.
        made_for: Their views.
        references: Number of all references.
        without: Number of those without the score.
        views: Their views.
        left: Views of the other references.
    """

    score: str
    subjects: tuple[str, ...]
    made_for: tuple[View, ...]
    references: int
    without: int
    views: tuple[View, ...]
    left: tuple[View, ...]

    def __str__(self) -> str:
        """Return one line."""
        verb = "is" if len(self.subjects) == 1 else "are"
        return (
            f"{', '.join(self.subjects)} {verb} made for {', '.join(self.made_for)}: {self.without:,} of "
            f"{self.references:,} references ({', '.join(self.views)}) will have no {self.score} score"
        )


def unscored_views(views: Iterable[View], subjects: Sequence[RecordedSubject]) -> Iterator[UnscoredViews]:
    """Yield the kinds of scores that some references will lack.

    Args:
        views: Of all references.
        subjects: Of the database; a kind of score without any subject is none that lacks.
    """
    counts = Counter(views)
    for role, score in _SCORES.items():
        members = [subject for subject in subjects if subject.role is role]
        lacking = [view for view in counts if not any(one.info.is_made_for(view) for one in members)]
        if members and lacking:
            yield UnscoredViews(
                score,
                tuple(subject.name for subject in members),
                tuple(dict.fromkeys(view for subject in members for view in subject.views)),
                counts.total(),
                sum(counts[view] for view in lacking),
                tuple(sorted(lacking)),
                tuple(sorted(counts.keys() - set(lacking))),
            )
