"""The report of the embedded panel: a Markdown page with tables and pictures (templates/panel.md.j2)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from embodied_iqa.distortions.catalogue import entry
from embodied_iqa.files import write_text_whole
from embodied_iqa.panel.evaluation.clean_scenes import ActedTask
from embodied_iqa.panel.evaluation.evaluate import PanelEvaluation
from embodied_iqa.reports.kit.heat_map import heat_map
from embodied_iqa.reports.kit.render import render
from embodied_iqa.reports.kit.table import Column, Row, Table
from embodied_iqa.reports.panel.summary import (
    GradedResponse,
    agreement,
    criterion_check,
    graded_responses,
    rank_rows,
    success_by,
    vla_rows,
    vlm_rows,
    weak_verbs,
)
from embodied_iqa.scoring.proportions import Share
from embodied_iqa.subjects.backends.panel.members import card_of
from embodied_iqa.subjects.model_card import ModelCard

__all__ = ["write_report"]


@dataclass(frozen=True, slots=True)
class _Actions:
    """The chapter on clean pictures for VLAs."""

    members: Table
    agreed: Share
    compared: int
    by_verb: Table
    weak: str
    by_view: Table
    by_crowd: Table
    by_background: Table


@dataclass(frozen=True, slots=True)
class _Answers:
    """The chapter on clean pictures for VLMs."""

    members: Table
    examples: Table


@dataclass(frozen=True, slots=True)
class _Distorted:
    """The chapters on distorted pictures."""

    scenes: int
    responses: Sequence[GradedResponse]
    graded: int
    not_graded: tuple[str, ...]
    levels: Table
    mean_over_all: str
    mean_within: str


def write_report(evaluation: PanelEvaluation, page: Path, pictures: Path) -> None:
    """Write the page and its pictures; each file whole or not at all."""
    plan = evaluation.plan
    cards = [card_of(name, plan.models) for name in (*plan.vlas, *plan.vlms)]
    text = render(
        "panel.md.j2",
        plan=plan,
        link=Path(os.path.relpath(pictures, page.parent)).as_posix(),
        members=_members(cards),
        commands=", ".join(
            f"`{command}`" for command in sorted({str(card.training["command"]) for card in cards})
        ),
        minutes=f"{sum(float(card.training['minutes']) for card in cards):.0f}",
        acted=_actions(evaluation) if evaluation.acted else None,
        answered=_answers(evaluation) if evaluation.answered else None,
        ranked=_ranks(evaluation) if evaluation.ranked else None,
        distorted=_distorted(evaluation) if evaluation.distorted else None,
    )
    if evaluation.distorted:
        _draw(evaluation, pictures)
    write_text_whole(page, text + "\n")


def _table(titles: Sequence[str], rows: Sequence[Row]) -> Table:
    """Return a table of a page without CSV files."""
    return Table("", "", [Column(title) for title in titles], rows)


def _members(cards: Sequence[ModelCard]) -> Table:
    rows: list[Row] = []
    for card in cards:
        training, network = card.training, card.network
        recipe = (
            f"{int(training['scenes']):,} scenes x {training['epochs']} epochs "
            f"({training['of_these_with_plain_tasks']} of them plain tasks), "
            f"augmentation {training['augmentation']}, seed {training['seed']}"
        )
        parts = f"{network['encoder']}, {network['reader']}"
        size = f"{int(network['parameters']) / 1e6:.2f} M"
        rows.append((f"`{card.name}`", ", ".join(card.views), parts, size, recipe, card.summary))
    return _table(("member", "views", "network", "parameters", "trained on", "what it is"), rows)


def _actions(evaluation: PanelEvaluation) -> _Actions:
    rows: list[Row] = [
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
    titles = (
        "member",
        "success (physics)",
        "mean over verbs",
        "geometric criterion",
        "position median / p90 [mm]",
        "turn median [deg]",
        "acted",
    )
    agreed, compared = criterion_check(evaluation)
    weak = [
        f"`{name}` {verb} ({share.value:.0%})"
        for name in dict.fromkeys(task.member for task in evaluation.acted)
        for verb, share in weak_verbs(evaluation.acted, name).items()
    ]
    return _Actions(
        members=_table(titles, rows),
        agreed=agreed,
        compared=compared,
        by_verb=_by(evaluation, "verb", lambda task: str(task.verb)),
        weak=f"Below 75 %: {', '.join(weak)}." if weak else "No member is below 75 % on any verb.",
        by_view=_by_view(evaluation),
        by_crowd=_by(evaluation, "crowd", lambda task: str(task.crowd)),
        by_background=_by(evaluation, "background", lambda task: task.background),
    )


def _by(evaluation: PanelEvaluation, title: str, key: Callable[[ActedTask], str]) -> Table:
    names = evaluation.plan.vlas
    shares = [success_by(evaluation.acted, key, member=name) for name in names]
    values = sorted({value for share in shares for value in share})
    rows: list[Row] = [(value, *(str(share.get(value, "-")) for share in shares)) for value in values]
    return _table((title, *(f"`{name}`" for name in names)), rows)


def _by_view(evaluation: PanelEvaluation) -> Table:
    """Pool the members with the same cameras."""
    views = {name: ", ".join(card_of(name, evaluation.plan.models).views) for name in evaluation.plan.vlas}
    shares = success_by(evaluation.acted, lambda task: views[task.member])
    rows: list[Row] = [(view, list(views.values()).count(view), str(share)) for view, share in shares.items()]
    return _table(("cameras", "members", "success"), rows)


def _answers(evaluation: PanelEvaluation) -> _Answers:
    rows: list[Row] = [
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
    titles = (
        "member",
        "BLEU",
        "right to the word",
        "BLEU on another scene's picture",
        "the same against the first scene's truth",
        "answer changes with the picture",
    )
    shown = evaluation.answered[: 2 * len(evaluation.plan.vlms)]
    examples: list[Row] = [(f"`{task.member}`", task.answer, task.truth) for task in shown]
    return _Answers(_table(titles, rows), _table(("member", "answer", "truth"), examples))


def _ranks(evaluation: PanelEvaluation) -> Table:
    rows: list[Row] = [
        (
            f"`{row.member}`",
            "BLEU" if row.bleu else "success",
            row.scenes,
            *(f"{value:.2f}" for value in row.bleu),
            *(f"{100 * share.value:.0f} %" for share in row.shares),
        )
        for row in rank_rows(evaluation.ranked)
    ]
    ranks = ("1 plain", "2 attribute", "3 relation", "4 exclusion", "5 two steps")
    return _table(("member", "of", "scenes", *ranks), rows)


def _distorted(evaluation: PanelEvaluation) -> _Distorted:
    scenes, plan, found = evaluation.distorted, evaluation.plan, agreement(evaluation)
    upper = np.triu_indices(len(found.members), 1)
    means = {
        "success": (plan.vlas, np.stack([scene.success for scene in scenes]).mean(axis=(0, 2))),
        "cognition": (plan.vlms, np.stack([scene.cognition for scene in scenes]).mean(axis=(0, 2))),
    }
    rows: list[Row] = [
        (f"`{name}` {what}", *(f"{value:.2f}" for value in levels))
        for what, (members, by_member) in means.items()
        for name, levels in zip(members, by_member, strict=True)
    ]
    responses = graded_responses(evaluation)
    return _Distorted(
        scenes=len(scenes),
        responses=responses,
        graded=sum(response.graded for response in responses),
        not_graded=tuple(_label(response.distortion) for response in responses if not response.graded),
        levels=_table(("member", *(f"level {level}" for level in range(1, 6))), rows),
        mean_over_all=f"{np.nanmean(found.over_all[upper]):.2f}",
        mean_within=f"{np.nanmean(found.within[upper]):.2f}",
    )


def _label(distortion_id: str) -> str:
    return f"{distortion_id} {entry(distortion_id).name}"


def _draw(evaluation: PanelEvaluation, pictures: Path) -> None:
    """Write the heat maps: success and cognition by distortion and level, agreement between members."""
    plan, found = evaluation.plan, agreement(evaluation)
    names, levels = [_label(number) for number in plan.distortions], [str(level) for level in range(1, 6)]
    drawn = {}
    if responses := graded_responses(evaluation):
        success = np.array([[share.value for share in response.shares] for response in responses])
        drawn["success"] = heat_map("Success of the VLAs by level", names, levels, success)
    if plan.vlms:
        cognition = np.stack([scene.cognition for scene in evaluation.distorted]).mean(axis=(0, 1))
        drawn["cognition"] = heat_map("Cognition score of the VLMs by level", names, levels, cognition)
    short = [name.removeprefix("panel-") for name in found.members]
    for kind, title, values in (
        ("all", "SRCC over all scenes and conditions", found.over_all),
        ("within", "Mean SRCC within one condition", found.within),
    ):
        drawn[f"agreement-{kind}"] = heat_map(title, short, short, values, low=-1.0, high=1.0, slanted=True)
    for name, svg in drawn.items():
        write_text_whole(pictures / f"panel-{name}.svg", svg)
