"""A subject's answers on one reference and its distorted pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from embodied_iqa.database.building.members import Failure, Member, frames_for
from embodied_iqa.database.pictures import distorted_frame, read_frames, spec_of
from embodied_iqa.database.store import Row
from embodied_iqa.images.frame import Frame, View
from embodied_iqa.subjects.batching import Question
from embodied_iqa.subjects.catalogue import Role
from embodied_iqa.subjects.protocols import ActionChunk, VlaObservation

__all__ = ["BlockPictures", "annotate"]


class BlockPictures:
    """The pictures that one reference is asked about: clean and distorted, from every camera wanted.

    Distorted pictures are made from their seeds and shared by all subjects.

    Args:
        path: The database.
        reference: A row of `references.parquet`.
        pairs: Rows of `pairs.parquet`.
        views: The cameras whose pictures somebody is shown.

    Raises:
        InputError: A file is damaged.
    """

    def __init__(self, path: Path, reference: Row, pairs: Sequence[Row], views: Iterable[View]) -> None:
        self.reference = reference
        self.view = View(reference["view"])
        self.pairs = tuple(pairs)
        clean = read_frames(path, reference, {self.view, *views})
        specs = [spec_of(pair) for pair in pairs]
        self.clean = clean
        self.distorted = [
            {view: distorted_frame(frame, spec) for view, frame in clean.items()} for spec in specs
        ]


def annotate(member: Member, pictures: BlockPictures, tasks: Sequence[Row]) -> list[Row]:
    """Ask a subject; where it fails on the reference it is not asked about the distorted pictures.

    Returns:
        Rows of the annotations table: for the reference first, then pair by pair, tasks in their order.
    """
    first = _ask(member, pictures, pictures.clean, tasks)
    rows = [_row(member, pictures, None, task, answer) for task, answer in zip(tasks, first, strict=True)]
    fit = [not isinstance(answer, Failure) for answer in first]
    asked = [task for task, good in zip(tasks, fit, strict=True) if good]
    missing = Failure("no answer on the reference")
    answers = iter(_ask_all(member, pictures, asked))
    for pair in pictures.pairs:
        for task, good in zip(tasks, fit, strict=True):
            rows.append(_row(member, pictures, pair, task, next(answers) if good else missing))
    return rows


def _ask(
    member: Member, pictures: BlockPictures, frames: dict[View, Frame], tasks: Sequence[Row]
) -> list[Any]:
    return _answers(member, pictures, [(frames, task) for task in tasks])


def _ask_all(member: Member, pictures: BlockPictures, tasks: Sequence[Row]) -> list[Any]:
    return _answers(member, pictures, [(frames, task) for frames in pictures.distorted for task in tasks])


def _answers(
    member: Member, pictures: BlockPictures, wanted: Sequence[tuple[dict[View, Frame], Row]]
) -> list[Any]:
    shown = [(frames_for(member.info.views, pictures.view, frames), task["text"]) for frames, task in wanted]
    if member.role is Role.VLM:
        view = pictures.view if pictures.view in member.info.views else member.info.views[0]
        questions: list[Question] = [(frames[view], text) for frames, text in shown]
        return list(member.answers(questions))
    reference = pictures.reference
    T_base_tool = np.array(reference["T_base_tool"], np.float64).reshape(4, 4)
    return list(
        member.chunks(
            [VlaObservation(frames, text, T_base_tool, reference["gripper"], 0) for frames, text in shown]
        )
    )


def _row(
    member: Member, pictures: BlockPictures, pair: Row | None, task: Row, answer: str | ActionChunk | Failure
) -> Row:
    said: Row = dict.fromkeys(("answer", "status", "increments", "reason", "error"))
    if isinstance(answer, Failure):
        said["error"] = answer.reason
    elif isinstance(answer, str):
        said["answer"] = answer
    else:
        said["status"], said["reason"] = str(answer.status), answer.reason
        said["increments"] = [float(value) for value in np.asarray(answer.increments).ravel()]
    return {
        "subject": member.name,
        "subject_version": member.info.version,
        "role": str(member.role),
        "reference_id": pictures.reference["reference_id"],
        "pair_id": None if pair is None else pair["pair_id"],
        "task_id": task["task_id"],
        "rank": task["rank"],
        "distortion_id": "" if pair is None else pair["distortion_id"],
        "level": 0 if pair is None else pair["level"],
        "own_view": member.info.is_made_for(pictures.view),
    } | said
