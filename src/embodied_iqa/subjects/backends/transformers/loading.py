"""Loads a multimodal model and its processor with transformers: looked through, measured, then read."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from embodied_iqa.errors import InputError
from embodied_iqa.subjects.checkpoints import Checkpoint
from embodied_iqa.subjects.memory import check_fits, needed_bytes
from embodied_iqa.subjects.options import DecodingOptions, LoadingOptions, VlmRequest
from embodied_iqa.subjects.torch_device import (
    bytes_a_number,
    choose_device,
    choose_dtype,
    free_on,
    load_library,
)

__all__ = ["Libraries", "LoadedModel", "check_whole", "find_room", "load_libraries", "load_model"]

_MOST_TEMPLATE_BYTES: Final = 1_000_000
_TOKENS: Final = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id")


@dataclass(frozen=True, slots=True)
class Libraries:
    """The optional libraries, imported."""

    torch: Any
    transformers: Any


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model that is ready.

    Attributes:
        torch: The library.
        model: In evaluation mode, on its device.
        processor: The model's own: chat template, tokenizer, pictures.
    """

    torch: Any
    model: Any
    processor: Any


def load_libraries() -> Libraries:
    """Import torch, torchvision and transformers.

    Raises:
        MissingDependencyError: One is missing or does not go with the others.
    """
    torch = load_library("torch")
    load_library("torchvision")
    transformers = load_library("transformers")
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return Libraries(torch, transformers)


def load_model(libraries: Libraries, checkpoint: Checkpoint, request: VlmRequest) -> LoadedModel:
    """Read a checkpoint into memory.

    Raises:
        InputError: It does not fit, or is not whole.
    """
    torch, transformers = libraries.torch, libraries.transformers
    loading, name = request.options.loading, request.reference.text
    device, dtype = find_room(torch, checkpoint, loading, name)
    began = time.monotonic()
    request.progress(f"reads {checkpoint.size.stored_bytes / 1e9:.2f} GB of weights for {name}")
    common = {"local_files_only": True, "trust_remote_code": checkpoint.runs_code}
    processor = transformers.AutoProcessor.from_pretrained(checkpoint.folder, **common)
    _check_template(processor, checkpoint.folder)
    model, report = transformers.AutoModelForMultimodalLM.from_pretrained(
        checkpoint.folder, dtype=dtype or "auto", use_safetensors=True, output_loading_info=True, **common
    )
    check_whole(report, checkpoint.folder)
    model = model.to(device).eval()
    model.generation_config = _generation(transformers, model, request.options.decoding)
    request.progress(f"{name} is ready on {device} after {time.monotonic() - began:.1f} s")
    return LoadedModel(torch, model, processor)


def find_room(
    torch: Any, checkpoint: Checkpoint, loading: LoadingOptions, name: str
) -> tuple[Any, Any | None]:
    """Choose device and number type of a model; the type is None where the checkpoint's own is kept.

    Raises:
        InputError: It does not fit into the memory there.
    """
    device = choose_device(torch, loading.device)
    dtype = choose_dtype(torch, loading.precision, device)
    needed = needed_bytes(checkpoint.size, bytes_a_number(dtype))
    check_fits(name, needed, free_on(torch, device), loading.memory_share)
    return device, dtype


def _check_template(processor: Any, folder: Path) -> None:
    """Give the processor a chat template where only the folder has one.

    Raises:
        InputError: There is none: what the model was trained to be asked is unknown.
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


def check_whole(report: Any, folder: Path) -> None:
    """Refuse weights of another model: transformers would fill what is missing with random numbers.

    Raises:
        InputError: Weights are missing or have other shapes.
    """
    for word in ("missing_keys", "mismatched_keys", "error_msgs"):
        found = sorted(map(str, report.get(word) or ()))
        if found:
            raise InputError(
                f"the weights in {folder} are not those of its config.json ({word.replace('_', ' ')})",
                got=f"{found[0]} and {len(found) - 1} more" if len(found) > 1 else found[0],
            )


def _generation(transformers: Any, model: Any, decoding: DecodingOptions) -> Any:
    """Return how words are chosen: from the checkpoint only its special tokens, all else is ours."""
    own = model.generation_config
    tokens = {name: getattr(own, name, None) for name in _TOKENS}
    if tokens["pad_token_id"] is None:
        eos = tokens["eos_token_id"]
        tokens["pad_token_id"] = eos[0] if isinstance(eos, list) else eos
    sampling: dict[str, object] = {"do_sample": False}
    if decoding.temperature > 0:
        sampling = {"do_sample": True, "temperature": decoding.temperature, "top_k": 0, "top_p": 1.0}
    return transformers.GenerationConfig(max_new_tokens=decoding.max_new_tokens, **tokens, **sampling)
