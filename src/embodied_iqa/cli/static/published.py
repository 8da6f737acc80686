"""`embodied-iqa static published`: the published rows, and a check of their arithmetic."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from embodied_iqa.base.records import unstructure
from embodied_iqa.cli.output import console, table_of
from embodied_iqa.suites.static_benchmark import published
from embodied_iqa.suites.static_benchmark.published import TotalCheck

_NUMBERS = ("macro", "micro", "stage", "first", "third", "steps", "position", "orientation", "end", "score")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "--check", action="store_true", help="recompute every total and print what does not fit"
    )
    parser.add_argument("--json", action="store_true", help="print as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the rows or the check; return 1 if a total is not reproduced."""
    totals = (*published.vlm_totals(), *published.vla_totals())
    if arguments.json:
        print(json.dumps(_record(check=arguments.check), indent=2))
    elif arguments.check:
        _print_check()
    else:
        _print_rows()
    return 0 if not arguments.check or all(total.agrees for total in totals) else 1


def _record(*, check: bool) -> dict[str, object]:
    if not check:
        return dict(unstructure(published.published_tables()))
    return {
        "vlm": unstructure(published.vlm_totals()),
        "vla": unstructure(published.vla_totals()),
        "persons": unstructure(published.person_checks()),
        "findings": published.findings(),
    }


def _print_rows() -> None:
    tables = published.published_tables()
    table = table_of("VLM (published)", *_NUMBERS[:5], "score", right=_NUMBERS)
    for vlm in tables.vlm:
        shares = (vlm.macro, vlm.micro, vlm.stage, vlm.first, vlm.third, vlm.score)
        table.add_row(vlm.model, *(f"{share:.2f}" for share in shares))
    console().print(table)
    table = table_of("VLA (published)", *_NUMBERS[5:], right=_NUMBERS)
    for vla in tables.vla:
        points = (vla.position, vla.orientation, vla.end_effector, vla.score)
        table.add_row(vla.model, str(vla.steps), *(f"{number:.2f}" for number in points))
    console().print(table)


def _print_check() -> None:
    _print_totals("VLM", published.vlm_totals())
    _print_totals("VLA", published.vla_totals())
    for finding in published.findings():
        print(f"- {finding}")


def _print_totals(kind: str, totals: Sequence[TotalCheck]) -> None:
    table = table_of(kind, "printed", "recomputed", "agrees", right=("printed", "recomputed"))
    for total in totals:
        word = "yes" if total.agrees else "no"
        table.add_row(total.model, f"{total.printed:.2f}", f"{total.recomputed:.2f}", word)
    console().print(table)
    print(f"{kind}: {sum(total.agrees for total in totals)} of {len(totals)} totals reproduced")
