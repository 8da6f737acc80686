"""`embodied-iqa subjects calibrate`: measures the scoring constants of a subject."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from rich.console import Console

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.progress import track
from embodied_iqa.cli.node_options import overrides_of, with_consent
from embodied_iqa.cli.output import next_command
from embodied_iqa.cli.subjects.listing import scale_in_words
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.scoring.constants import SubjectConstants, save_constants
from embodied_iqa.models.scoring.decision import position_scale_m
from embodied_iqa.models.scoring.frequencies import document_frequencies
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.models.subjects.constants_files import own_constants_file
from embodied_iqa.models.subjects.reference import parse_reference
from embodied_iqa.models.subjects.reference_answers import (
    reference_answers,
    reference_chunks,
    reference_scenes,
)
from embodied_iqa.models.subjects.registry import make_vla, make_vlm, single_policy
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.world.protocols import Vla, Vlm, closing_subject
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.scenes.scene import Scene
from embodied_iqa.world.simulation.camera.simulated_cameras import as_delivered

_STDERR = Console(stderr=True)


def calibrate(arguments: argparse.Namespace) -> int:
    """Measure on undistorted images of seeded scenes and write the constants; return the exit code."""
    reference = parse_reference(arguments.name, Role(arguments.role) if arguments.role else None)
    scenes = reference_scenes(arguments.scenes, arguments.seed)
    recipe = (
        f"embodied-iqa subjects calibrate {arguments.name} --scenes {arguments.scenes} "
        f"--seed {arguments.seed}: every task of each simulated scene, arm at home, clean 640x480 images"
    )
    overrides = overrides_of(with_consent(arguments, "vlm_node", "vla_node"))
    graph = resolve(tuple(arguments.config), overrides, only_reads=True)
    if reference.role is Role.VLM:
        with closing_subject(make_vlm(reference, graph.vlm_node.options, _STDERR.print)) as vlm:
            constants = _measure_vlm(vlm, scenes, recipe)
    else:
        policy = single_policy(reference)
        with closing_subject(make_vla(policy, graph.vla_node.options, _STDERR.print)) as vla:
            constants = _measure_vla(vla, scenes, recipe, arguments.seed)
    path = arguments.out or own_constants_file(reference.text)
    save_constants(constants, path)
    if arguments.json:
        print(json.dumps({"subject": constants.subject, "file": str(path), "d_max_m": constants.d_max_m}))
    else:
        scale = scale_in_words(constants)
        print(f"{constants.subject}: {scale} from {constants.n_references} answers, in {path}")
        words = [word for file in arguments.config for word in ("--config", file)]
        words += [word for value in arguments.set for word in ("--set", value)]
        next_command("trial", f"--{reference.role}", arguments.name, *words)
    return 0


def _check_views(name: str, views: Sequence[View], how: str) -> None:
    """Refuse a subject with cameras that the images of the measurement do not have.

    Raises:
        UsageError: There is one.
    """
    if lacking := [view for view in views if view not in CELL_VIEWS]:
        raise UsageError(
            f"constants are measured on images of the simulated cell, and {name} sees others",
            expected=f"cameras {', '.join(CELL_VIEWS)}: {how}",
            got=", ".join(lacking),
        )


def _measure_vla(vla: Vla, scenes: tuple[Scene, ...], recipe: str, seed: int) -> SubjectConstants:
    info = vla.info
    _check_views(info.name, info.views, "vla_node.policy.views names them for a policy of other stacks")
    chunks = [
        chunk for scene in track(scenes, info.name) for chunk in reference_chunks(vla, scene, as_delivered)
    ]
    d_max_m = position_scale_m(chunks, seed=seed)
    return SubjectConstants(info.name, info.version, recipe, len(chunks), d_max_m=d_max_m)


def _measure_vlm(vlm: Vlm, scenes: tuple[Scene, ...], recipe: str) -> SubjectConstants:
    info = vlm.info
    _check_views(info.name, info.views[:1], "a VLM that lists one of them first")
    answers = [
        answer for scene in track(scenes, info.name) for answer in reference_answers(vlm, scene, as_delivered)
    ]
    frequencies = document_frequencies(answers)
    return SubjectConstants(info.name, info.version, recipe, len(answers), frequencies=frequencies)
