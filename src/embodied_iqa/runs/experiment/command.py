"""The command that an experiment was made with, from its record."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, Final

from embodied_iqa.runs.experiment.experiment_plan import TASKS, ExperimentPlan
from embodied_iqa.runs.graph.node_table import resolve

_NOT_SET: Final = {"vla_node.subject"}
"""Recorded parameters of nodes that other options set."""


def command_of(plan: ExperimentPlan, parameters: Mapping[str, Any]) -> str:
    """Return the command of an experiment: its plan, and every parameter that is not the default.

    Args:
        plan: The runs.
        parameters: Of all runs, as the record has them.
    """
    tasks = list(dict.fromkeys(task.task for task in plan.tasks))
    world, other, _ = str(parameters.get("world", "")).partition(":")
    usual = tuple(tasks) == TASKS[: len(tasks)]
    which = ["--first-tasks", str(len(tasks))] if usual else [w for task in tasks for w in ("--task", task)]
    words = ["embodied-iqa", "experiment", "--vla", ",".join(map(str, plan.subjects)), *which]
    words += ["--scenes", str(len(plan.tasks) // len(tasks)), "--scene-seed", str(plan.tasks[0].scene_seed)]
    ids, levels, schedules = (
        list(dict.fromkeys(getattr(spec, name) for spec in plan.distortions))
        for name in ("id", "level", "schedule")
    )
    words += ["--distortions", ",".join(ids), "--levels", ",".join(map(str, levels))]
    words += [word for schedule in schedules if schedule for word in ("--schedule", schedule)]
    words += ["--gate", ",".join(arm.name for arm in plan.arms)]
    words += ["--world", world] if other else []
    words += ["--ros"] if parameters.get("engine") == "ros" else []
    words += ["--vlm", str(vlm)] if (vlm := parameters.get("vlm")) else []
    words += [word for setting in _settings(parameters) for word in ("--set", setting)]
    if parameters.get("arm_node.robot") == "ur5":
        words += ["--robot-ip", "ADDRESS"]  # it is not recorded, as it changes no result
    return shlex.join([*words, "--out", "results/gates"])


def _settings(parameters: Mapping[str, Any]) -> list[str]:
    """Return what `--set` sets; names that no parameter has, such as former ones, would be refused."""
    values = resolve((), {"gate_node.judge.mode": "off"}).values()
    usual = {f"{node}.{name}": value for node, own in values.items() for name, value in own.items()}
    return [
        f"{name}={_word(value)}"
        for name, value in parameters.items()
        if name in usual and name not in _NOT_SET and value != usual[name]
    ]


def _word(value: Any) -> str:
    return f"[{','.join(map(str, value))}]" if isinstance(value, list) else str(value)
