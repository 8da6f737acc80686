"""`embodied-iqa build`: an annotated database, from references to scores, resumable."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from embodied_iqa.cli.node_options import add_node_options, overrides_of
from embodied_iqa.database.building.options import (
    BuildOptions,
    BuildPlan,
    EngineKind,
    EngineOptions,
    PictureStorage,
    Step,
)
from embodied_iqa.errors import UsageError
from embodied_iqa.images.frame import View, parse_view
from embodied_iqa.progress import ProgressBars
from embodied_iqa.subjects.registry import VLAS, VLMS, check_subject, role_of

if TYPE_CHECKING:
    from embodied_iqa.database.sources.candidate import ReferenceSource

__all__ = ["configure", "panel_of", "run"]

_EMBEDDED = "embedded"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="DB", help="new folder, or one to go on with")
    add("--references", type=int, metavar="N", help="how many; may grow later (default 12, or all)")
    add("--panel", default=_EMBEDDED, metavar="NAMES", help=f"subjects by commas, or {_EMBEDDED} (default)")
    add("--seed", type=int, default=0, metavar="S", help="of scenes, levels and distortions (default 0)")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--from-folder", type=Path, metavar="DIR", help="photographs; needs --tasks")
    source.add_argument(
        "--from-bag", type=Path, metavar="FILE", help="recording: of a trial, or any with --tasks"
    )
    add("--tasks", type=Path, metavar="FILE", help="tasks of photographs or frames, as in docs/tasks.md")
    add("--views", default="", metavar="VIEWS", help="cameras of the references (default wrist,top,side)")
    add("--size", default="480x360", metavar="WxH", help="of simulated pictures (default 480x360)")
    add("--levels", choices=["one", "all"], default="one", help="one at random a type (default), or all five")
    add(
        "--store",
        choices=[str(item) for item in PictureStorage],
        default="pictures",
        help="what is kept of distortions",
    )
    add("--steps", default=",".join(Step), metavar="STEPS", help="some of %(default)s")
    add("--workers", type=int, default=1, metavar="N", help="blocks at once (default 1)")
    add("--engine", choices=[str(item) for item in EngineKind], default="processes", help="who does the work")
    add("--ray-address", default="", metavar="ADDRESS", help="of a cluster; else one starts here")
    add("--retry", action="store_true", help="ask again where a subject failed")
    add("--json", action="store_true", help="print the summary as JSON")
    add_node_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Build what is missing; return the exit code."""
    plan = _plan(arguments)
    options = _options(arguments)
    from embodied_iqa.cli.build_output import BuildProgress, print_summary, summary_tree  # noqa: PLC0415
    from embodied_iqa.database.building.builder import build  # noqa: PLC0415 - start-up stays short

    with ProgressBars(transient=False) as bars:
        summary = build(arguments.out, plan, options, BuildProgress(bars))
    if arguments.json:
        print(json.dumps(summary_tree(arguments.out, summary), indent=2))
    else:
        print_summary(arguments.out, summary)
    return 0


def panel_of(text: str) -> tuple[str, ...]:
    """Return the subjects that a panel names, each once.

    Raises:
        UsageError: One of them cannot be resolved, or there is none.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    found: dict[str, None] = {}
    for name in names:
        for subject in (*VLMS, *VLAS) if name == _EMBEDDED else (name,):
            found[check_subject(subject, role_of(subject))] = None
    if not found:
        raise UsageError("an empty panel", expected=f"subjects by commas, or {_EMBEDDED}", got=text)
    return tuple(found)


def _plan(arguments: argparse.Namespace) -> BuildPlan:
    source = _source(arguments)
    wanted = arguments.references
    if wanted is None:
        wanted = 12 if source.count is None else source.count
    return BuildPlan(
        wanted, source, arguments.seed, arguments.levels == "all", PictureStorage(arguments.store)
    )


def _source(arguments: argparse.Namespace) -> ReferenceSource:
    from embodied_iqa.database.sources.photographs import FolderSource  # noqa: PLC0415
    from embodied_iqa.database.sources.recorded import RecordingSource  # noqa: PLC0415 - start-up stays short
    from embodied_iqa.database.sources.simulated import SimulationSource  # noqa: PLC0415

    views = tuple(parse_view(word) for word in arguments.views.split(",") if word)
    if arguments.from_bag is not None:
        return RecordingSource(arguments.from_bag, arguments.tasks)
    if arguments.from_folder is not None:
        if arguments.tasks is None or len(views) > 1:
            raise UsageError("photographs need their tasks", expected="--tasks FILE, at most one view")
        return FolderSource(arguments.from_folder, arguments.tasks, views[0] if views else View.TOP)
    if arguments.tasks is not None:
        raise UsageError("--tasks goes with --from-folder or --from-bag")
    width, times, height = arguments.size.partition("x")
    if not (times and width.isdecimal() and height.isdecimal()):
        raise UsageError("wrong --size", expected="such as 480x360", got=arguments.size)
    return SimulationSource(arguments.seed, int(width), int(height), views or tuple(View))


def _options(arguments: argparse.Namespace) -> BuildOptions:
    from embodied_iqa.graph.node_table import resolve  # noqa: PLC0415 - start-up stays short

    words = [word.strip() for word in arguments.steps.split(",")]
    wrong = [word for word in words if word not in set(Step)]
    if wrong:
        raise UsageError("unknown step", got=wrong[0], available=list(Step))
    graph = resolve(tuple(arguments.config), overrides_of(arguments.set))
    vlm, vla = graph.vlm_node, graph.vla_node
    return BuildOptions(
        subjects=panel_of(arguments.panel),
        steps=tuple(Step(word) for word in words),
        engine=EngineOptions(EngineKind(arguments.engine), arguments.workers, arguments.ray_address),
        vlm=vlm.options,
        vla=vla.options,
        retry=arguments.retry,
    )
