"""Planners in Hugging Face transformers: multimodal models with several images in one conversation."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, Final

import numpy as np

from embodied_iqa.base.lazy import load
from embodied_iqa.models.subjects.backends.transformers.loading import LoadedModel
from embodied_iqa.models.subjects.backends.transformers.vlm import Seeded, load_chat_model
from embodied_iqa.models.subjects.planner_cache import conversation_hash
from embodied_iqa.models.subjects.prompt import PLAN
from embodied_iqa.models.subjects.repositories import INSTALL_MODELS
from embodied_iqa.models.subjects.subject_options import DecodingOptions, VlmRequest
from embodied_iqa.world.protocols import Message, SubjectInfo

_SEED_DIGITS: Final = 14


def make(request: VlmRequest) -> TransformersPlanner:
    """Load a model, ready to plan.

    Raises:
        UserError: A library is missing, the checkpoint is refused, or it does not fit.
    """
    return TransformersPlanner(*load_chat_model(request, PLAN), request.options.decoding)


class TransformersPlanner:
    """A multimodal language model and its processor.

    Args:
        info: Description of the subject.
        loaded: Model and processor.
        decoding: How words are chosen.
    """

    def __init__(self, info: SubjectInfo, loaded: LoadedModel, decoding: DecodingOptions) -> None:
        self.info = info
        self._torch, self._model, self._processor = loaded.torch, loaded.model, loaded.processor
        self._decoding = decoding

    def plan(self, messages: Sequence[Message], schema: str = "") -> str:
        """Return the answer to a conversation; the prompt alone describes the form of the answer."""
        inputs = self._processor.apply_chat_template(
            [_plain(message) for message in messages],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
            sanitize_control_tokens=True,
        ).to(self._model.device, dtype=self._model.dtype)
        seeded = self._seeded(messages, schema) if self._decoding.temperature > 0 else nullcontext()
        with self._torch.inference_mode(), seeded:
            output = self._model.generate(**inputs)
        words = output[:, inputs["input_ids"].shape[1] :]
        (text,) = self._processor.batch_decode(words, skip_special_tokens=True)
        return str(text).strip()

    def _seeded(self, messages: Sequence[Message], schema: str) -> Any:
        digits = conversation_hash(self.info, messages, schema)[:_SEED_DIGITS]
        return Seeded(self._torch, self._model.device, self._decoding.seed ^ int(digits, 16))


def _plain(message: Message) -> dict[str, object]:
    fromarray = load("PIL.Image:fromarray", INSTALL_MODELS)
    parts = [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image", "image": fromarray(np.ascontiguousarray(part))}
        for part in message.parts
    ]
    return {"role": str(message.speaker), "content": parts}
