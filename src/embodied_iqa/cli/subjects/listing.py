"""`embodied-iqa subjects list`, `show` and `check`."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.plugins import PluginGroup, plugins
from embodied_iqa.cli.output import console, next_command, print_json, table_of
from embodied_iqa.models.scoring.constants import SubjectConstants, UncalibratedError
from embodied_iqa.models.subjects.catalogue import StatisticsKind, SubjectEntry, entries, entry
from embodied_iqa.models.subjects.constants_files import constants_of
from embodied_iqa.models.subjects.readiness import Readiness, check_readiness

_DASH = "-"
_WIDTH_WITH_LICENCE = 110


def list_catalogue(arguments: argparse.Namespace) -> int:
    """Print the catalogue."""
    chosen = [item for item in entries() if arguments.role in {None, item.role}]
    if arguments.json:
        print_json([_record_of(item) for item in chosen])
    else:
        _print_catalogue(chosen)
        for plugin in plugins(PluginGroup.SUBJECTS):
            console().print(f"plug-in {plugin.name} of {plugin.distribution}", highlight=False, markup=False)
        next_command("subjects", "show", "NAME")
    return 0


def show_entry(arguments: argparse.Namespace) -> int:
    """Print one subject of the catalogue."""
    found = entry(arguments.name)
    if arguments.json:
        print_json(_record_of(found))
    else:
        _print_entry(found)
        next_command("subjects", "check", arguments.name)
    return 0


def check_subjects(arguments: argparse.Namespace) -> int:
    """Print which subjects run here; return 0 if all named ones do, and always with --all."""
    if bool(arguments.names) == arguments.all:
        raise UsageError("which subjects?", expected="names or references, or --all")
    names = [item.name for item in entries()] if arguments.all else arguments.names
    found = [check_readiness(name) for name in names]
    if arguments.json:
        records = [dataclasses.asdict(item) | {"ready": item.is_ready} for item in found]
        print_json(records)
    else:
        _print_readiness(found)
        ready = next((item for item in found if item.is_ready), None)
        if ready is not None:
            next_command("trial", f"--{ready.role}", ready.name)
    return 0 if arguments.all or all(item.is_ready for item in found) else 1


def _record_of(item: SubjectEntry) -> dict[str, object]:
    """Return an entry as plain data."""
    tree = dataclasses.asdict(item)
    tree |= {"weights_gb": item.weights_gb, "needed_gb": item.needed_gb, "needs": item.needs}
    return tree | {"calibrated": _scale(item.name)}


def _print_catalogue(items: Sequence[SubjectEntry]) -> None:
    """Print one line per subject."""
    numbers = ("size", "weights", "memory", "image")
    out, before = console(), ""
    has_room = out.width >= _WIDTH_WITH_LICENCE
    headings = ("name", "role", "back end", *numbers, *(("licence",) if has_room else ()))
    table = table_of(*headings, right=numbers)
    for item in items:
        group = f"{item.role} {item.papers[:1]}"
        if before not in {"", group}:
            table.add_section()
        before = group
        licence = (item.licence,) if has_room else ()
        table.add_row(item.name, item.role.upper(), item.backend, *_sizes(item), *licence)
    out.print(table)
    out.print(
        f"{len(items)} subjects; `embodied-iqa subjects check --all` lists those that run here",
        style="dim",
        highlight=False,
    )


def _print_entry(item: SubjectEntry) -> None:
    """Print all facts about a subject."""
    facts: dict[str, object] = {
        "name": item.name,
        "in the papers": f"{item.label} ({', '.join(item.papers) or 'not named'})",
        "role": item.role.upper(),
        "back end": item.backend,
        "model": item.model_id or "part of this package",
        "revision": item.revision or ("give one: NAME@COMMIT" if item.family else _DASH),
        "licence": item.licence,
        "parameters, weights, memory": ", ".join(_sizes(item)[:3]),
        "image": _sizes(item)[3],
        "views": ", ".join(item.views) + (", and any other" if item.any_view else ""),
        "arms": "simulated only" if item.simulation_only else "",
        "prompt": item.prompt,
        "action convention": item.convention,
        "normalised with": "" if item.statistics is StatisticsKind.AUTO else item.statistics,
        "needs": "; ".join(item.needs) or "nothing",
        "scores scaled by": _scale(item.name),
        "note": item.note,
    }
    table = Table.grid(padding=(0, 2))
    for heading, value in facts.items():
        if value:
            table.add_row(Text(heading, style="bold"), str(value))
    console().print(table)


def _print_readiness(items: Sequence[Readiness]) -> None:
    """Print one line per subject: whether it runs, and what it needs."""
    table = table_of("name", "role", "runs here", "what it lacks")
    for item in items:
        answer = Text("yes", style="green") if item.is_ready else Text("no", style="red")
        words = "\n".join((*item.lacks, *item.remarks))
        table.add_row(item.name, item.role.upper(), answer, Text(words))
    out = console()
    out.print(table)
    ready = sum(item.is_ready for item in items)
    out.print(f"{ready} of {len(items)} run here", style="dim", highlight=False)


def scale_in_words(constants: SubjectConstants) -> str:
    """Return a subject's scoring constants in a few words."""
    if constants.d_max_m is not None:
        return f"d_max {1e3 * constants.d_max_m:.0f} mm"
    n_grams = 0 if constants.frequencies is None else len(constants.frequencies.counts)
    return f"{n_grams} n-grams"


def _sizes(item: SubjectEntry) -> tuple[str, str, str, str]:
    millions = item.parameters_m
    parameters = _DASH
    if millions is not None:
        parameters = f"{millions / 1e3:.3g} B" if millions >= 1e3 else f"{millions:g} M"
    return (
        parameters,
        f"{item.weights_gb:g} GB" if item.weights_gb else _DASH,
        f"{item.needed_gb:g} GB" if item.needed_gb else _DASH,
        f"{item.image_px} px" if item.image_px else "any size",
    )


def _scale(name: str) -> str:
    try:
        return scale_in_words(constants_of(name))
    except UncalibratedError:
        return "not calibrated"
