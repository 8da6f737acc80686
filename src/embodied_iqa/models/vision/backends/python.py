"""Vision models in the user's own code: ``python:module:factory`` returns a model or a list of them."""

from __future__ import annotations

from typing import Any

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.user_code import load_factory
from embodied_iqa.models.vision.model import VisionModel, VisionModelInfo
from embodied_iqa.models.vision.reference import VisionRequest


def make(request: VisionRequest) -> list[VisionModel]:
    """Call the factory of a reference.

    Raises:
        UserError: It cannot be imported, or makes something else.
    """
    made = load_factory(request.reference.target)()
    models = list(made) if isinstance(made, list | tuple) else [made]
    for model in models:
        _check(model, request.reference.text)
    return models


def _check(model: Any, name: str) -> None:
    info, predict = getattr(model, "info", None), getattr(model, "predict", None)
    if not (isinstance(info, VisionModelInfo) and callable(predict)):
        raise InputError(
            f"what {name} makes is not a vision model",
            expected="`info`, a VisionModelInfo, and a method `predict`",
            got=type(model).__name__,
        )
