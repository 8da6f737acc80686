"""`embodied-iqa cell check`: whether a cell is as its parameter file says; no motion is commanded."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from embodied_iqa.base.errors import InputError, UserError
from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.user_files.json_files import load_json
from embodied_iqa.cli.node_options import overrides_of
from embodied_iqa.cli.output import console, next_command, print_progress, table_of
from embodied_iqa.cli.record import check_cell
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.models.subjects.catalogue import Backend
from embodied_iqa.models.subjects.readiness import check_readiness, declared_views, shown_camera
from embodied_iqa.runs.cell.cell_check import (
    HAND_EYE,
    CellCheck,
    CheckResult,
    arm_checks,
    camera_checks,
    camera_pose,
    hand_eye_check,
    tool_pose,
)
from embodied_iqa.runs.cell.limit_checks import limit_checks
from embodied_iqa.runs.cell.robot_checks import robot_checks
from embodied_iqa.runs.cell.trial_decision import decision_checks
from embodied_iqa.runs.graph.camera_parameters import (
    cameras_of,
    check_policy_cameras,
    check_vlm_camera,
)
from embodied_iqa.runs.graph.namespaces import parse_namespace
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.graph.parameters import GraphParameters
from embodied_iqa.runs.graph.session_plan import DEFAULT_TASK
from embodied_iqa.runs.trial.run_folder import make_run_folder

if TYPE_CHECKING:
    from embodied_iqa.live.cell.seen_cell import SeenCell

_CHECKS: Final = "checks.json"
_NOTES: Final = {
    CheckResult.MISSING: " (a trial runs without; models that measure in images do not)",
    CheckResult.WARNING: " (a trial runs: see the rows)",
    CheckResult.FAILED: "",
}
"""Behind the names of the checks with a result."""
_MARKS = {
    CheckResult.OK: "[green]ok[/]",
    CheckResult.MISSING: "[yellow]missing[/]",
    CheckResult.WARNING: "[yellow]warning[/]",
    CheckResult.FAILED: "[red]failed[/]",
}


def run(arguments: argparse.Namespace) -> int:
    """Check; return 0 if no check fails: what only some models need may be missing."""
    namespace = parse_namespace(arguments.namespace)
    graph = check_cell(
        resolve(tuple(arguments.config), overrides_of(arguments.set), namespace=namespace, only_reads=True)
    )
    views = ", ".join(graph.camera_node.views)
    arm = "the arm and " if graph.arm_node.robot.is_real else ""
    print_progress(f"looking at {arm}the cameras {views}: {arguments.seconds:g} s and more")
    from embodied_iqa.live.ros import environment

    environment.prepare_environment()
    environment.require_ros()
    from embodied_iqa.live.cell.seen_cell import look_at_cell

    with _new_folder(arguments.out) as folder:
        cell = look_at_cell(graph, arguments.seconds, namespace)
        checks = list(checks_of(graph, cell, arguments.task or DEFAULT_TASK))
        if folder is not None:
            _write(folder, graph, cell, checks)
    _print(arguments, checks, graph)
    return int(not _is_ready(checks))


@contextmanager
def _new_folder(path: Path | None) -> Iterator[Path | None]:
    """Make the folder for the results before anything is looked at; one that stays empty is removed again.

    One of an earlier check, which holds nothing else, is taken again.
    """
    if path is None or _is_of_a_check(path):
        yield path
        return
    was_there = path.exists()
    folder = make_run_folder(path)
    try:
        yield folder
    except BaseException:
        if not was_there:
            with suppress(OSError):  # it holds results
                folder.rmdir()
        raise


def _is_of_a_check(path: Path) -> bool:
    """Whether a folder holds the report of a check and the images of its cameras, and nothing else."""
    try:
        rows = load_json(path / _CHECKS, "report of a check")["checks"]
        checked = {str(row["check"]).partition(":")[0] for row in rows}
    except (InputError, LookupError, TypeError):
        return False
    return {file.name for file in path.iterdir()} <= {_CHECKS, *(f"{name}.png" for name in checked)}


def checks_of(graph: GraphParameters, cell: SeenCell, task: str = DEFAULT_TASK) -> Iterator[CellCheck]:
    """Yield every check of a cell that was looked at; the policy decides once about the task."""
    if cell.arm is not None and cell.arm.robot is not None:
        yield from robot_checks(cell.arm.robot, graph.arm_node)
    if cell.arm is not None:
        yield from arm_checks(cell.arm, graph.arm_node)
        yield from limit_checks(graph.arm_node)
    q_rad = cell.arm.q_rad if cell.arm else None
    point_m = None if q_rad is None else tool_pose(q_rad, graph.arm_node)[:3, 3]
    for seen in cell.cameras:
        yield from camera_checks(seen, graph)
        if cell.arm is not None:
            yield hand_eye_check(seen, camera_pose(seen, graph, q_rad), point_m)
    policy = _policy_check(graph)
    yield policy
    if policy.is_ok:
        yield from decision_checks(graph, cell.cameras, q_rad, task, progress=print_progress)
    if not graph.vlm_node.is_none:
        yield _vlm_check(graph)


def _policy_check(graph: GraphParameters) -> CellCheck:
    subject = graph.vla_node.subject
    if subject.simulation_only and graph.arm_node.robot.is_real:
        found = f"{subject.text} is for simulation only"
        return CellCheck("policy", found, "vla_node.subject for this arm, which answers", is_ok=False)
    ready = check_readiness(subject.text, graph.vla_node.options)
    lacks, views = list(ready.lacks), cameras_of(subject)
    try:
        if ready.is_ready:
            views = declared_views(subject, graph.vla_node.options)
        check_policy_cameras(subject, views, graph.camera_node.views)
    except UserError as error:
        lacks.append(str(error))
    unknown = "" if views else "; its cameras are not known until it is asked"
    found = "; ".join(lacks) or f"{subject.text} is ready{unknown}"
    return CellCheck("policy", found, "it is ready, and its cameras are there", not lacks)


def _vlm_check(graph: GraphParameters) -> CellCheck:
    subject, options, views = graph.vlm_node.subject, graph.vlm_node.options, graph.camera_node.views
    ready = check_readiness(subject.text, options)
    lacks = list(ready.lacks)
    try:
        if ready.is_ready:
            check_vlm_camera(subject, shown_camera(subject, options, views), views)
    except UserError as error:
        lacks.append(str(error))
    found = "; ".join(lacks) or f"{subject.text} is ready"
    return CellCheck("VLM", found, "it is ready, and its camera is there", not lacks)


def _write(folder: Path, graph: GraphParameters, cell: SeenCell, checks: list[CellCheck]) -> None:
    from embodied_iqa.runs.cell.tool_overlay import with_tool

    q_rad = cell.arm.q_rad if cell.arm else None
    T_base_tool = None if q_rad is None else tool_pose(q_rad, graph.arm_node)
    for seen in cell.cameras:
        image = with_tool(seen, camera_pose(seen, graph, q_rad), T_base_tool)
        file = folder / f"{seen.view}.png"
        if image is not None:
            write_image(file, image)
        else:
            file.unlink(missing_ok=True)  # of an earlier check
    write_json_whole(folder / _CHECKS, _tree(checks))


def _is_ready(checks: list[CellCheck]) -> bool:
    """Return whether nothing is in the way of a trial."""
    return all(check.result is not CheckResult.FAILED for check in checks)


def _tree(checks: list[CellCheck]) -> dict[str, object]:
    rows = [
        {"check": one.name, "measured": one.measured, "limit": one.limit, "result": str(one.result)}
        for one in checks
    ]
    return {"ok": _is_ready(checks), "checks": rows}


def _print(arguments: argparse.Namespace, checks: list[CellCheck], graph: GraphParameters) -> None:
    if arguments.json:
        print(json.dumps(_tree(checks), indent=2))
        return
    from rich.markup import escape

    table = table_of("check", "measured", "needed", "result")
    for one in checks:
        table.add_row(one.name, escape(one.measured), escape(one.limit), _MARKS[one.result])
    console().print(table)
    if arguments.out is not None:
        seen = any(one.name.endswith(HAND_EYE) and one.result is CheckResult.OK for one in checks)
        what = "the ring has to be on the tool" if seen else "without the tool, whose place no camera knows"
        print(f"look at the images in {arguments.out}: {what}")
    for result, note in _NOTES.items():
        if names := [one.name for one in checks if one.result is result]:
            print(f"{result}: {', '.join(names)}{note}")
    if _is_ready(checks):
        words = [word for file in arguments.config for word in ("--config", file)]
        words += [word for value in arguments.set for word in ("--set", value)]
        vlm = graph.vlm_node.subject
        knows_few_words = vlm.backend in {Backend.EMBEDDED, Backend.PANEL} and not graph.vlm_node.is_none
        words += ["--vlm", "none"] * knows_few_words
        next_command("trial", *words, "--task", arguments.task or "TEXT", "--no-distortion")
