"""The conversation with a planner: rules, examples, task, object list, images and feedback."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.suites.cell_manipulation.actions import (
    ANGLE_BINS,
    CLOSED,
    POSITION_BINS,
    TABLE_Z,
    GridAction,
)
from embodied_iqa.suites.cell_manipulation.planning.planner_options import Coordinates, PromptOptions
from embodied_iqa.world.protocols import Message, Speaker

Image = NDArray[np.uint8]
Bins = tuple[int, int, int]

_LIST_MARK: Final = "Objects: "
_ARROWS: Final = "Arrows in the front picture show the directions in which X and Y grow."
_BOXES: Final = "Its numbered boxes are around the objects of the list: box 1 is object 1."
_LISTED: Final = 'Objects are given as {"object 1": [X, Y, Z], ...} without their names, in order of Y.'
_UNLISTED: Final = "The places of the task's objects are not given."
_RULES: Final = f"""You plan the motions of a robot arm with a two-finger gripper above a table.
X grows away from the robot, Y to the robot's left, Z upwards; a unit is 1 cm and the table top is at
Z = {TABLE_Z}.
An action is a list of seven whole numbers, [X, Y, Z, Roll, Pitch, Yaw, Gripper]: the pose that the hand moves
to in a straight line, and the gripper that is set on arrival.
X, Y and Z are from 0 to {POSITION_BINS - 1}. Roll, Pitch and Yaw are from 0 to {ANGLE_BINS - 1} in units of 3
degrees; Roll 0 and Pitch 60 point the hand straight down, Yaw 60 closes the fingers along Y.
Gripper is 1 for open and 0 for closed. Colours: red, orange, yellow, green, blue, purple."""
_FORM: Final = """Answer with one JSON object and nothing else, without a code fence:
{SEEN"reasoning_and_reflection": "why, and what went wrong before", "language_plan": "numbered steps",
"executable_plan": [{"action": "[X, Y, Z, Roll, Pitch, Yaw, Gripper]"}, ...]}
An empty executable_plan says that the task is done or cannot be done; it ends the episode."""
_SEEN: Final = '"visual_state_description": "what the picture shows", '


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """A solved task.

    Attributes:
        instruction: The task.
        objects: Bins of its objects.
        plan: The expert's plan.
        image: Its image with boxes; None in text examples.
    """

    instruction: str
    objects: tuple[Bins, ...]
    plan: tuple[GridAction, ...]
    image: Image | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """An earlier turn.

    Attributes:
        asked: Text of the user's message.
        answer: The planner's answer.
    """

    asked: str
    answer: str


@dataclass(frozen=True, slots=True, eq=False)
class Scenery:
    """What the present turn is about.

    Attributes:
        instruction: The task.
        objects: Bins of the listed objects; None without a list.
        images: In order; the present front image first, further ones behind.
        done: Executed actions with their feedback, and answers that could not be read.
        earlier: Earlier turns, for the option ``history``.
    """

    instruction: str
    objects: tuple[Bins, ...] | None
    images: tuple[Image, ...]
    done: tuple[str, ...] = ()
    earlier: tuple[Exchange, ...] = ()


def messages_for(scenery: Scenery, examples: Sequence[Example], options: PromptOptions) -> list[Message]:
    """Return the conversation of a turn; every turn holds rules, examples and object list anew."""
    head: list[str | Image] = [_RULES, given_text(options), form_text(options)]
    for number, example in enumerate(examples, start=1):
        head.append(f"Example {number}\n{_example_text(example)}")
        if example.image is not None:
            head.append(example.image)
    messages = [Message(Speaker.SYSTEM, (_RULES,))] if options.history else []
    for exchange in scenery.earlier if options.history else ():
        messages.append(Message(Speaker.USER, (exchange.asked,)))
        messages.append(Message(Speaker.ASSISTANT, (exchange.answer,)))
    task = task_text(scenery)
    messages.append(Message(Speaker.USER, (*head, task, *_images(scenery, options))))
    return messages


def task_text(scenery: Scenery) -> str:
    """Return the text of a turn's task: instruction, object list and what was done."""
    lines = [f"Task: {scenery.instruction}"]
    if scenery.objects is not None:
        lines.append(_LIST_MARK + list_text(scenery.objects))
    if scenery.done:
        lines.append("Done so far, with feedback:")
        lines += [f"{number}. {line}" for number, line in enumerate(scenery.done, start=1)]
        lines.append("Say what went wrong, if anything, and plan the rest from the present state.")
    return "\n".join(lines)


def list_text(objects: Sequence[Bins]) -> str:
    """Return an object list as the prompt holds it."""
    return json.dumps({f"object {number}": list(bins) for number, bins in enumerate(objects, start=1)})


def listed_objects(messages: Sequence[Message]) -> tuple[Bins, ...]:
    """Return the object list of a conversation's last message, for planners that read nothing else."""
    lines = [line for line in messages[-1].text.splitlines() if line.startswith(_LIST_MARK)]
    tree = json.loads(lines[-1].removeprefix(_LIST_MARK)) if lines else {}
    return tuple((x, y, z) for x, y, z in tree.values())


def plan_text(plan: Sequence[GridAction], *, seen: str | None = None, why: str = "") -> str:
    """Return a plan as an answer in the requested form."""
    texts = {} if seen is None else {"visual_state_description": seen}
    steps = [{"action": str(list(action.numbers))} for action in plan]
    words = " ".join(f"{number}. {_words(action)}" for number, action in enumerate(plan, start=1))
    tree = texts | {"reasoning_and_reflection": why, "language_plan": words, "executable_plan": steps}
    return json.dumps(tree)


def _words(action: GridAction) -> str:
    """Return an action in words, for a plan in language."""
    gripper = "closed" if action.gripper == CLOSED else "open"
    return f"Move to X {action.x}, Y {action.y}, Z {action.z}; gripper {gripper}."


def given_text(options: PromptOptions) -> str:
    """Return what the object list means, and what is drawn into the front image."""
    is_listed = options.coordinates is not Coordinates.NONE
    words = [_LISTED if is_listed else _UNLISTED]
    if not options.language_only:
        words += [_ARROWS, _BOXES] if options.boxes and is_listed else [_ARROWS]
    return " ".join(words)


def form_text(options: PromptOptions) -> str:
    """Return the description of the answer's form."""
    return _FORM.replace("SEEN", "" if options.language_only else _SEEN)


def schema_text(options: PromptOptions) -> str:
    """Return the JSON schema of the answer."""
    names = ["reasoning_and_reflection", "language_plan"]
    if not options.language_only:
        names.insert(0, "visual_state_description")
    action = {
        "type": "object",
        "properties": {"action": {"type": "string"}},
        "required": ["action"],
        "additionalProperties": False,
    }
    fields: dict[str, object] = {name: {"type": "string"} for name in names}
    fields["executable_plan"] = {"type": "array", "items": action}
    return json.dumps(
        {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    )


def _example_text(example: Example) -> str:
    objects = list_text(example.objects)
    return f"Task: {example.instruction}\n{_LIST_MARK}{objects}\nAnswer: {plan_text(example.plan)}"


def _images(scenery: Scenery, options: PromptOptions) -> list[str | Image]:
    if options.language_only or not scenery.images:
        return []
    titles = ["The picture of the front camera:"]
    if options.multiview:
        titles.append("The picture of the wrist camera:")
    if options.multistep and len(scenery.images) > 1:
        titles = ["The present picture:", "One step before:", "Two steps before:"]
    parts: list[str | Image] = []
    for title, image in zip(titles, scenery.images, strict=False):
        parts += [title, image]
    return parts
