"""Classical-vision baseline VLM: describes in about ten words where the object is and what to do."""

from __future__ import annotations

from typing import Final

import numpy as np

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.models.subjects.backends.classical.perception import SeenObject, Sight, look
from embodied_iqa.models.subjects.subject_options import VlmRequest
from embodied_iqa.world.protocols import SubjectInfo
from embodied_iqa.world.tasks.instruction import Instruction, Thing, parse_instruction
from embodied_iqa.world.tasks.vocabulary import Verb

_ADVICE: Final = {Verb.PICK: "grip and lift it", Verb.PUSH: "push it away", Verb.PRESS: "press it down"}
_THIRDS: Final = (1 / 3, 2 / 3)
_LISTED: Final = 3


def make(_request: VlmRequest) -> ClassicalVlm:
    """Make the baseline; it has no options."""
    return ClassicalVlm()


class ClassicalVlm:
    """Composes an answer from detected colours, kinds, places and neighbours."""

    info: Final = SubjectInfo(
        name="classical-vlm",
        version="2",
        description=(
            "Describes the object of the task, its place and its neighbour from colour and outline in the "
            "image; reads sizes but no marks; nothing is learned."
        ),
        views=(View.TOP,),
    )

    def answer(self, frame: Frame, task: str) -> str:
        """Answer in about ten words; describe the table for a task that cannot be parsed."""
        sight = look(frame)
        try:
            instruction = parse_instruction(task)
        except UsageError:
            return f"I see {_listed(sight.objects)}." if sight.objects else "I see no objects on the table."
        return _guide(instruction, sight, frame)


def _guide(task: Instruction, sight: Sight, frame: Frame) -> str:
    seen, wanted = sight.objects, task.object
    if task.verb not in _ADVICE:
        shown = _listed(seen) if seen else "no objects"
        return f"I do not know how to {task.verb}; I see {shown}."
    found = sight.named(wanted)
    if len(found) > 1:
        places = " and ".join(_place(item, frame) for item, _ in found)
        why = "I cannot read marks" if wanted.mark is not None else "I cannot tell which"
        return f"I see {len(found)} that may be the {wanted}, {places}; {why}."
    if not found:
        return _miss(wanted, seen, frame)
    ((target, _),) = found
    place = _place(target, frame)
    beside = _neighbour(target, seen)
    company = f"by the {beside.colour} {_kind_word(beside)}" if beside is not None else "alone"
    return f"The {wanted} is {place}, {company}; {_ADVICE[task.verb]}."


def _miss(wanted: Thing, seen: tuple[SeenObject, ...], frame: Frame) -> str:
    """Say what is there instead of the object."""
    alike = next((item for item in seen if item.colour is wanted.colour), None)
    if alike is not None:
        return f"I see {_named(alike)}, {_place(alike, frame)}, but no {wanted}."
    return f"I see no {wanted}, only {_listed(seen)}." if seen else f"I see no {wanted} and no other objects."


def _place(item: SeenObject, frame: Frame) -> str:
    """Return the place in the image: "near left", "far", "in the middle"."""
    u, v = item.centre_px
    width_px, height_px = frame.size_px
    across = ("left", "", "right")[int(np.digitize(u / width_px, _THIRDS))]
    along = ("far", "", "near")[int(np.digitize(v / height_px, _THIRDS))]
    return " ".join(word for word in (along, across) if word) or "in the middle"


def _neighbour(target: SeenObject, seen: tuple[SeenObject, ...]) -> SeenObject | None:
    """Return the object that stands nearest on the table."""
    here = target.fits[0]
    return min(
        (item for item in seen if item is not target),
        key=lambda item: np.hypot(item.fits[0].x_m - here.x_m, item.fits[0].y_m - here.y_m),
        default=None,
    )


def _listed(seen: tuple[SeenObject, ...]) -> str:
    """List the largest few objects in words."""
    largest = sorted(seen, key=lambda item: -item.area_px)
    names = [_named(item) for item in largest[:_LISTED]]
    rest = len(largest) - len(names)
    if rest:
        names.append(f"{rest} more")
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + f" and {names[-1]}"


def _named(item: SeenObject) -> str:
    return f"{'an' if str(item.colour)[0] in 'aeiou' else 'a'} {item.colour} {_kind_word(item)}"


def _kind_word(item: SeenObject) -> str:
    return str(item.kind) if item.kind is not None else "thing"
