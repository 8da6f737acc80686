"""`embodied-iqa static make`: items and expert trajectories drawn from the simulated cell."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.cli.output import next_command, print_json
from embodied_iqa.cli.plan_options import (
    add_engine_options,
    add_plan_options,
    engine_of,
    number_of,
    read_plan,
)
from embodied_iqa.suites.static_benchmark.making.make_plan import ITEMS, MakePlan
from embodied_iqa.world.simulation.camera import CameraModel

_TRAJECTORIES = 100


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="BENCH", help="new folder, or one that was cut short")
    add("--trajectories", action="store_true", help="expert trajectories for VLAs instead of items")
    number = (
        f"number of items (default {ITEMS}), with --trajectories of trajectories (default {_TRAJECTORIES})"
    )
    add("--items", type=number_of(MakePlan, "items"), metavar="N", help=number)
    steps = "with --trajectories: also draw every step from every camera"
    add("--step-images", action="store_true", help=steps)
    add_plan_options(parser, MakePlan, "seed")
    add("--size", default="480x360", metavar="WxH", help="of the images (default 480x360)")
    add_plan_options(parser, MakePlan, "camera_model")
    add_engine_options(parser)
    add("--json", action="store_true", help="print the counts as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Make the items; return the exit code."""
    from embodied_iqa.suites.static_benchmark.making.drafts import slots_of
    from embodied_iqa.suites.static_benchmark.making.make_items import make_items

    width, times, height = arguments.size.partition("x")
    if not (times and width.isdecimal() and height.isdecimal()):
        raise UsageError("wrong --size", expected="such as 480x360", got=arguments.size)
    if arguments.trajectories:
        return _make_trajectories(arguments, arguments.items or _TRAJECTORIES, int(width), int(height))
    if arguments.step_images:
        raise UsageError("--step-images needs --trajectories")
    items = arguments.items or ITEMS
    size = {"width_px": int(width), "height_px": int(height)}
    plan = read_plan(MakePlan, arguments, items=items, engine=engine_of(arguments), **size)
    with ProgressBars(transient=False) as bars:
        record = make_items(
            arguments.out, plan, lambda done, total: bars.update("blocks of items", done, total)
        )
    slots = slots_of(items, arguments.seed)
    counts = Counter(str(slot.dimension) for slot in slots)
    if arguments.json:
        tree = {"benchmark": str(arguments.out), "items": record.items, "md5": record.md5}
        print_json(tree | {"dimensions": counts})
        return 0
    print(f"{arguments.out}: {record.items} items, md5 {record.md5}")
    print(", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    next_command("evaluate", "static", arguments.out, "--vlm", "oracle,letter-a,random,panel-vlm-fine")
    return 0


def _make_trajectories(arguments: argparse.Namespace, tasks: int, width_px: int, height_px: int) -> int:
    from embodied_iqa.suites.static_benchmark.vla.making import ImageOptions, make_trajectories

    images = ImageOptions(width_px, height_px, CameraModel(arguments.camera_model), arguments.step_images)
    with ProgressBars(transient=False) as bars:
        folder = make_trajectories(
            arguments.out,
            tasks=tasks,
            seed=arguments.seed,
            images=images,
            engine=engine_of(arguments),
            done=lambda done, tasks: bars.update("trajectories", done, tasks),
        )
    made = folder.read()
    verbs = Counter(task.verb for task in made)
    kinds, backgrounds = {task.kind for task in made}, {task.background for task in made}
    if arguments.json:
        failed = sum(task.draws for task in made)
        tree = {"benchmark": str(folder.path), "trajectories": len(made), "replaced_experts": failed}
        print_json(tree | {"verbs": verbs, "kinds": len(kinds), "backgrounds": len(backgrounds)})
        return 0
    print(
        f"{folder.path}: {len(made)} trajectories, {sum(task.draws for task in made)} failed experts replaced"
    )
    print(", ".join(f"{count} {verb}" for verb, count in sorted(verbs.items())))
    print(f"{len(kinds)} kinds of objects, {len(backgrounds)} backgrounds")
    next_command("evaluate", "static", arguments.out, "--vla", "panel-vla-query,expert,still")
    return 0
