"""`embodied-iqa manipulate errors`: why a planner's episodes failed."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from embodied_iqa.base.records import unstructure
from embodied_iqa.cli.output import console, print_json, table_of


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("run", type=Path, metavar="RUN", help="folder of `embodied-iqa evaluate manipulation`")
    labels = "hand labels, CSV with the columns arm, episode, kind; they win over the rules"
    add("--labels", type=Path, metavar="FILE", help=labels)
    add("--json", action="store_true", help="print every failed episode as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the errors and write the report anew; return the exit code."""
    from embodied_iqa.pages.reports.manipulation.manipulation_report import write_manipulation_report
    from embodied_iqa.pages.reports.manipulation.study import load_study
    from embodied_iqa.suites.cell_manipulation.planning.failures import CLASS_OF, ErrorKind
    from embodied_iqa.suites.cell_manipulation.planning.faulty import Fault
    from embodied_iqa.suites.cell_manipulation.planning.labels import (
        agreement,
        confusion,
        read_labels,
        solved_faults,
    )

    labels = read_labels(arguments.labels) if arguments.labels else {}
    study = load_study(arguments.run, labels)
    page = write_manipulation_report(arguments.run, labels)
    table = confusion(study.failures)
    right, total = agreement(table)
    if arguments.json:
        tree = [unstructure(one) | {"class": str(one.error_class)} for one in study.failures]
        print_json(tree)
        return 0
    counts = Counter(one.kind for one in study.failures)
    shown = table_of("class", "kind", "episodes", right=("episodes",))
    for kind in ErrorKind:
        if counts[kind]:
            shown.add_row(str(CLASS_OF[kind]), str(kind), str(counts[kind]))
    console().print(shown)
    solved = solved_faults(study.transcripts)
    if table or solved:
        faults = table_of("seeded fault", "solved", "found as", right=("solved",))
        for fault in (one for one in Fault if one in table or solved[one]):
            counted = table.get(fault, Counter()).most_common()
            named = ", ".join(f"{kind} {count}" for kind, count in counted)
            faults.add_row(str(fault), str(solved[fault]), named)
        console().print(faults)
        print(f"rules find {right} of {total} seeded faults")
    print(f"report: {page}")
    return 0
