"""`embodied-iqa static make --vla`: expert trajectories of the simulated cell."""

from __future__ import annotations

import argparse
from collections import Counter

from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.cli.output import next_command
from embodied_iqa.cli.plan_options import engine_of
from embodied_iqa.suites.static_benchmark.vla.making import ImageOptions, make_trajectories
from embodied_iqa.world.simulation.camera import CameraModel


def make(arguments: argparse.Namespace, tasks: int, width_px: int, height_px: int) -> int:
    """Make the trajectories; return the exit code."""
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
    print(
        f"{folder.path}: {len(made)} trajectories, {sum(task.draws for task in made)} failed experts replaced"
    )
    print(", ".join(f"{count} {verb}" for verb, count in sorted(verbs.items())))
    print(f"{len(kinds)} kinds of objects, {len(backgrounds)} backgrounds")
    next_command("evaluate", "static", arguments.out, "--vla", "panel-vla-query,expert,still")
    return 0
