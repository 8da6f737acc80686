"""`embodied-iqa subjects calibrate`: measures what a subject's scores are scaled by."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rich.console import Console

from embodied_iqa.cli.consent import with_consent
from embodied_iqa.cli.node_options import overrides_of
from embodied_iqa.cli.subjects_tables import scale_in_words
from embodied_iqa.errors import InternalError
from embodied_iqa.graph.node_table import resolve
from embodied_iqa.graph.parameters import GraphParameters, VlaParameters, VlmParameters
from embodied_iqa.progress import track
from embodied_iqa.scenes.scene import Scene
from embodied_iqa.scoring.constants import SubjectConstants, save_constants
from embodied_iqa.scoring.decision import position_scale_m
from embodied_iqa.scoring.frequencies import document_frequencies
from embodied_iqa.simulation.reference_answers import reference_answers, reference_chunks, reference_scenes
from embodied_iqa.subjects.catalogue import find_entry
from embodied_iqa.subjects.constants_files import own_constants_file, shipped_constants_file
from embodied_iqa.subjects.protocols import Vla, Vlm
from embodied_iqa.subjects.registry import Role, make_vla, make_vlm, role_of

__all__ = ["calibrate"]

_STDERR = Console(stderr=True)


def calibrate(arguments: argparse.Namespace) -> int:
    """Measure on clean pictures of seeded scenes, and write the constants; return the exit code."""
    role = Role(arguments.role) if arguments.role else role_of(arguments.name)
    scenes = reference_scenes(arguments.scenes, arguments.seed)
    recipe = (
        f"embodied-iqa subjects calibrate {arguments.name} --scenes {arguments.scenes} "
        f"--seed {arguments.seed}: every task of each simulated scene, arm at home, clean 640x480 pictures"
    )
    graph = resolve(tuple(arguments.config), overrides_of(with_consent(arguments, "vlm_node", "vla_node")))
    if role is Role.VLM:
        constants = _measure_vlm(_vlm(arguments.name, graph), scenes, recipe)
    else:
        constants = _measure_vla(_vla(arguments.name, graph), scenes, recipe, arguments.seed)
    path = arguments.out or _file_of(arguments.name)
    save_constants(constants, path)
    if arguments.json:
        print(json.dumps({"subject": constants.subject, "file": str(path), "d_max_m": constants.d_max_m}))
    else:
        scale = scale_in_words(constants)
        print(f"{constants.subject}: {scale} from {constants.n_references} answers, in {path}")
    return 0


def _vlm(name: str, graph: GraphParameters) -> Vlm:
    parameters = graph.vlm_node
    if not isinstance(parameters, VlmParameters):
        raise InternalError("the graph has no vlm_node")
    return make_vlm(name, parameters.options, _STDERR.print)


def _vla(name: str, graph: GraphParameters) -> Vla:
    parameters = graph.vla_node
    if not isinstance(parameters, VlaParameters):
        raise InternalError("the graph has no vla_node")
    return make_vla(name, parameters.options, _STDERR.print)


def _measure_vla(vla: Vla, scenes: tuple[Scene, ...], recipe: str, seed: int) -> SubjectConstants:
    info = vla.info
    chunks = [chunk for scene in track(scenes, info.name) for chunk in reference_chunks(vla, scene)]
    d_max_m = position_scale_m(chunks, seed=seed)
    return SubjectConstants(info.name, info.version, recipe, len(chunks), d_max_m=d_max_m)


def _measure_vlm(vlm: Vlm, scenes: tuple[Scene, ...], recipe: str) -> SubjectConstants:
    info = vlm.info
    answers = [answer for scene in track(scenes, info.name) for answer in reference_answers(vlm, scene)]
    frequencies = document_frequencies(answers)
    return SubjectConstants(info.name, info.version, recipe, len(answers), frequencies=frequencies)


def _file_of(name: str) -> Path:
    """Return the file that ships with the package, for an embedded subject; else the user's own."""
    entry = find_entry(name)
    return shipped_constants_file(name) if entry is not None and entry.factory else own_constants_file(name)
