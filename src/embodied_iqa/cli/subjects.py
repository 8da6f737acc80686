"""`embodied-iqa subjects`: lists the subjects, and measures what their scores are scaled by."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from embodied_iqa.scoring.constants import SubjectConstants
    from embodied_iqa.simulation.scene import Scene
    from embodied_iqa.subjects.catalogue import SubjectEntry

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="name the subjects")
    calibrate = actions.add_parser(
        "calibrate", help="measure d_max of a VLA or the document frequencies of a VLM on clean pictures"
    )
    calibrate.add_argument("name", metavar="NAME", help="name of the subject")
    calibrate.add_argument("--scenes", type=int, default=300, help="seeded scenes to draw (default: 300)")
    calibrate.add_argument("--seed", type=int, default=0, help="seed of the scenes (default: 0)")
    calibrate.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="JSON to write (default: the one that ships with the package, or the user's own)",
    )
    for action in (listing, calibrate):
        action.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    """List or calibrate."""
    return _calibrate(arguments) if arguments.action == "calibrate" else _list(arguments)


def _list(arguments: argparse.Namespace) -> int:
    from embodied_iqa.subjects.catalogue import entries  # noqa: PLC0415 - keeps --help fast

    if arguments.json:
        print(json.dumps([_record(item) for item in entries()], indent=2))
        return 0
    from rich.console import Console  # noqa: PLC0415 - keeps --help fast
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("name", "role", "back end", "weights", "memory", "picture", "licence"):
        table.add_column(heading)
    for item in entries():
        table.add_row(*_cells(item))
    Console().print(table)
    return 0


def _cells(item: SubjectEntry) -> tuple[str, ...]:
    return (
        item.name,
        item.role.upper(),
        item.backend,
        f"{item.weights_gb:g} GB" if item.weights_gb else "-",
        f"{item.needed_gb:g} GB" if item.needed_gb else "-",
        f"{item.picture_px} px" if item.picture_px else "any",
        item.licence,
    )


def _record(item: SubjectEntry) -> dict[str, object]:
    tree = dataclasses.asdict(item)
    tree |= {"weights_gb": item.weights_gb, "needed_gb": item.needed_gb, "needs": item.needs}
    return tree | {"calibrated": _scale(item.name)}


def _scale(name: str) -> str:
    """Say what a subject's scores are scaled by, in a few words."""
    from embodied_iqa.scoring.constants import UncalibratedError  # noqa: PLC0415 - as above
    from embodied_iqa.subjects.registry import constants_of  # noqa: PLC0415

    try:
        return _in_words(constants_of(name))
    except UncalibratedError:
        return "no"


def _in_words(constants: SubjectConstants) -> str:
    if constants.d_max_m is not None:
        return f"d_max {1e3 * constants.d_max_m:.0f} mm"
    n_grams = 0 if constants.frequencies is None else len(constants.frequencies.counts)
    return f"{n_grams} n-grams"


def _calibrate(arguments: argparse.Namespace) -> int:
    from embodied_iqa.scoring.constants import save_constants  # noqa: PLC0415 - as above
    from embodied_iqa.simulation.reference_answers import reference_scenes  # noqa: PLC0415
    from embodied_iqa.subjects.registry import Role, role_of  # noqa: PLC0415

    role = role_of(arguments.name)
    scenes = reference_scenes(arguments.scenes, arguments.seed)
    recipe = (
        f"embodied-iqa subjects calibrate {arguments.name} --scenes {arguments.scenes} "
        f"--seed {arguments.seed}: every task of each simulated scene, arm at home, clean 640x480 pictures"
    )
    measure = _measure_vlm if role is Role.VLM else _measure_vla
    constants = measure(arguments.name, scenes, recipe, arguments.seed)
    path = arguments.out or _file_of(arguments.name)
    save_constants(constants, path)
    if arguments.json:
        print(json.dumps({"subject": constants.subject, "file": str(path), "d_max_m": constants.d_max_m}))
    else:
        print(f"{constants.subject}: {_in_words(constants)} from {constants.n_references} answers, in {path}")
    return 0


def _measure_vla(name: str, scenes: tuple[Scene, ...], recipe: str, seed: int) -> SubjectConstants:
    from embodied_iqa.scoring.constants import SubjectConstants  # noqa: PLC0415 - as above
    from embodied_iqa.scoring.decision import position_scale_m  # noqa: PLC0415
    from embodied_iqa.simulation.reference_answers import reference_chunks  # noqa: PLC0415
    from embodied_iqa.subjects.registry import make_vla  # noqa: PLC0415

    vla = make_vla(name)
    chunks = [chunk for scene in _with_bar(scenes, name) for chunk in reference_chunks(vla, scene)]
    d_max_m = position_scale_m(chunks, seed=seed)
    return SubjectConstants(name, vla.info.version, recipe, len(chunks), d_max_m=d_max_m)


def _measure_vlm(name: str, scenes: tuple[Scene, ...], recipe: str, seed: int) -> SubjectConstants:
    del seed
    from embodied_iqa.scoring.constants import SubjectConstants  # noqa: PLC0415 - as above
    from embodied_iqa.scoring.frequencies import document_frequencies  # noqa: PLC0415
    from embodied_iqa.simulation.reference_answers import reference_answers  # noqa: PLC0415
    from embodied_iqa.subjects.registry import make_vlm  # noqa: PLC0415

    vlm = make_vlm(name)
    answers = [answer for scene in _with_bar(scenes, name) for answer in reference_answers(vlm, scene)]
    frequencies = document_frequencies(answers)
    return SubjectConstants(name, vlm.info.version, recipe, len(answers), frequencies=frequencies)


def _file_of(name: str) -> Path:
    """Return the file that ships with the package, for an embedded subject; else the user's own."""
    from embodied_iqa.subjects.catalogue import find_entry  # noqa: PLC0415 - as above
    from embodied_iqa.subjects.constants_files import (  # noqa: PLC0415
        own_constants_file,
        shipped_constants_file,
    )

    entry = find_entry(name)
    return shipped_constants_file(name) if entry is not None and entry.factory else own_constants_file(name)


def _with_bar(scenes: Iterable[Scene], name: str) -> Iterator[Scene]:
    from rich.console import Console  # noqa: PLC0415 - as above
    from rich.progress import track  # noqa: PLC0415

    yield from track(scenes, description=name, console=Console(stderr=True), transient=True)
