"""Questions to the person at a terminal, each of which an option answers too, and what is an answer."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from embodied_iqa.arm.robot.limits import check_corner
from embodied_iqa.base.errors import UsageError, UserError
from embodied_iqa.base.kinematics.models import NAMED_MODELS
from embodied_iqa.cli.cell.init_options import check_corners
from embodied_iqa.imaging.images.frame import View, parse_view
from embodied_iqa.models.subjects.optional_vlm import parse_optional_vlm
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.quality.gate.calibration_file import load_gate_file

ValueT = TypeVar("ValueT")
_BoxCheck = Callable[[Sequence[float], Sequence[float]], None]


class Questions:
    """Asks what no option has answered.

    Args:
        read: Returns an answer in one line; None where nobody is asked: what was read is accepted then.
    """

    def __init__(self, read: Callable[[str], str] | None) -> None:
        self._read = read

    def ask(
        self,
        question: str,
        parse: Callable[[str], ValueT],
        default: ValueT | None = None,
        *,
        needed: bool = False,
    ) -> ValueT | None:
        """Return an answer; None where there is none.

        Args:
            question: In words.
            parse: Makes a value of the answer; raises `UserError` for a wrong one, which is asked again.
            default: What was read; an empty answer accepts it.
            needed: Without an answer it is asked again.

        Raises:
            UsageError: The input ends.
        """
        if self._read is None:
            return default
        ending = f" [{default}]" if default is not None else "" if needed else " [Enter leaves it out]"
        while True:
            try:
                answer = self._read(f"{question}{ending}: ").strip()
            except EOFError:  # Ctrl-D
                raise UsageError("nobody answers any more", expected=f"an answer to {question!r}") from None
            if not answer and not (needed and default is None):
                return default
            try:
                return parse(answer)
            except UserError as error:
                print(error, file=sys.stderr)


def read_answer(question: str) -> str:
    """Return what a person answers to a question on standard error: standard output is for results."""
    print(question, end="", file=sys.stderr, flush=True)
    return input()


def word(text: str) -> str:
    """Return an answer that is not empty."""
    if not text:
        raise UsageError("an answer is needed")
    return text


def model_name(text: str) -> str:
    """Return the name of a model."""
    if text not in NAMED_MODELS:
        raise UsageError("no model of this name", got=text, available=NAMED_MODELS)
    return text


def number(text: str) -> float:
    """Return a number."""
    (number,) = _numbers(text, 1)
    return number


def three(text: str) -> list[float]:
    """Return three numbers."""
    return _numbers(text, 3)


def corner(text: str) -> list[float]:
    """Return a corner of the workspace."""
    numbers = three(text)
    check_corner(numbers, "corner of the workspace")
    return numbers


def ask_cameras(questions: Questions, present: Iterable[str]) -> dict[View, str]:
    """Return the topics that get the name of a camera; without any name, a person is asked again.

    Raises:
        UsageError: No camera, or no person to ask.
    """
    present = tuple(present)
    chosen: dict[View, str] = {}

    def new_view(word: str) -> View:
        if (view := parse_view(word)) in chosen:
            raise UsageError(f"{view} is the camera {chosen[view]} already", expected="another name")
        return view

    for topic in present:
        is_last = not chosen and topic == present[-1]
        view = questions.ask(f"Name of the camera {topic}, such as top", new_view, needed=is_last)
        if view is not None:
            chosen[view] = topic
    if not chosen:
        raise UsageError("no camera is chosen", expected="--topic VIEW=TOPIC", available=present)
    return chosen


def ask_corners(
    questions: Questions,
    lower: list[float] | None,
    upper: list[float] | None,
    check: _BoxCheck = check_corners,
) -> tuple[list[float] | None, list[float] | None]:
    """Return both corners of the workspace [m], or neither; what is missing is asked until there is a box.

    Args:
        questions: Asks.
        lower: Lower corner, if it is given.
        upper: Upper corner, if it is given.
        check: Raises `UserError` where the corners span no box, or one that this arm does not reach.
    """
    question = "Lower corner of the workspace, x y z in the base [m]"
    above = "Upper corner of the workspace, x y z in the base [m]"
    opposite: list[float] | None = None
    if lower is None:
        lower = questions.ask(question, corner, needed=upper is not None)
    while lower is not None and upper is None:
        if not _is_accepted(check, lower, opposite):
            opposite = None
        upper = questions.ask(above, corner, opposite, needed=True)
        if upper is None:  # nobody is asked
            break
        try:
            check(lower, upper)
        except UserError as error:
            print(error, file=sys.stderr)
            # either may be the wrong one; of corners in the other order, the box between them is offered
            both = tuple(zip(lower, upper, strict=True))
            between = [min(pair) for pair in both], [max(pair) for pair in both]
            least, opposite = between if _is_accepted(check, *between) else (None, None)
            lower, upper = questions.ask(question, corner, least), None
    return lower, upper


def policy(text: str) -> str:
    """Return the name of a policy."""
    parse_vla(text)
    return text


def vlm_or_none(text: str) -> str:
    """Return the name of a VLM, or of none."""
    parse_optional_vlm(text)
    return text


def gate_file(text: str) -> Path:
    """Return the path of a calibration of the gate."""
    path = Path(text).resolve()
    load_gate_file(path)
    return path


def _is_accepted(check: _BoxCheck, lower: Sequence[float], upper: Sequence[float] | None) -> bool:
    if upper is None:
        return False
    try:
        check(lower, upper)
    except UserError:
        return False
    return True


def _numbers(text: str, count: int) -> list[float]:
    try:
        numbers = [float(word) for word in text.replace(",", " ").split()]
    except ValueError:
        numbers = []
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        raise UsageError("wrong answer", expected=f"{count} number{'s' * (count > 1)}", got=text)
    return numbers
