"""The header of a trial's report: the result in one sentence, what was run, the main numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from embodied_iqa.data.recording.trial_record import RunRecord
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.pages.reports.kit.formatting import ABSENT, number, plural, share
from embodied_iqa.pages.reports.kit.page import Tile
from embodied_iqa.pages.reports.trial.gate_pairs import guarded_tasks
from embodied_iqa.runs.graph.arm_parameters import RobotKind
from embodied_iqa.runs.offline.stored_run import ReportedTask
from embodied_iqa.runs.trial.outcome import silent_camera
from embodied_iqa.runs.trial.scores import RunScores


def headline(tasks: Sequence[ReportedTask]) -> str:
    """Say how many runs succeeded on undistorted and on distorted images.

    Such as "On undistorted images 3 of 3 tasks succeeded; under 9 distortions 4 of 9 runs succeeded, and
    1 ended in an emergency stop."
    """
    if nothing_executed(tasks):
        return _rescored(tasks)
    runs = [run for task in tasks for run in task.record.runs]
    clean = [run for run in runs if run.distortion is None]
    distorted = [run for run in runs if run.distortion is not None]
    parts = []
    if clean:
        parts.append(f"on undistorted images {_tally(clean, 'task')}")
    if distorted:
        parts.append(f"under {_distortions(distorted)} {_tally(distorted, 'run')}")
    sentence = "; ".join(parts) or "no run was recorded"
    return sentence[0].upper() + sentence[1:] + "."


def nothing_executed(tasks: Sequence[ReportedTask]) -> bool:
    """Return whether recorded images were only rescored."""
    return bool(tasks) and not any(task.record.was_executed for task in tasks)


def _rescored(tasks: Sequence[ReportedTask]) -> str:
    """Say how many images were rescored, and the mean scores, which are those of the first one of each run.

    Such as "5 images, 1 distortion, nothing executed; on the first scored image of each run: decision 1.00."
    """
    pairs = [pair for task in tasks for pair in task.scored_runs]
    images = sum(run.frames_published for run, _ in pairs if run.distortion is None)
    scores = {
        "cognition": [own.cognition.score for _, own in pairs if own.cognition],
        "decision": [own.decision.score for _, own in pairs if own.decision],
    }
    means = {
        name: fmean(finite)
        for name, values in scores.items()
        if (finite := [value for value in values if value is not None])
    }
    found = ", ".join(f"{name} {number(mean, 2)}" for name, mean in means.items())
    distortions = _distortions([run for run, _ in pairs])
    scored = f"; on the first scored image of each run: {found}." if found else "."
    return f"{plural(images, 'image')}, {distortions}, nothing executed{scored}"


def _distortions(runs: Sequence[RunRecord]) -> str:
    kinds = {replace(run.distortion, seed=0) for run in runs if run.distortion is not None}
    return plural(len(kinds), "distortion")


def _tally(runs: Sequence[RunRecord], noun: str) -> str:
    count = Counter(run.outcome for run in runs)
    if count[None] == len(runs):
        return f"{plural(len(runs), noun)} {'has' if len(runs) == 1 else 'have'} no recorded end"
    text = f"{count[Outcome.SUCCESS]} of {plural(len(runs) - count[None], noun)} succeeded"
    remarks = []
    if stops := count[Outcome.EMERGENCY_STOP]:
        remarks.append(f"{stops} ended in an emergency stop")
    if held := count[Outcome.HELD_BY_GATE]:
        remarks.append(f"{held} {'was' if held == 1 else 'were'} held by the gate")
    silent = dict.fromkeys(filter(None, (silent_camera(run.reason) for run in runs)))
    remarks += [f"a camera was silent ({words})" for words in silent]
    if refused := count[Outcome.NO_TARGET]:
        remarks.append(f"in {refused} the policy saw no target")
    if failed := sum(bool(run.failure) for run in runs):
        remarks.append(f"in {failed} the policy failed at every decision")
    if unknown := count[None]:
        remarks.append(f"{unknown} more {'has' if unknown == 1 else 'have'} no recorded end")
    return f"{text}, and {', '.join(remarks)}" if remarks else text


def subtitle(tasks: Sequence[ReportedTask]) -> str:
    """Return the number of tasks, with and without the gate counted once, that of runs, where, and who.

    Such as "1 task, 3 runs in the simulated cell with classical-vlm and classical-vla".
    """
    runs = [run for task in tasks for run in task.record.runs]
    names = (
        *(answer.subject for run in runs for answer in run.answers),
        *(chunk.subject for run in runs for chunk in run.chunks),
    )
    subjects = dict.fromkeys(filter(None, names))
    named = f" with {' and '.join(subjects)}" if subjects else ""
    return f"{_task_count(tasks)}, {plural(len(runs), 'run')}{_where(tasks)}{named}"


def _where(tasks: Sequence[ReportedTask]) -> str:
    """Say what was run: the simulated cell, or a real arm by its model; empty where it is not recorded."""
    places = dict.fromkeys(_place(task.record.metadata) for task in tasks if task.record.was_executed)
    words = " and ".join(filter(None, places))
    return f" {words}" if words else ""


def _place(metadata: Mapping[str, str]) -> str:
    robot, model = metadata.get("arm_node.robot", RobotKind.NONE), metadata.get("arm_node.model", "")
    if robot == RobotKind.SIM:
        return "in the simulated cell"
    return f"on a real {model}" if model and robot != RobotKind.NONE else ""


def _task_count(tasks: Sequence[ReportedTask]) -> str:
    every, twice = {_key(task) for task in tasks}, {_key(task) for task in guarded_tasks(tasks)}
    if every and every == twice:
        return f"{plural(len(every), 'task')} without and with the gate"
    also = f", {len(twice)} of them also with the gate" if twice else ""
    return plural(len(every), "task") + also


def task_titles(tasks: Sequence[ReportedTask]) -> tuple[str, ...]:
    """Return what each recording is, such as "Task 1 of 2" or, if it is there twice, "..., with the gate"."""
    numbers = {key: number for number, key in enumerate(dict.fromkeys(map(_key, tasks)), start=1)}
    guarded = guarded_tasks(tasks)
    twice = {_key(task) for task in guarded}
    titles = []
    for task in tasks:
        title = f"Task {numbers[_key(task)]} of {len(numbers)}"
        gate = "with" if task in guarded else "without"
        titles.append(f"{title}, {gate} the gate" if _key(task) in twice else title)
    return tuple(titles)


def _key(task: ReportedTask) -> tuple[str, int]:
    return task.record.task, task.record.scene_seed


def tiles(tasks: Sequence[ReportedTask]) -> tuple[Tile, ...]:
    """Return the means over the distorted runs, and the share of frames that passed the gate.

    Where nothing was executed, there is neither execution nor success.
    """
    pairs = [pair for task in tasks for pair in task.scored_runs if pair[0].distortion is not None]
    scores = [own for _, own in pairs]
    subjects = (
        _mean("Cognition", [own.cognition.score if own.cognition else None for own in scores], 1, 2),
        _mean("Decision", [own.decision.score if own.decision else None for own in scores], 1, 2),
    )
    if nothing_executed(tasks):
        return (*subjects, _gate(scores))
    execution = _mean("Execution", [own.execution.score for own in scores], 100, 0)
    return (*subjects, execution, _gate(scores), _success([run for run, _ in pairs]))


def _mean(title: str, values: Sequence[float | None], whole: int, digits: int) -> Tile:
    finite = [percent for value in values if (percent := share(value, whole)) is not None]
    mean = sum(finite) / len(finite) if finite else None
    known = sum(value is not None for value in values)
    text = ABSENT if mean is None else number(mean * whole / 100, digits)
    return Tile(title, text, f"of {whole}, mean of {plural(known, 'distorted run')}", mean)


def _gate(scores: Sequence[RunScores]) -> Tile:
    passed = sum(own.gate.passed or 0 for own in scores)
    total = passed + sum((own.gate.hold or 0) + (own.gate.reject or 0) for own in scores)
    if total == 0:
        return Tile("Gate", ABSENT, "no distorted frame was judged", None)
    part = 100 * passed / total
    return Tile("Gate", number(part, 0, "%"), f"passed, of {plural(total, 'distorted frame')}", part)


def _success(runs: Sequence[RunRecord]) -> Tile:
    ended = [run.outcome for run in runs if run.outcome is not None]
    if not ended:
        return Tile(
            "Success", ABSENT, "no distorted run has a recorded end" if runs else "no distorted run", None
        )
    done = ended.count(Outcome.SUCCESS)
    return Tile("Success", f"{done}", f"of {plural(len(ended), 'distorted run')}", 100 * done / len(ended))
