"""Losses: of the plan or the words, and auxiliary losses of attention and of objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from embodied_iqa.models.panel.training.captioners import CaptionerOutput
from embodied_iqa.models.panel.training.glimpses import Objects, finding_loss
from embodied_iqa.models.panel.training.policies import PolicyOutput
from embodied_iqa.models.subjects.backends.panel.format import PAD
from embodied_iqa.world.tasks.vocabulary import Colour, Kind, Mark, Size

_COLUMN_WEIGHTS: Final = (1.0, 1.0, 1.0, 0.5, 0.5, 0.3)
_BETA: Final = 0.05
"""Errors above 5 mm count linearly, smaller ones quadratically."""
_TURN: Final = 2.0
_SQUARE: Final = [list(Kind).index(kind) for kind in (Kind.CUBE, Kind.BUTTON, Kind.SOCKET, Kind.MAT)]
"""Kinds with a visible yaw, modulo a quarter turn."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """``B`` scenes with ``R`` tasks each, as tensors; ``V`` views, ``T`` things.

    Attributes:
        images: For each view ``(B, 3, H, W)`` in [-0.5, 0.5].
        tasks: ``(B, R, 32)`` word numbers.
        plan: ``(B R, K, 6)``, centred and scaled.
        places: ``(B R, 5)``, x, y of target and destination, and the target's yaw, centred and scaled.
        placed: ``(B R, 5)`` 1 where `places` apply.
        length: ``(B R,)`` number of waypoints.
        seen: ``(B R,)`` whether any view shows the target.
        wanted: ``(B R, 2, V)`` slots of target and of the second thing: `NOTHING` where the view does not
            show it, -1 for none.
        spots: For each view ``(B, SLOTS, 2)`` where to look: near each object, or anywhere.
        thing_marks: ``(B, T, V, 2)`` image positions of all objects.
        thing_kinds: ``(B, T)``, -1 for none.
        thing_colours: ``(B, T)``, -1 for none.
        thing_prints: ``(B, T)`` marks, 0 for none.
        thing_sizes: ``(B, T)`` sizes, 0 for the ordinary one.
        thing_turns: ``(B, T)`` in rad.
        thing_places: ``(B, T, 2)``, x and y, centred and scaled.
        answers: ``(B, R, L)`` word numbers; of width 0 for a VLA.
    """

    images: tuple[Tensor, ...]
    tasks: Tensor
    plan: Tensor
    places: Tensor
    placed: Tensor
    length: Tensor
    seen: Tensor
    wanted: Tensor
    spots: tuple[Tensor, ...]
    thing_marks: Tensor
    thing_kinds: Tensor
    thing_colours: Tensor
    thing_prints: Tensor
    thing_sizes: Tensor
    thing_turns: Tensor
    thing_places: Tensor
    answers: Tensor


def plan_loss(output: PolicyOutput, batch: Batch) -> Tensor:
    """Smooth L1 of the waypoints; cross-entropy of their number and of whether the target is seen."""
    places = torch.arange(output.more.shape[1])
    there = (places[None] < batch.length[:, None]).float()
    acting = there * batch.seen[:, None].float()
    error = functional.smooth_l1_loss(output.plan, batch.plan, reduction="none", beta=_BETA)
    weighted = (error * error.new_tensor(_COLUMN_WEIGHTS)).sum(-1)
    plan = (weighted * acting).sum() / acting.sum().clamp_min(1.0)
    known = (batch.length > 0).float()[:, None]
    more = functional.binary_cross_entropy_with_logits(output.more, there, reduction="none")
    seen = functional.binary_cross_entropy_with_logits(output.seen, batch.seen.float())
    if output.places.shape[1]:
        known_places = batch.placed * batch.seen[:, None].float()
        missed = functional.smooth_l1_loss(
            output.places[:, : batch.places.shape[1]], batch.places, reduction="none", beta=_BETA
        )
        plan = plan + 2.0 * (missed * known_places).sum() / known_places.sum().clamp_min(1.0)
    return plan + (more * known).sum() / (known.sum().clamp_min(1.0) * len(places)) + 0.2 * seen


def caption_loss(output: CaptionerOutput, batch: Batch) -> Tensor:
    """Cross-entropy of each word of the answer."""
    wanted = batch.answers[:, :, 1:].flatten(0, 1)
    return functional.cross_entropy(output.words.flatten(0, 1).float(), wanted.flatten(), ignore_index=PAD)


def vote_loss(votes: Tensor, batch: Batch) -> Tensor:
    """Smooth L1 of the positions predicted for each object in the last view."""
    here = shown_things(batch, -1).float()
    error = functional.smooth_l1_loss(
        votes[:, : here.shape[1], :2], batch.thing_places, reduction="none", beta=_BETA
    ).sum(-1)
    return (error * here).sum() / here.sum().clamp_min(1.0)


def grounding_loss(attention: tuple[Tensor, ...], wanted: Tensor) -> Tensor:
    """Cross-entropy of the first two heads' attention with the target and the second thing."""
    total = torch.zeros(())
    for view, logits in enumerate(attention):
        slots = wanted[:, :, view].flatten()
        total = total + functional.cross_entropy(logits[:, :2].flatten(0, 1), slots, ignore_index=-1)
    return total


def shown_things(batch: Batch, view: int) -> Tensor:
    """Return ``(B, T)``, whether each thing exists and its centre is in a view's image."""
    marks = batch.thing_marks[:, :, view]
    return ((marks > 0.0) & (marks < 1.0)).all(-1) & (batch.thing_kinds >= 0)


class ThingHead(nn.Module):
    """Auxiliary head: predicts all that can be said of an object from its patch, and where objects are.

    Without it a member takes far longer to learn the yaw of cubes, and hardly learns to read marks.
    """

    _SIZES = (len(Kind), len(Colour), len(Mark) + 1, len(Size) + 1, 2, 2)
    """Numbers of outputs: kind, colour, mark, size, turn, place."""

    def __init__(self, width: int, views: int) -> None:
        super().__init__()
        self.read = nn.ModuleList(nn.Linear(width, sum(self._SIZES)) for _ in range(views))

    def forward(self, objects: tuple[Objects, ...], batch: Batch) -> Tensor:
        """Return the loss."""
        total = torch.zeros(())
        for view, (found, read) in enumerate(zip(objects, self.read, strict=True)):
            here = shown_things(batch, view)
            output = read(found.tokens[:, : here.shape[1]])
            total = total + self._loss(output, batch, here.float())
            total = total + finding_loss(found.heat, batch.thing_marks[:, :, view], here)
        return total

    def _loss(self, output: Tensor, batch: Batch, here: Tensor) -> Tensor:
        *named, turns, places = output.split(self._SIZES, dim=-1)
        labels = (batch.thing_kinds, batch.thing_colours, batch.thing_prints, batch.thing_sizes)
        count = here.sum().clamp_min(1.0)
        names = torch.stack(
            [
                functional.cross_entropy(logits.transpose(1, 2), label.clamp_min(0), reduction="none")
                for logits, label in zip(named, labels, strict=True)
            ]
        ).sum(0)
        angle = batch.thing_turns
        square = torch.isin(batch.thing_kinds, batch.thing_kinds.new_tensor(_SQUARE)).float()
        quarter = torch.stack([(4 * angle).cos(), (4 * angle).sin()], -1)
        turn = (turns - quarter).square().sum(-1) * square
        place = functional.smooth_l1_loss(places, batch.thing_places, reduction="none", beta=_BETA)
        return ((names + _TURN * turn + place.sum(-1)) * here).sum() / count
