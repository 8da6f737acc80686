"""The report of the embedded panel: a Markdown page with tables and images (templates/panel.md.j2)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Final

import numpy as np

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.imaging.distortions.catalogue import entry
from embodied_iqa.imaging.distortions.spec import LEVELS
from embodied_iqa.models.panel.evaluation.clean_scenes import ActedTask
from embodied_iqa.models.panel.evaluation.evaluate import PanelEvaluation
from embodied_iqa.models.scoring.proportions import Share
from embodied_iqa.models.subjects.backends.panel.shipped_members import card_of
from embodied_iqa.models.subjects.model_card import ModelCard
from embodied_iqa.pages.reports.kit.heat_map import heat_map
from embodied_iqa.pages.reports.kit.markdown import TABLES
from embodied_iqa.pages.reports.kit.origin import origin_line
from embodied_iqa.pages.reports.kit.render import render
from embodied_iqa.pages.reports.kit.table import Column, Row, Table
from embodied_iqa.pages.reports.panel.summary import (
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

_LINE: Final = 100
"""Characters."""
_NO_PROSE: Final = ("#", "|", "![", "```", "- ")


@dataclass(frozen=True, slots=True)
class _Actions:
    """The chapter on clean images for VLAs; `by` has a table for each property of a task."""

    members: Table
    agreed: Share
    compared: int
    weak: str
    by: Sequence[Table]


@dataclass(frozen=True, slots=True)
class _Distorted:
    """The chapters on distorted images."""

    scenes: int
    responses: Sequence[GradedResponse]
    not_graded: tuple[str, ...]
    levels: Table
    mean_over_all: float
    mean_within: float


def write_report(evaluation: PanelEvaluation, page: Path, images: Path) -> None:
    """Write the page and its images; each file whole or not at all."""
    plan = evaluation.plan
    cards = [card_of(name, plan.models) for name in (*plan.vlas, *plan.vlms)]
    commands = sorted({str(card.training["command"]) for card in cards})
    acted = _actions(evaluation) if evaluation.acted else None
    examples = _examples(evaluation)
    text = render(
        "panel.md.j2",
        plan=plan,
        link=Path(os.path.relpath(images, page.parent)).as_posix(),
        members=_members(cards),
        commands=", ".join(f"`{command}`" for command in commands),
        minutes=f"{sum(float(card.training['minutes']) for card in cards):.0f}",
        acted=acted,
        answers=_answers(evaluation),
        by_files=[_file(table, page) for table in (acted.by[1:] if acted else ())],
        examples_file=_file(examples, page) if examples.rows else "",
        ranks=_ranks(evaluation),
        distorted=_distorted(evaluation, images) if evaluation.distorted else None,
    )
    write_text_whole(page, f"{wrapped(text)}\n\n{origin_line(page)}\n")


def _file(table: Table, page: Path) -> str:
    """Write a table as a CSV file beside the page; return the link to it."""
    named = replace(table, name=f"{page.stem}-{table.title.lower().replace(' ', '-')}")
    folder = page.parent / TABLES
    folder.mkdir(parents=True, exist_ok=True)
    named.write_csv(folder)
    return f"[{table.title}]({TABLES}/{named.name}.csv) (CSV)"


def wrapped(page: str) -> str:
    """Return a Markdown page with its prose in lines of at most 100 characters."""
    fold = partial(fill, width=_LINE, break_long_words=False, break_on_hyphens=False)
    blocks = page.split("\n\n")
    return "\n\n".join(block if block.startswith(_NO_PROSE) else fold(block) for block in blocks)


def _members(cards: Sequence[ModelCard]) -> Table:
    def recipe(card: ModelCard) -> str:
        training = card.training
        return (
            f"{int(training['scenes']):,} scenes x {training['epochs']} epochs "
            f"({training['of_these_with_plain_tasks']} of them plain tasks), "
            f"augmentation {training['augmentation']}, seed {training['seed']}"
        )

    return Table.of(
        "Members",
        cards,
        {
            Column("member"): lambda card: f"`{card.name}`",
            Column("views"): lambda card: ", ".join(card.views),
            Column("network"): lambda card: f"{card.network['encoder']}, {card.network['reader']}",
            Column("parameters"): lambda card: f"{int(card.network['parameters']) / 1e6:.2f} M",
            Column("trained on"): recipe,
            Column("what it is"): lambda card: card.summary,
        },
    )


def _actions(evaluation: PanelEvaluation) -> _Actions:
    members = Table.of(
        "Acting on clean images",
        vla_rows(evaluation.acted),
        {
            Column("member"): lambda row: f"`{row.member}`",
            Column("success (physics)"): lambda row: str(row.success),
            Column("mean over verbs"): lambda row: f"{100 * row.verb_mean:.0f} %",
            Column("geometric criterion"): lambda row: str(row.geometric),
            Column("position median / p90 [mm]"): lambda row: f"{row.median_mm:.1f} / {row.p90_mm:.1f}",
            Column("turn median [deg]", 1): lambda row: row.median_turn_deg,
            Column("acted"): lambda row: str(row.acted),
        },
    )
    agreed, compared = criterion_check(evaluation)
    weak = [
        f"`{name}` {verb} ({share.value:.0%})"
        for name in dict.fromkeys(task.member for task in evaluation.acted)
        for verb, share in weak_verbs(evaluation.acted, name).items()
    ]
    by = (
        _by(evaluation, "By verb", "verb", lambda task: str(task.verb)),
        _by_view(evaluation),
        _by(evaluation, "By number of objects on the table", "crowd", lambda task: str(task.crowd)),
        _by(evaluation, "By background", "background", lambda task: task.background),
    )
    below = f"Below 75 %: {', '.join(weak)}." if weak else "No member is below 75 % on any verb."
    return _Actions(members, agreed, compared, below, by)


def _by(evaluation: PanelEvaluation, title: str, name: str, key: Callable[[ActedTask], str]) -> Table:
    shares = [success_by(evaluation.acted, key, member=member) for member in evaluation.plan.vlas]
    values = sorted({value for share in shares for value in share})
    rows: list[Row] = [(value, *(str(share.get(value, "-")) for share in shares)) for value in values]
    columns = [Column(name), *(Column(f"`{member}`", name=member) for member in evaluation.plan.vlas)]
    return Table("", title, columns, rows)


def _by_view(evaluation: PanelEvaluation) -> Table:
    """Pool the members with the same cameras."""
    views = {name: ", ".join(card_of(name, evaluation.plan.models).views) for name in evaluation.plan.vlas}
    return Table.of(
        "By view",
        success_by(evaluation.acted, lambda task: views[task.member]).items(),
        {
            Column("cameras"): lambda item: item[0],
            Column("members"): lambda item: list(views.values()).count(item[0]),
            Column("success"): lambda item: str(item[1]),
        },
    )


def _answers(evaluation: PanelEvaluation) -> Table:
    return Table.of(
        "Answering on clean images",
        vlm_rows(evaluation.answered),
        {
            Column("member"): lambda row: f"`{row.member}`",
            Column("BLEU", 3): lambda row: row.bleu,
            Column("right word for word"): lambda row: str(row.exact),
            Column("BLEU on another scene's image", 3): lambda row: row.swapped_right,
            Column("the same against the first scene's truth", 3): lambda row: row.swapped_bleu,
            Column("answer changes with the image"): lambda row: str(row.changed),
        },
    )


def _examples(evaluation: PanelEvaluation) -> Table:
    return Table.of(
        "Examples",
        evaluation.answered[: 2 * len(evaluation.plan.vlms)],
        {
            Column("member"): lambda task: task.member,
            Column("answer"): lambda task: task.answer,
            Column("truth"): lambda task: task.truth,
        },
    )


def _ranks(evaluation: PanelEvaluation) -> Table:
    rows: list[Row] = [
        (
            f"`{row.member}`",
            "BLEU" if row.bleu else "success",
            row.scenes,
            *row.bleu,
            *(f"{100 * share.value:.0f} %" for share in row.shares),
        )
        for row in rank_rows(evaluation.ranked)
    ]
    ranks = ("1 plain", "2 attribute", "3 relation", "4 exclusion", "5 two steps")
    columns = [Column(title) for title in ("member", "of", "scenes", *ranks)]
    return Table("", "Tasks of rising difficulty", columns, rows)


def _distorted(evaluation: PanelEvaluation, images: Path) -> _Distorted:
    """Return the numbers of the chapters and draw their heat maps."""
    scenes, plan, found = evaluation.distorted, evaluation.plan, agreement(evaluation)
    names, levels = [_label(number) for number in plan.distortions], [str(level) for level in LEVELS]
    responses = graded_responses(evaluation)
    success = np.stack([scene.success for scene in scenes])
    refused = np.stack([scene.refused for scene in scenes])
    cognition = np.stack([scene.cognition for scene in scenes])
    if responses:
        shares = np.array([[share.value for share in response.shares] for response in responses])
        _draw(images, "success", heat_map("Success of the VLAs by level", names, levels, shares))
    if plan.vlms:
        svg = heat_map("Cognition score of the VLMs by level", names, levels, cognition.mean(axis=(0, 1)))
        _draw(images, "cognition", svg)
    short = [name.removeprefix("panel-") for name in found.members]
    for kind, title, values in (
        ("all", "SRCC over all scenes and conditions", found.over_all),
        ("within", "Mean SRCC within one condition", found.within),
    ):
        svg = heat_map(title, short, short, values, low=-1.0, high=1.0, slanted=True)
        _draw(images, f"agreement-{kind}", svg)
    rows: list[Row] = [
        (f"`{name}` {what}", *map(float, means))
        for what, members, scores in (
            ("success", plan.vlas, success),
            ("refused", plan.vlas, refused),
            ("cognition", plan.vlms, cognition),
        )
        for name, means in zip(members, scores.mean(axis=(0, 2)), strict=True)
    ]
    columns = [Column("member"), *(Column(f"level {level}") for level in levels)]
    upper = np.triu_indices(len(found.members), 1)
    return _Distorted(
        scenes=len(scenes),
        responses=responses,
        not_graded=tuple(_label(response.distortion) for response in responses if not response.graded),
        levels=Table("", "Mean over all types", columns, rows),
        mean_over_all=float(np.nanmean(found.over_all[upper])),
        mean_within=float(np.nanmean(found.within[upper])),
    )


def _label(distortion_id: str) -> str:
    return f"{distortion_id} {entry(distortion_id).name}"


def _draw(images: Path, name: str, svg: str) -> None:
    write_text_whole(images / f"panel-{name}.svg", svg)
