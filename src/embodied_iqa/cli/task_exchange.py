"""`embodied-iqa tasks export` and `tasks import`: the edited tasks of a database as a task file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.records import unstructure
from embodied_iqa.cli.output import next_command, print_json
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.database.task_exchange import Conflicts, export_tasks, import_tasks


def write_file(arguments: argparse.Namespace) -> int:
    """Export; return the exit code."""
    out: Path = arguments.out
    if out.exists():
        raise InputError(f"{out} exists", expected="a new file")
    done = export_tasks(DatabaseStore(arguments.database), out)
    if arguments.json:
        result = {"pictures": done.images, "tasks": done.tasks, "rejected": done.left_out}
        print_json(result)
    else:
        left_out = f"; {done.left_out} rejected references are left out" if done.left_out else ""
        print(f"{out}: {done.images} references, {done.tasks} tasks{left_out}")
        next_command("tasks", "import", arguments.database, out, "--person", "NAME")
    return 0


def read_file(arguments: argparse.Namespace) -> int:
    """Import; return the exit code."""
    store, how = DatabaseStore(arguments.database), Conflicts(arguments.conflicts)
    done = import_tasks(store, arguments.file, arguments.person, how)
    if arguments.json:
        result = {"pictures": done.images, "tasks": done.tasks, "edits": done.edits}
        print_json(result | {"conflicts": unstructure(done.conflicts)})
        return 0
    for name in done.conflicts:
        result_of = "replaced" if how is Conflicts.REPLACE else "kept as it is"
        print(f"edited since the export, {result_of}: {name}", file=sys.stderr)
    print(f"{arguments.file}: {done.images} references, {done.tasks} tasks, {done.edits} edits")
    if done.edits:
        next_command("annotate", "--out", arguments.database)
    return 0
