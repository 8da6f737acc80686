"""Vision-language models in Hugging Face transformers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.lazy import load
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.models.subjects.backends.transformers.features import tower_features
from embodied_iqa.models.subjects.backends.transformers.loading import LoadedModel, load_libraries, load_model
from embodied_iqa.models.subjects.batching import Question
from embodied_iqa.models.subjects.checkpoints import open_checkpoint
from embodied_iqa.models.subjects.prompt import DEFAULT_PROMPT, decoding_version, prompt_of, tidy
from embodied_iqa.models.subjects.repositories import INSTALL_MODELS
from embodied_iqa.models.subjects.subject_options import DecodingOptions, VlmRequest
from embodied_iqa.world.protocols import SubjectInfo, Vlm

_NO_TASK: Final = "describe"
"""A task for features, which do not depend on it."""
_SEED_BYTES: Final = 7
_MOST_TEMPLATE_BYTES: Final = 1_000_000
_TOKENS: Final = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id")


def make(request: VlmRequest) -> Vlm:
    """Load a model, ready to answer.

    Raises:
        UserError: A library is missing, the checkpoint is refused, or it does not fit.
    """
    entry = request.reference.entry
    prompt = request.prompt or (entry.prompt if entry is not None else DEFAULT_PROMPT)
    info, loaded = load_chat_model(request, prompt)
    return TransformersVlm(info, loaded, request.options.decoding, prompt)


def load_chat_model(request: VlmRequest, prompt: str) -> tuple[SubjectInfo, LoadedModel]:
    """Load a model and its processor, with the decoding options set.

    Raises:
        UserError: A library is missing, the checkpoint is refused, or it does not fit.
    """
    reference, options = request.reference, request.options
    if options.decoding.temperature < 0:
        raise UsageError(
            f"{reference} is no server with a sampling of its own",
            expected="decoding.temperature of 0 to 2",
            got=options.decoding.temperature,
        )
    load_libraries()
    checkpoint = open_checkpoint(reference, options.loading, request.progress)
    loaded = load_model(
        checkpoint,
        request,
        processor_class="AutoProcessor",
        model_class="AutoModelForMultimodalLM",
        check_processor=_check_template,
        trust_remote_code=checkpoint.runs_code,
    )
    loaded.model.generation_config = _generation(loaded, options.decoding)
    entry = reference.entry
    version = decoding_version(checkpoint.revision, prompt, options.decoding)
    info = SubjectInfo(
        name=reference.text,
        version=f"{version}-{str(loaded.model.dtype).removeprefix('torch.')}",
        description=f"{checkpoint.family} with {checkpoint.size.parameters / 1e9:.3g} billion parameters",
        views=entry.views if entry is not None else (View.TOP,),
        any_view=entry.any_view if entry is not None else True,
    )
    return info, loaded


class TransformersVlm:
    """A multimodal language model and its processor.

    Args:
        info: Description of the subject.
        loaded: Model and processor.
        decoding: How words are chosen.
        prompt: Template of the question.
    """

    def __init__(
        self, info: SubjectInfo, loaded: LoadedModel, decoding: DecodingOptions, prompt: str
    ) -> None:
        self.info = info
        self._torch, self._model, self._processor = loaded.torch, loaded.model, loaded.processor
        self._decoding = decoding
        self._prompt = prompt

    def answer(self, frame: Frame, task: str) -> str:
        """Answer a task about an image in about ten words."""
        return self.answer_batch([(frame, task)])[0]

    def answer_batch(self, questions: Sequence[Question]) -> list[str]:
        """Answer questions in batches; with sampling, one at a time."""
        size = 1 if self._decoding.temperature > 0 else self._decoding.batch
        parts = [questions[start : start + size] for start in range(0, len(questions), size)]
        return [text for part in parts for text in self._answer_together(part)]

    def features(self, frame: Frame) -> NDArray[np.float32]:
        """Return the ``(tokens, C)`` output of the vision tower."""
        inputs = self._inputs([(frame, _NO_TASK)])
        with self._torch.inference_mode():
            return tower_features(self._model, self.info.name, lambda: self._model(**inputs))

    def _answer_together(self, questions: Sequence[Question]) -> list[str]:
        inputs = self._inputs(questions)
        seeded = self._seeded(questions[0]) if self._decoding.temperature > 0 else nullcontext()
        with self._torch.inference_mode(), seeded:
            output = self._model.generate(**inputs)
        words = output[:, inputs["input_ids"].shape[1] :]
        decoded = self._processor.batch_decode(words, skip_special_tokens=True)
        return [tidy(text) for text in decoded]

    def _inputs(self, questions: Sequence[Question]) -> Any:
        fromarray = load("PIL.Image:fromarray", INSTALL_MODELS)
        conversations = [
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "image", "image": fromarray(np.ascontiguousarray(frame.rgb))},
                        {"type": "text", "text": prompt_of(self._prompt, task, self._decoding.words)},
                    ],
                }
            ]
            for frame, task in questions
        ]
        inputs = self._processor.apply_chat_template(
            conversations,
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
            processor_kwargs={"padding": len(questions) > 1, "padding_side": "left"},
            sanitize_control_tokens=True,
        )
        return inputs.to(self._model.device, dtype=self._model.dtype)

    def _seeded(self, question: Question) -> Any:
        """Sample from the seed and the question alone: the order of questions does not matter."""
        frame, task = question
        digest = hashlib.sha256(f"{self._decoding.seed} {frame.rgb.shape} {task}".encode())
        digest.update(frame.rgb.tobytes())
        number = int.from_bytes(digest.digest()[:_SEED_BYTES], "little")
        return Seeded(self._torch, self._model.device, number)


class Seeded:
    """Seeds torch inside the block and restores its random state afterwards."""

    def __init__(self, torch: Any, device: Any, seed: int) -> None:
        self._torch, self._seed = torch, seed
        devices = [device] if device.type == "cuda" else []
        self._fork = torch.random.fork_rng(devices=devices)

    def __enter__(self) -> None:
        self._fork.__enter__()
        self._torch.manual_seed(self._seed)

    def __exit__(self, *reason: object) -> None:
        self._fork.__exit__(*reason)


def _check_template(processor: Any, folder: Path) -> None:
    """Set the processor's chat template, if only the tokenizer or the folder has one.

    Raises:
        InputError: There is none: the prompt format of the training is unknown.
    """
    if getattr(processor, "chat_template", None):
        return
    template = getattr(getattr(processor, "tokenizer", None), "chat_template", None)
    file = folder / "chat_template.jinja"
    if not template and file.is_file() and file.stat().st_size <= _MOST_TEMPLATE_BYTES:
        template = file.read_text(encoding="utf-8")
    if not template:
        raise InputError(
            f"{folder} has no chat template", expected="chat_template.jinja: an instructed model"
        )
    processor.chat_template = template


def _generation(loaded: LoadedModel, decoding: DecodingOptions) -> Any:
    """Return the generation options: the special tokens of the checkpoint, everything else of ours."""
    own = loaded.model.generation_config
    tokens = {name: getattr(own, name, None) for name in _TOKENS}
    if tokens["pad_token_id"] is None:
        eos = tokens["eos_token_id"]
        tokens["pad_token_id"] = eos[0] if isinstance(eos, list) else eos
    sampling: dict[str, object] = {"do_sample": False}
    if decoding.temperature > 0:
        sampling = {"do_sample": True, "temperature": decoding.temperature, "top_k": 0, "top_p": 1.0}
    return loaded.transformers.GenerationConfig(max_new_tokens=decoding.max_new_tokens, **tokens, **sampling)
