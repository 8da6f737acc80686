"""Questions and answers of OpenVLA's protocol, as the gate needs them and as the client gets them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from embodied_iqa.base.errors import InputError
from embodied_iqa.models.subjects.wire import json_arrays
from embodied_iqa.models.subjects.wire.errors import ProtocolError, one_line
from embodied_iqa.models.subjects.wire.openvla import actions_of
from embodied_iqa.quality.gate.proxy.hold_answers import ACTIONS

_ENCODED: Final = "encoded"
_VALUE: Final = "value"


class QuestionError(InputError):
    """A client's question cannot be read."""


def observation_of(body: bytes, most_bytes: int) -> tuple[dict[str, Any], bool]:
    """Return the observation of a question, and whether it is JSON inside of JSON, as its answer will be.

    Raises:
        QuestionError: It is no map in JSON, or not JSON alone.
    """
    try:
        content = json_arrays.unpack(body, most_bytes)
        is_double = isinstance(content, dict) and _ENCODED in content
        if is_double:
            if len(content) > 1 or not isinstance(content[_ENCODED], str):
                raise QuestionError("an encoded question has one text and nothing else")
            content = json_arrays.unpack(content[_ENCODED], most_bytes)
    except ProtocolError as error:
        raise QuestionError(str(error)) from None
    if not isinstance(content, dict):
        raise QuestionError("a question is a map", got=type(content).__name__)
    return content, is_double


class AnswerForm:
    """The form of a policy's answers: an array, or lists of numbers or of arrays."""

    def __init__(self) -> None:
        self._newest: Any = None

    def actions(self, value: object) -> dict[str, Any]:
        """Return the answer of a policy, with its actions as rows.

        Raises:
            ProtocolError: It holds no actions.
        """
        rows = np.atleast_2d(actions_of(value))
        self._newest = value
        return {ACTIONS: rows, _VALUE: value}

    def value(self, answer: Mapping[str, Any], *, is_double: bool) -> object:
        """Return what the client gets: the policy's answer, or other rows in the form of its newest one."""
        value = answer[_VALUE] if _VALUE in answer else self._shaped(answer[ACTIONS])
        return json_arrays.pack(value).decode() if is_double else value

    def _shaped(self, rows: np.ndarray[Any, Any]) -> object:
        like = self._newest
        if isinstance(like, np.ndarray):
            typed = rows.astype(like.dtype) if like.dtype.kind == "f" else rows
            return typed if like.ndim > 1 else typed[0]
        if isinstance(like, list) and like and isinstance(like[0], np.ndarray):
            return list(rows)
        if isinstance(like, list) and like and isinstance(like[0], list):
            return rows.tolist()
        return rows[0].tolist()


def header_of(report: Mapping[str, Any]) -> str:
    """Return the gate's part of an answer as the value of a header: the body is the policy's."""
    views = {view: _short(one) for view, one in report["views"].items()}
    return json.dumps({**_short(report), "views": views}, separators=(",", ":"))


def _short(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return a report whose reason fits into a header: it may name a key of any length."""
    return {**report, "reason": one_line(report["reason"]) if report["reason"] else ""}
