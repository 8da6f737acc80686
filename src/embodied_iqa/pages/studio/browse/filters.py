"""Filters, order and place of the table of pairs: from the address, to SQL, and back into links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final
from urllib.parse import urlencode

from embodied_iqa.base.errors import UsageError
from embodied_iqa.pages.studio.browse.overview import Choices

DECISION: Final = "decision"
COGNITION: Final = "cognition"
LEVELS: Final = ("1", "2", "3", "4", "5")
PER_PAGE: Final = 50
_HIGHEST: Final = 5.0
_MOST_PAGES: Final = 1_000_000
_LONGEST: Final = 200
COLUMNS: Final = {
    "distortion_id": "Distortion",
    "level": "Level",
    "view": "View",
    "verbs": "Verbs",
    "main_object": "Object",
    "decision": "Decision",
    "decision_spread": "Spread of decision",
    "cognition": "Cognition",
    "cognition_spread": "Spread of cognition",
    "refused": "Refused",
    "verdict": "Gate",
    "luminance": "Luminance",
    "contrast": "Contrast",
    "chrominance": "Colour",
    "sharpness": "Sharpness",
}
"""Column of the index to heading; each sorts."""
VERDICT: Final = "verdict"
"""Column of the gate's verdict; hidden where the pairs were not judged."""
SCORE: Final = "score"
"""Column of the chosen subject's score."""
PAIR: Final = "pair_id"
"""Column of the thumbnails."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What the table shows; a text is empty and a number None where it does not matter.

    Attributes:
        distortion: Number, "01" to "30".
        group: Class of distortions.
        level: "1" to "5".
        view: Camera.
        verb: Of any task of the reference.
        main_object: Category.
        of: Score to which `low`, `high` and `spread` apply: "decision", "cognition" or a subject.
        low: Lowest score, 0 to 5.
        high: Highest score, 0 to 5.
        spread: Least difference between the best and the worst subject, 0 to 5.
        verdict: Of the gate.
        reference: Only pairs of this reference.
        sort: Column.
        down: Largest first.
        page: From 1.
    """

    distortion: str = ""
    group: str = ""
    level: str = ""
    view: str = ""
    verb: str = ""
    main_object: str = ""
    of: str = DECISION
    low: float | None = None
    high: float | None = None
    spread: float | None = None
    verdict: str = ""
    reference: str = ""
    sort: str = DECISION
    down: bool = False
    page: int = 1

    def link(self, **changes: object) -> str:
        """Return the query string of these filters with changes; other filters or order start at page 1."""
        changed = replace(self, **({"page": 1} | changes))  # type: ignore[arg-type]  # names of this class
        default = Filters()
        values = {item.name: getattr(changed, item.name) for item in fields(changed)}
        kept = {name: value for name, value in values.items() if value != getattr(default, name)}
        return "?" + urlencode({name: int(v) if isinstance(v, bool) else v for name, v in kept.items()})

    def sorted_by(self, column: str) -> str:
        """Return the link of a heading: sort by it, or turn its order."""
        return self.link(sort=column, down=not self.down if self.sort == column else False)

    @property
    def subject(self) -> str:
        """The chosen subject, or empty."""
        return "" if self.of in {DECISION, COGNITION} else self.of


def filters_from(parameters: Mapping[str, str], choices: Choices) -> Filters:
    """Return the filters of an address.

    Raises:
        UsageError: A parameter is unknown, out of range, or names nothing of this database.
    """
    if parameters.get("sort") == SCORE and parameters.get("of") in {DECISION, COGNITION}:
        # the form still sorts by the score of the subject that was chosen before
        parameters = {name: value for name, value in parameters.items() if name not in {"sort", "down"}}
    unknown = [name for name in parameters if name not in {item.name for item in fields(Filters)}]
    if unknown:
        known = [item.name for item in fields(Filters)]
        raise UsageError("unknown filter", got=unknown[0][:_LONGEST], available=known)
    given = {name: value.strip() for name, value in parameters.items() if value.strip()}
    of = _one_of(given, "of", (DECISION, COGNITION, *choices.subjects)) or DECISION
    sortable = [PAIR, *COLUMNS, *([SCORE] if of in choices.subjects else [])]
    return Filters(
        distortion=_one_of(given, "distortion", choices.distortions),
        group=_text(given, "group"),
        level=_one_of(given, "level", LEVELS),
        view=_one_of(given, "view", choices.views),
        verb=_one_of(given, "verb", choices.verbs),
        main_object=_one_of(given, "main_object", choices.objects),
        of=of,
        low=_number(given, "low"),
        high=_number(given, "high"),
        spread=_number(given, "spread"),
        verdict=_one_of(given, "verdict", choices.verdicts),
        reference=_text(given, "reference"),
        sort=_one_of(given, "sort", sortable) or DECISION,
        down=_one_of(given, "down", ("0", "1")) == "1",
        page=_page(given),
    )


def _one_of(given: Mapping[str, str], name: str, available: Any) -> str:
    value = given.get(name, "")
    if value and value not in available:
        raise UsageError(f"no such {name}", got=value[:_LONGEST], available=available)
    return value


def _text(given: Mapping[str, str], name: str) -> str:
    value = given.get(name, "")
    if len(value) > _LONGEST:
        raise UsageError(f"{name} is too long", expected=f"at most {_LONGEST} characters")
    return value


def _number(given: Mapping[str, str], name: str) -> float | None:
    text = given.get(name)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= _HIGHEST:
        raise UsageError(f"{name} is wrong", expected="a number from 0 to 5", got=text[:_LONGEST])
    return value


def _page(given: Mapping[str, str]) -> int:
    text = given.get("page", "1")
    if not (text.isascii() and text.isdigit() and len(text) <= 7 and 1 <= int(text) <= _MOST_PAGES):
        raise UsageError("page is wrong", expected="1 or more", got=text[:_LONGEST])
    return int(text)
