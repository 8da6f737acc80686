"""What `embodied-iqa subjects` prints: the catalogue, one subject, what runs here."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from embodied_iqa.cli.output import console
from embodied_iqa.scoring.constants import SubjectConstants, UncalibratedError
from embodied_iqa.subjects.catalogue import SubjectEntry
from embodied_iqa.subjects.constants_files import constants_of
from embodied_iqa.subjects.readiness import Readiness

_DASH = "-"


def record_of(item: SubjectEntry) -> dict[str, object]:
    """Return an entry as plain data."""
    tree = dataclasses.asdict(item)
    tree |= {"weights_gb": item.weights_gb, "needed_gb": item.needed_gb, "needs": item.needs}
    return tree | {"calibrated": _scale(item.name)}


def record_of_readiness(item: Readiness) -> dict[str, object]:
    """Return what a check found as plain data."""
    return dataclasses.asdict(item) | {"ready": item.is_ready}


def print_catalogue(items: Sequence[SubjectEntry]) -> None:
    """Print a line a subject."""
    table = _table("name", "role", "back end")
    for heading in ("parameters", "weights", "memory", "picture"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("licence")
    before = ""
    for item in items:
        group = f"{item.role} {item.papers[:1]}"
        if before not in {"", group}:
            table.add_section()
        before = group
        table.add_row(item.name, item.role.upper(), item.backend, *_sizes(item), item.licence)
    out = console()
    out.print(table)
    out.print(
        f"{len(items)} subjects; `embodied-iqa subjects show NAME` tells more, `check --all` what runs here",
        style="dim",
        highlight=False,
    )


def print_entry(item: SubjectEntry) -> None:
    """Print all that is known of a subject."""
    facts: dict[str, object] = {
        "name": item.name,
        "in the papers": f"{item.label} ({', '.join(item.papers) or 'not named'})",
        "role": item.role.upper(),
        "back end": item.backend,
        "model": item.model_id or "part of this package",
        "revision": item.revision or ("give one: NAME@COMMIT" if item.family else _DASH),
        "licence": item.licence,
        "parameters, weights, memory": ", ".join(_sizes(item)[:3]),
        "picture": _sizes(item)[3],
        "views": ", ".join(item.views) + (", and any other" if item.any_view else ""),
        "prompt": item.prompt,
        "action convention": item.convention,
        "needs": "; ".join(item.needs) or "nothing",
        "scores scaled by": _scale(item.name),
        "note": item.note,
    }
    table = Table.grid(padding=(0, 2))
    for heading, value in facts.items():
        if value:
            table.add_row(Text(heading, style="bold"), str(value))
    console().print(table)


def print_readiness(items: Sequence[Readiness]) -> None:
    """Print a line a subject: whether it runs, and what it lacks."""
    table = _table("name", "role")
    table.add_column("runs here")
    table.add_column("what it lacks", overflow="fold")
    for item in items:
        answer = Text("yes", style="green") if item.is_ready else Text("no", style="red")
        words = "\n".join((*item.lacks, *item.remarks))
        table.add_row(item.name, item.role.upper(), answer, Text(words))
    out = console()
    out.print(table)
    ready = sum(item.is_ready for item in items)
    out.print(f"{ready} of {len(items)} run here", style="dim", highlight=False)


def scale_in_words(constants: SubjectConstants) -> str:
    """Say what a subject's scores are scaled by, in a few words."""
    if constants.d_max_m is not None:
        return f"d_max {1e3 * constants.d_max_m:.0f} mm"
    n_grams = 0 if constants.frequencies is None else len(constants.frequencies.counts)
    return f"{n_grams} n-grams"


def _table(*headings: str) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in headings:
        table.add_column(heading, no_wrap=True)
    return table


def _sizes(item: SubjectEntry) -> tuple[str, str, str, str]:
    millions = item.parameters_m
    parameters = _DASH
    if millions is not None:
        parameters = f"{millions / 1e3:.3g} B" if millions >= 1e3 else f"{millions:g} M"
    return (
        parameters,
        f"{item.weights_gb:g} GB" if item.weights_gb else _DASH,
        f"{item.needed_gb:g} GB" if item.needed_gb else _DASH,
        f"{item.picture_px} px" if item.picture_px else "any size",
    )


def _scale(name: str) -> str:
    try:
        return scale_in_words(constants_of(name))
    except UncalibratedError:
        return "not calibrated"
