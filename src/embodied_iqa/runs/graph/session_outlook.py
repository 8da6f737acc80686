"""What a session is going to do and how long that takes, in words for its user before it starts."""

from __future__ import annotations

from typing import Final

from embodied_iqa.imaging.distortions import DistortionSpec, entry
from embodied_iqa.models.subjects.catalogue import Backend
from embodied_iqa.runs.graph.camera_sources import CameraKind
from embodied_iqa.runs.graph.session_plan import SessionPlan

_GRAPH_S: Final = 11.0
_RUN_S: Final = 7.0
_REPORT_S: Final = 3.0
"""Start and end of a graph; a run with two cameras of 640x480; scores and report. Their sum for the default
trial, 74 s, lies amid the 68 to 81 s that it took on two idle cores."""
_PIXELS: Final = 2 * 640 * 480
_ROUND_S: Final = 5
_EMBEDDED: Final = {Backend.EMBEDDED, Backend.PANEL}


def outlook(plan: SessionPlan) -> tuple[str, str]:
    """Return two lines: what the session does, and how long that takes."""
    runs = runs_of(plan)
    return _what(plan), f"{runs} run{'' if runs == 1 else 's'}, {_how_long(plan)}"


def runs_of(plan: SessionPlan) -> int:
    """Return the number of runs of all parts of a session, reference runs included."""
    return sum(
        len(part.tasks) * (1 + len(part.distortions)) + (part.burst is not None) for part in plan.parts
    )


def estimate_s(plan: SessionPlan) -> float | None:
    """Return the time of a session on two cores [s, real time].

    It is known for the simulated cell with embedded subjects. None where a model, the user's code, another
    camera or a person takes part, or where the graph is not started by this session.
    """
    graph, camera = plan.graph, plan.graph.camera_node
    is_embedded = {subject.backend for subject in graph.subjects} <= _EMBEDDED
    is_simulated = graph.arm_node.robot.is_simulated and camera.source.kind is CameraKind.WORLD
    if plan.attach or not is_embedded or not is_simulated:
        return None
    size = len(camera.views) * camera.width_px * camera.height_px / _PIXELS
    return len(plan.parts) * _GRAPH_S + runs_of(plan) * _RUN_S * size + _REPORT_S


def _what(plan: SessionPlan) -> str:
    several = len(plan.tasks) > 1
    tasks = ", ".join(f"'{task}'" for task in plan.tasks)
    courses = ", ".join(["undistorted", *map(_name, plan.distortions)])
    scene = f" (scene {plan.scene_seed})" if plan.graph.arm_node.robot.is_simulated else ""
    words = f"{tasks}{scene}, {'each ' if several else ''}{courses}"
    if plan.burst is None:
        return words
    return f"{words}; {'the last ' if several else ''}under {_name(plan.burst)}, without a gate and with one"


def _name(spec: DistortionSpec) -> str:
    schedule = spec.schedule.partition(":")[0]
    return f"{schedule} {spec.id}:{spec.level} {entry(spec.id).name}".lstrip()


def _how_long(plan: SessionPlan) -> str:
    seconds = estimate_s(plan)
    if seconds is None:
        trial = plan.graph.trial_node
        person = " and the person" if trial.attended else ""
        # simulated time may pass slowly
        longest_s = plan.longest_run_s if trial.simulated else trial.run_limit_s
        return f"each of at most {longest_s:.0f} s beside the start of the models{person}"
    minutes, rest = divmod(_ROUND_S * round(seconds / _ROUND_S), 60)
    return f"about {minutes}:{rest:02d} min on two cores"
