"""Subjects in the user's own code: ``python:module:factory``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.user_code import load_factory
from embodied_iqa.models.subjects.reference import METHODS
from embodied_iqa.models.subjects.subject_options import VlaRequest, VlmRequest
from embodied_iqa.world.protocols import SubjectInfo

_OPTIONAL: Final = ("answer_batch", "act_batch", "close")


class UserSubject:
    """A subject of the user's own under the name of its reference, by which recordings find it again.

    Args:
        subject: What the factory returned.
        method: ``answer`` or ``act``.
        name: Text of the reference.

    Raises:
        InputError: It lacks ``info`` or the method.
    """

    def __init__(self, subject: Any, method: str, name: str) -> None:
        info = getattr(subject, "info", None)
        if not isinstance(info, SubjectInfo) or not callable(getattr(subject, method, None)):
            raise InputError(
                f"what {name} makes is not a subject",
                expected=f"`info`, a SubjectInfo, and a method `{method}`",
                got=type(subject).__name__,
            )
        self.info = replace(info, name=name)
        for word in (method, *_OPTIONAL):
            if callable(getattr(subject, word, None)):
                setattr(self, word, getattr(subject, word))


def make(request: VlmRequest | VlaRequest) -> Any:
    """Call the factory of a reference.

    Raises:
        UserError: It cannot be imported, or makes something else.
    """
    reference = request.reference
    subject = load_factory(reference.target)()
    return UserSubject(subject, METHODS[reference.role], reference.text)
