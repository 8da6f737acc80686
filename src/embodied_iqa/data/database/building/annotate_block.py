"""Answers of a subject on one reference and its distorted images."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from embodied_iqa.data.database.building.build_subjects import Failure, Member, frames_for
from embodied_iqa.data.database.database_images import distorted_frame, read_frames, spec_of
from embodied_iqa.data.database.schema import Annotation, Pair, Reference, ReferenceTask, SourceKind
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.world.libero.suite_world import native_state_of
from embodied_iqa.world.protocols import ActionChunk, VlaObservation

_Answer = str | ActionChunk | Failure


class BlockImages:
    """The images of one reference: clean and distorted, from every camera that a subject needs.

    Distorted images are made from their seeds and shared by all subjects.

    Args:
        path: The database.
        reference: The reference.
        pairs: Its distorted images.
        views: The cameras that subjects need, besides the reference's.

    Raises:
        InputError: A file is damaged.
    """

    def __init__(
        self, path: Path, reference: Reference, pairs: Sequence[Pair], views: Iterable[View]
    ) -> None:
        self.reference = reference
        self.pairs = tuple(pairs)
        self.clean = read_frames(path, reference, {reference.view, *views})
        specs = [spec_of(pair) for pair in pairs]
        self.distorted = [
            {view: distorted_frame(frame, spec) for view, frame in self.clean.items()} for spec in specs
        ]


def annotate(member: Member, images: BlockImages, tasks: Sequence[ReferenceTask]) -> list[Annotation]:
    """Query a subject; tasks that fail on the reference are not queried on the distorted images.

    Returns:
        Answers on the reference first, then pair by pair, tasks in their order.
    """
    first = _answers(member, images, [(images.clean, task) for task in tasks])
    rows = [_row(member, images, None, task, answer) for task, answer in zip(tasks, first, strict=True)]
    answered = {
        task.task_id for task, answer in zip(tasks, first, strict=True) if not isinstance(answer, Failure)
    }
    queries = [(frames, task) for frames in images.distorted for task in tasks if task.task_id in answered]
    answers = iter(_answers(member, images, queries))
    for pair in images.pairs:
        for task in tasks:
            missing = task.task_id not in answered
            answer = Failure("no answer on the reference") if missing else next(answers)
            rows.append(_row(member, images, pair, task, answer))
    return rows


def _answers(
    member: Member, images: BlockImages, queries: Sequence[tuple[Mapping[View, Frame], ReferenceTask]]
) -> Sequence[_Answer]:
    reference = images.reference
    # the same objects for every task, so that a subject may look at an image once
    distinct = {id(frames): frames for frames, _ in queries}
    seen = {key: frames_for(member.info.views, reference.view, frames) for key, frames in distinct.items()}
    shown = [(seen[id(frames)], task.text) for frames, task in queries]
    if member.role is Role.VLM:
        view = reference.view if reference.view in member.info.views else member.info.views[0]
        return member.answers([(frames[view], text) for frames, text in shown])
    if reference.T_base_tool is None or reference.gripper is None:
        reason = f"{member.name} needs the pose of the tool and the gripper, which are not known"
        return member.without_answers(len(queries), reason)
    T_base_tool = np.array(reference.T_base_tool, np.float64).reshape(4, 4)
    is_libero = reference.source is SourceKind.LIBERO
    native = native_state_of(T_base_tool, reference.gripper) if is_libero else None
    return member.chunks(
        [
            VlaObservation(frames, text, T_base_tool, reference.gripper, 0, native_state=native)
            for frames, text in shown
        ]
    )


def _row(
    member: Member, images: BlockImages, pair: Pair | None, task: ReferenceTask, answer: _Answer
) -> Annotation:
    values: dict[str, Any] = dict.fromkeys(("answer", "status", "increments", "reason", "seen", "error"))
    if isinstance(answer, Failure):
        values["error"] = answer.reason
    elif isinstance(answer, str):
        values["answer"] = answer
    else:
        values["status"], values["reason"], values["seen"] = answer.status, answer.reason, answer.seen
        values["increments"] = np.asarray(answer.increments, np.float64).ravel().tolist()
    return Annotation(
        subject=member.name,
        subject_version=member.info.version,
        role=member.role,
        reference_id=images.reference.reference_id,
        pair_id=None if pair is None else pair.pair_id,
        task_id=task.task_id,
        rank=task.rank,
        distortion_id="" if pair is None else pair.distortion_id,
        level=0 if pair is None else pair.level,
        own_view=member.info.is_made_for(images.reference.view),
        **values,
    )
