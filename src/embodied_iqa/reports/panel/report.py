"""The panel's evaluation as a page: Markdown tables and pictures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from embodied_iqa.distortions.catalogue import entry
from embodied_iqa.files import write_text_whole
from embodied_iqa.panel.evaluation.clean_scenes import ActedTask
from embodied_iqa.panel.evaluation.evaluate import PanelEvaluation
from embodied_iqa.reports.kit.heat_map import heat_map
from embodied_iqa.reports.kit.markdown import markdown_table
from embodied_iqa.reports.panel.tables import (
    agreement,
    criterion_check,
    graded_responses,
    rank_rows,
    share_by,
    vla_rows,
    vlm_rows,
)
from embodied_iqa.subjects.backends.panel.members import card_of
from embodied_iqa.subjects.model_card import ModelCard

__all__ = ["write_report"]

_NOT_GOOD: Final = 0.75


def write_report(evaluation: PanelEvaluation, page: Path, pictures: Path) -> None:
    """Write the page and its pictures; each file whole or not at all."""
    parts = [_head(evaluation), _members(evaluation)]
    if evaluation.acted:
        parts.append(_clean_actions(evaluation))
    if evaluation.answered:
        parts.append(_clean_answers(evaluation))
    if evaluation.ranked:
        parts.append(_ranks(evaluation))
    if evaluation.distorted:
        parts.append(_distorted(evaluation, page, pictures))
        parts.append(_agreement(evaluation, page, pictures))
    parts.append(_AGAIN)
    write_text_whole(page, "\n\n".join(parts) + "\n")


_HEAD: Final = """\
# The embedded panel

Small learned subjects that ship with the package: VLAs that turn pictures and a task into waypoints, and VLMs
that answer a task in about ten words. Trained from nothing on scenes that the simulator draws
(`embodied-iqa train panel`); they run in ONNX Runtime on one core. A VLA looks once, acts once and then says
DONE: it does not judge its own work.

Measured by `embodied-iqa evaluate panel --scenes {scenes} --grid-scenes {grid} --seed {seed}` on
scenes that were not trained on; every number as found. Intervals are Wilson's at 95 %."""


_AGAIN: Final = """\
## Making it again

```
embodied-iqa train panel --out DIR      # all members, resumable; --quick for a small one with worse scores
embodied-iqa evaluate panel --models DIR/models --scenes 100
embodied-iqa subjects calibrate panel-vla-query --scenes 80
```

`docs/train-panel.md` explains these commands. The shipped networks are in
`src/embodied_iqa/subjects/backends/panel/models/`; a card belongs to its network by hash, constants
belong to a version."""


def _head(evaluation: PanelEvaluation) -> str:
    plan = evaluation.plan
    return _HEAD.format(scenes=plan.scenes, grid=plan.grid_scenes, seed=plan.seed)


def _members(evaluation: PanelEvaluation) -> str:
    names = (*evaluation.plan.vlas, *evaluation.plan.vlms)
    cards = [card_of(name, evaluation.plan.models) for name in names]
    headings = ("member", "views", "network", "parameters", "trained on", "what it is")
    table = markdown_table(headings, [_member_row(card) for card in cards])
    minutes = sum(float(card.training["minutes"]) for card in cards)
    commands = ", ".join(
        f"`{command}`" for command in sorted({str(card.training["command"]) for card in cards})
    )
    made = f"Made by {commands}; their epochs took {minutes:.0f} minutes in all, of one process each."
    return f"## Members\n\n{table}\n\n{made}"


def _member_row(card: ModelCard) -> tuple[str, ...]:
    training, network = card.training, card.network
    recipe = (
        f"{int(training['scenes']):,} scenes x {training['epochs']} epochs "
        f"({training['of_these_with_plain_tasks']} of them plain tasks), "
        f"augmentation {training['augmentation']}, seed {training['seed']}"
    )
    parts = f"{network['encoder']}, {network['reader']}"
    size = f"{int(network['parameters']) / 1e6:.2f} M"
    return f"`{card.name}`", ", ".join(card.views), parts, size, recipe, card.summary


def _clean_actions(evaluation: PanelEvaluation) -> str:
    rows = [
        (
            f"`{row.member}`",
            str(row.success),
            f"{100 * row.verb_mean:.0f} %",
            str(row.geometric),
            f"{row.median_mm:.1f} / {row.p90_mm:.1f}",
            f"{row.median_turn_deg:.1f}",
            str(row.acted),
        )
        for row in vla_rows(evaluation.acted)
    ]
    headings = (
        "member",
        "success (physics)",
        "mean over verbs",
        "geometric criterion",
        "position median / p90 [mm]",
        "turn median [deg]",
        "acted",
    )
    check, n_pairs = criterion_check(evaluation)
    agreed = (
        "The geometric criterion (for the distorted grid, where physics is too slow) agrees with physics on\n"
        f"{check} of {n_pairs} plans."
    )
    return "\n\n".join(
        (
            "## Acting on clean pictures",
            "Physics decides: the plan is carried out in the simulated cell.",
            markdown_table(headings, rows),
            agreed,
            f"### By verb\n\n{_by(evaluation, 'verb')}",
            _weak(evaluation.acted),
            f"### By view\n\n{_by_view(evaluation)}",
            f"### By number of objects on the table\n\n{_by(evaluation, 'crowd')}",
            f"### By background\n\n{_by(evaluation, 'background')}",
        )
    )


def _by(evaluation: PanelEvaluation, field: str) -> str:
    names = evaluation.plan.vlas
    shares = {
        name: share_by(
            (task for task in evaluation.acted if task.member == name), lambda task: str(getattr(task, field))
        )
        for name in names
    }
    keys = sorted({key for share in shares.values() for key in share})
    rows = [(key, *(str(shares[name].get(key, "-")) for name in names)) for key in keys]
    return markdown_table((field, *(f"`{name}`" for name in names)), rows)


def _by_view(evaluation: PanelEvaluation) -> str:
    """Pool the members that look through the same cameras."""
    views = {name: ", ".join(card_of(name, evaluation.plan.models).views) for name in evaluation.plan.vlas}
    shares = share_by(evaluation.acted, lambda task: views[task.member])
    rows = [(view, str(list(views.values()).count(view)), str(share)) for view, share in shares.items()]
    return markdown_table(("cameras", "members", "success"), rows)


def _weak(acted: Sequence[ActedTask]) -> str:
    """Name every verb on which a member succeeds in less than three quarters of the tasks."""
    found = []
    for name in dict.fromkeys(task.member for task in acted):
        shares = share_by((task for task in acted if task.member == name), lambda task: str(task.verb))
        found += [
            f"`{name}` {verb} ({share.value:.0%})"
            for verb, share in shares.items()
            if share.value < _NOT_GOOD
        ]
    return f"Below 75 %: {', '.join(found)}." if found else "No member is below 75 % on any verb."


def _clean_answers(evaluation: PanelEvaluation) -> str:
    rows = [
        (
            f"`{row.member}`",
            f"{row.bleu:.3f}",
            str(row.exact),
            f"{row.swapped_right:.3f}",
            f"{row.swapped_bleu:.3f}",
            str(row.changed),
        )
        for row in vlm_rows(evaluation.answered)
    ]
    headings = (
        "member",
        "BLEU",
        "right to the word",
        "BLEU on another scene's picture",
        "the same against the first scene's truth",
        "answer changes with the picture",
    )
    examples = [
        (f"`{row.member}`", row.answer, row.truth)
        for row in evaluation.answered[: 2 * len(evaluation.plan.vlms)]
    ]
    return "\n\n".join(
        (
            "## Answering on clean pictures",
            "The truth is composed from the scene.",
            markdown_table(headings, rows),
            f"### Examples\n\n{markdown_table(('member', 'answer', 'truth'), examples)}",
        )
    )


def _ranks(evaluation: PanelEvaluation) -> str:
    rows = [
        (
            f"`{row.member}`",
            "BLEU" if row.bleu else "success",
            str(row.scenes),
            *(f"{value:.2f}" for value in row.bleu),
            *(f"{100 * share.value:.0f} %" for share in row.shares),
        )
        for row in rank_rows(evaluation.ranked)
    ]
    headings = (
        "member",
        "of",
        "scenes",
        "1 plain",
        "2 attribute",
        "3 relation",
        "4 exclusion",
        "5 two steps",
    )
    return "\n\n".join(("## Tasks of rising difficulty", _RANKS, markdown_table(headings, rows)))


_RANKS: Final = """\
The five tasks of a scene (`docs/tasks.md`), worded for the member's picture; plans by the geometric
criterion, of two steps the first. The scenes are fuller than those above: every task has look-alikes on the
table. A member does the first step of two and does not go on to the second."""


def _distorted(evaluation: PanelEvaluation, page: Path, pictures: Path) -> str:
    scenes, plan = evaluation.distorted, evaluation.plan
    names = [f"{number} {entry(number).name}" for number in plan.distortions]
    levels = [str(level) for level in range(1, 6)]
    parts = [
        f"## Under distortion\n\n{len(scenes)} scenes; success by the geometric criterion, all VLAs together."
    ]
    if plan.vlas:
        parts.append(_success(evaluation, names, pictures / "panel-success.svg", _link(page, pictures)))
    if plan.vlms:
        cognition = np.stack([scene.cognition for scene in scenes]).mean(axis=(0, 1))
        title = "Cognition score of the VLMs by level"
        write_text_whole(pictures / "panel-cognition.svg", heat_map(title, names, levels, cognition))
        parts.append(f"![Cognition of the VLMs]({_link(page, pictures)}/panel-cognition.svg)")
    parts.append(_member_levels(evaluation, levels))
    return "\n\n".join(parts)


def _success(evaluation: PanelEvaluation, names: Sequence[str], picture: Path, folder: str) -> str:
    """Draw success by distortion and level, and say for how many it falls."""
    responses = graded_responses(evaluation)
    values = np.array([[share.value for share in response.shares] for response in responses])
    levels = [str(level) for level in range(1, values.shape[1] + 1)]
    write_text_whole(picture, heat_map("Success of the VLAs by level", names, levels, values))
    graded = sum(response.graded for response in responses)
    others = [name for name, response in zip(names, responses, strict=True) if not response.graded]
    return (
        f"![Success of the VLAs]({folder}/{picture.name})\n\nClean: {responses[0].clean}. Success falls over "
        f"the levels, within the intervals, and ends below clean for {graded} of {len(responses)} types"
        + (f"; not for {', '.join(others)}." if others else ".")
    )


def _member_levels(evaluation: PanelEvaluation, levels: Sequence[str]) -> str:
    scenes, plan = evaluation.distorted, evaluation.plan
    success = np.stack([scene.success for scene in scenes]).mean(axis=(0, 2))
    cognition = np.stack([scene.cognition for scene in scenes]).mean(axis=(0, 2))
    rows = [
        (f"`{name}` {what}", *(f"{value:.2f}" for value in line))
        for what, members, lines in (
            ("success", plan.vlas, success),
            ("cognition", plan.vlms, cognition),
        )
        for name, line in zip(members, lines, strict=True)
    ]
    return "Mean over all types:\n\n" + markdown_table(
        ("member", *(f"level {level}" for level in levels)), rows
    )


def _agreement(evaluation: PanelEvaluation, page: Path, pictures: Path) -> str:
    found = agreement(evaluation)
    short = [name.removeprefix("panel-") for name in found.members]
    titles = {"all": "SRCC over all scenes and conditions", "within": "Mean SRCC within one condition"}
    for kind, values in (("all", found.over_all), ("within", found.within)):
        svg = heat_map(titles[kind], short, short, values, low=-1.0, high=1.0, slanted=True)
        write_text_whole(pictures / f"panel-agreement-{kind}.svg", svg)
    folder, upper = _link(page, pictures), np.triu_indices(len(short), 1)
    return (
        "## Agreement of the members\n\nDo the same pictures hurt them? Harm is the shift of a VLA's plan, "
        "or one minus a VLM's cognition score.\nMean SRCC of pairs: "
        f"{np.nanmean(found.over_all[upper]):.2f} over all scenes and conditions, "
        f"{np.nanmean(found.within[upper]):.2f} within one distortion at one level.\n\n"
        f"![SRCC over all]({folder}/panel-agreement-all.svg) "
        f"![SRCC within]({folder}/panel-agreement-within.svg)"
    )


def _link(page: Path, pictures: Path) -> str:
    return Path(os.path.relpath(pictures, page.parent)).as_posix()
