"""Loads a model and its processor with transformers, if its weights are complete and fit into memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embodied_iqa.base.errors import InputError
from embodied_iqa.models.subjects.checkpoints import Checkpoint
from embodied_iqa.models.subjects.device import (
    check_fits,
    choose_device,
    choose_dtype,
    free_on,
    load_library,
    needed_bytes,
)
from embodied_iqa.models.subjects.subject_options import LoadingOptions, VlaRequest, VlmRequest


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model that is ready.

    Attributes:
        torch: The library.
        transformers: The library.
        model: In evaluation mode, on its device.
        processor: The model's own: chat template, tokenizer, images.
    """

    torch: Any
    transformers: Any
    model: Any
    processor: Any


def load_libraries() -> tuple[Any, Any]:
    """Import torch, torchvision and transformers; return the first and the last.

    Raises:
        MissingDependencyError: One is missing or does not match the others.
    """
    torch = load_library("torch")
    load_library("torchvision")
    transformers = load_library("transformers")
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return torch, transformers


def load_model(
    checkpoint: Checkpoint,
    request: VlmRequest | VlaRequest,
    *,
    processor_class: str,
    model_class: str,
    check_processor: Callable[[Any, Path], None] = lambda _processor, _folder: None,
    **options: Any,
) -> LoadedModel:
    """Read a checkpoint into memory, with classes of transformers.

    Args:
        checkpoint: The checkpoint.
        request: Reference and options.
        processor_class: Its name.
        model_class: Its name.
        check_processor: Called before the weights are read.
        options: Further arguments of ``from_pretrained``.

    Raises:
        InputError: It does not fit, or is not complete.
    """
    torch, transformers = load_libraries()
    folder, name = checkpoint.folder, request.reference.text
    device, dtype = _find_room(torch, checkpoint, request.options.loading, name)
    began = time.monotonic()
    request.progress(f"reading {checkpoint.size.stored_bytes / 1e9:.2f} GB of weights for {name}")
    options["local_files_only"] = True
    processor = getattr(transformers, processor_class).from_pretrained(folder, **options)
    check_processor(processor, folder)
    model, report = getattr(transformers, model_class).from_pretrained(
        folder, dtype=dtype or "auto", use_safetensors=True, output_loading_info=True, **options
    )
    _check_whole(report, folder)
    loaded = LoadedModel(torch, transformers, model.to(device).eval(), processor)
    request.progress(f"{name} is ready on {device} after {time.monotonic() - began:.1f} s")
    return loaded


def _find_room(
    torch: Any, checkpoint: Checkpoint, loading: LoadingOptions, name: str
) -> tuple[Any, Any | None]:
    """Return device and number type of a model; the type is None for the checkpoint's own.

    Raises:
        InputError: It does not fit into the memory there.
    """
    device = choose_device(torch, loading.device)
    dtype = choose_dtype(torch, loading.precision, device)
    needed = needed_bytes(checkpoint.size, None if dtype is None else int(dtype.itemsize))
    check_fits(name, needed, free_on(torch, device), loading.memory_share)
    return device, dtype


def _check_whole(report: Any, folder: Path) -> None:
    """Refuse weights of another model: transformers would fill missing ones with random numbers.

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
