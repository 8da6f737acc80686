"""`embodied-iqa tasks`: check task files, show the tasks of scenes, export and import those of databases."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.records import unstructure
from embodied_iqa.cli.output import console, next_command, print_json, table_of
from embodied_iqa.cli.parser import perform
from embodied_iqa.cli.plan_options import seed_number
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.scenes.language.five_tasks import draw_task_scene, make_tasks
from embodied_iqa.world.scenes.scene import Scene
from embodied_iqa.world.tasks.instruction import Instruction
from embodied_iqa.world.tasks.task import Task, task_row
from embodied_iqa.world.tasks.task_file_entries import by_line
from embodied_iqa.world.tasks.task_files import check_task_file, is_exported
from embodied_iqa.world.tasks.vocabulary import Verb

_MAX_SCENES = 100_000
_ACTIONS: Final = {
    "check": f"{__name__}:check",
    "make": f"{__name__}:make",
    "export": f"{__name__}:write_file",
    "import": f"{__name__}:read_file",
}
"""Action to its module and function."""
_CONFLICTS: Final = ("refuse", "keep", "replace")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    check = actions.add_parser("check", help="check a task file for images or recordings")
    check.add_argument("file", metavar="FILE", type=Path, help="YAML or CSV, as in docs/tasks.md")
    check.add_argument(
        "--no-files", action="store_true", help="do not require images and recordings to exist"
    )
    check.add_argument(
        "--topic", action="append", metavar="VIEW=TOPIC", help="image topic of a camera; repeatable"
    )
    make = actions.add_parser("make", help="show the five tasks of simulated scenes")
    which = make.add_mutually_exclusive_group(required=True)
    which.add_argument("--scene-seed", type=seed_number, metavar="N", help="seed of one scene")
    which.add_argument("--scenes", type=int, metavar="N", help="all scenes with seeds 0 to N - 1")
    make.add_argument(
        "--seed", type=seed_number, default=0, metavar="N", help="seed of wording and choice (default 0)"
    )
    make.add_argument(
        "--view",
        choices=[str(view) for view in CELL_VIEWS],
        default="top",
        help="camera that defines left and right (default top)",
    )
    make.add_argument("--verb", choices=[str(verb) for verb in Verb], help="verb of the easiest task")
    exporting = actions.add_parser("export", help="write the edited tasks of a database to a task file")
    exporting.add_argument("database", type=Path, metavar="DB")
    exporting.add_argument("--out", type=Path, required=True, metavar="FILE", help="new file, YAML")
    importing = actions.add_parser("import", help="add what a task file changes to the edits of a database")
    importing.add_argument("database", type=Path, metavar="DB")
    importing.add_argument("file", type=Path, metavar="FILE", help="exported file, or one with its images")
    importing.add_argument("--person", required=True, metavar="NAME", help="whose edits they are")
    importing.add_argument(
        "--conflicts",
        choices=_CONFLICTS,
        default=_CONFLICTS[0],
        help="references that somebody has edited since the export: refuse the file, keep them, or replace "
        "what the file changes (default refuse)",
    )
    for action in (check, make, exporting, importing):
        action.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; return the exit code."""
    return perform(_ACTIONS[arguments.action], arguments)


def check(arguments: argparse.Namespace) -> int:
    """Check a task file; return the exit code."""
    if arguments.no_files and arguments.topic:
        raise UsageError("--topic is of recordings that are read", expected="it without --no-files")
    exported = is_exported(arguments.file)
    files_exist = not arguments.no_files and not exported
    found, errors = check_task_file(arguments.file, files_exist=files_exist)
    if files_exist:
        from embodied_iqa.data.database.sources.listed_frames import faults_of_frames
        from embodied_iqa.data.frames.cameras import parse_topics

        topics = parse_topics(arguments.topic or ())
        errors = by_line((*errors, *faults_of_frames(arguments.file, found, topics)))
    tasks = sum(len(item.tasks) for item in found)
    if arguments.json:
        result = {"images": len(found), "tasks": tasks, "errors": [str(error) for error in errors]}
        print_json(result)
    else:
        for error in errors:
            print(f"embodied-iqa: {error}", file=sys.stderr)
        if not errors:
            print(f"{arguments.file}: {len(found)} images, {tasks} tasks")
            if exported:
                next_command("tasks", "import", "DB", arguments.file, "--person", "NAME")
            else:
                _next(arguments, list(dict.fromkeys(one.path for one in found if one.stamp_ns is not None)))
    return 1 if errors else 0


def _next(arguments: argparse.Namespace, bags: Sequence[PurePosixPath]) -> None:
    """Print the builds of the file: of each recording, whose databases can be merged, or of photographs."""
    words = ("--tasks", arguments.file, *_repeated(arguments))
    if not bags:
        next_command("build", "--from-folder", "DIR", *words, "--out", "DB")
    for number, bag in enumerate(bags, start=1):
        out = "DB" if len(bags) == 1 else f"DB{number}"
        next_command("build", "--from-bag", arguments.file.parent / bag, *words, "--out", out)
    if len(bags) > 1:
        next_command("db", "merge", "DB1", "DB2", "--out", "DB")


def _repeated(arguments: argparse.Namespace) -> list[str]:
    return [word for topic in arguments.topic or () for word in ("--topic", topic)]


def make(arguments: argparse.Namespace) -> int:
    """Show the tasks of scenes; return the exit code."""
    seeds = [arguments.scene_seed] if arguments.scenes is None else list(range(arguments.scenes))
    if not 1 <= len(seeds) <= _MAX_SCENES:
        raise UsageError("bad number of scenes", expected=f"1 to {_MAX_SCENES}", got=arguments.scenes)
    verb = None if arguments.verb is None else Verb(arguments.verb)
    view = View(arguments.view)
    records = []
    for seed in seeds:
        scene, main = draw_task_scene(seed, verb, views=[view])
        tasks = make_tasks(scene, arguments.seed, view=view, main=main)
        if arguments.json:
            records.append(_record(seed, arguments.view, scene, main, tasks))
        else:
            _print_scene(seed, scene, tasks)
            task = tasks[0].text
    if arguments.json:
        print_json(records)
    else:
        next_command("trial", "--scene-seed", seeds[-1], "--task", task)
    return 0


def _record(seed: int, view: str, scene: Scene, main: Instruction, tasks: tuple[Task, ...]) -> dict[str, Any]:
    return {
        "scene_seed": seed,
        "made_from": {"seed": scene.seed, "instruction": str(main)},
        "view": view,
        "objects": [
            {"object": str(thing), "x_m": round(item.x_m, 4), "y_m": round(item.y_m, 4)}
            for thing, item in zip(scene.names, scene.objects, strict=True)
        ],
        "tasks": [task_row(task) for task in tasks],
    }


def _print_scene(seed: int, scene: Scene, tasks: tuple[Task, ...]) -> None:
    objects = ", ".join(map(str, scene.names))
    headings = ("rank", "task", "ability", "points", "means")
    table = table_of(*headings, title=f"scene {seed}: {objects}", right=("rank", "points"))
    for task in tasks:
        plan = "; ".join(str(step) for step in task.plan)
        table.add_row(str(task.rank), task.text, task.ability, str(task.difficulty or "-"), plan)
    console().print(table)


def write_file(arguments: argparse.Namespace) -> int:
    """Export; return the exit code."""
    from embodied_iqa.data.database.store import DatabaseStore
    from embodied_iqa.data.database.task_exchange import export_tasks

    out: Path = arguments.out
    if out.exists():
        raise InputError(f"{out} exists", expected="a new file")
    done = export_tasks(DatabaseStore(arguments.database), out)
    if arguments.json:
        result = {"images": done.images, "tasks": done.tasks, "rejected": done.left_out}
        print_json(result)
    else:
        left_out = f"; {done.left_out} rejected references are left out" if done.left_out else ""
        print(f"{out}: {done.images} references, {done.tasks} tasks{left_out}")
        next_command("tasks", "import", arguments.database, out, "--person", "NAME")
    return 0


def read_file(arguments: argparse.Namespace) -> int:
    """Import; return the exit code."""
    from embodied_iqa.data.database.store import DatabaseStore
    from embodied_iqa.data.database.task_exchange import Conflicts, import_tasks

    store, how = DatabaseStore(arguments.database), Conflicts(arguments.conflicts)
    done = import_tasks(store, arguments.file, arguments.person, how)
    if arguments.json:
        result = {"images": done.images, "tasks": done.tasks, "edits": done.edits}
        print_json(result | {"conflicts": unstructure(done.conflicts)})
        return 0
    for name in done.conflicts:
        result_of = "replaced" if how is Conflicts.REPLACE else "kept as it is"
        print(f"edited since the export, {result_of}: {name}", file=sys.stderr)
    print(f"{arguments.file}: {done.images} references, {done.tasks} tasks, {done.edits} edits")
    if done.edits:
        next_command("annotate", "--out", arguments.database)
    return 0
