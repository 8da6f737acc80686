"""torch, where it computes and with which numbers."""

from __future__ import annotations

from typing import Any, Final

from embodied_iqa.errors import InputError, MissingDependencyError
from embodied_iqa.lazy import load
from embodied_iqa.subjects.memory import FreeMemory, free_on_accelerator
from embodied_iqa.subjects.options import Device, Precision
from embodied_iqa.subjects.repositories import INSTALL_MODELS

__all__ = ["bytes_a_number", "choose_device", "choose_dtype", "free_on", "load_library"]

_UNFIT_TORCHVISION: Final = "operator torchvision::"


def load_library(name: str) -> Any:
    """Import one of the large optional libraries: torch, torchvision, transformers.

    Raises:
        MissingDependencyError: It is not installed, or does not go with the others.
    """
    try:
        return load(name, INSTALL_MODELS)
    except MissingDependencyError as error:
        if _UNFIT_TORCHVISION not in str(error):
            raise
        raise MissingDependencyError(
            f"{name} cannot be loaded: it was built for another torch",
            expected=f"torch and torchvision of one kind: {INSTALL_MODELS}",
        ) from error


def choose_device(torch: Any, wanted: Device) -> Any:
    """Return the device to compute on.

    Raises:
        InputError: The wanted one is not there.
    """
    if wanted is Device.CPU:
        return torch.device("cpu")
    cuda = [torch.device("cuda", number) for number in range(torch.cuda.device_count())]
    has_mps = bool(torch.backends.mps.is_available())
    if cuda and wanted is not Device.MPS:
        return max(cuda, key=lambda device: free_on(torch, device).free_bytes)
    if has_mps and wanted is not Device.CUDA:
        return torch.device("mps")
    if wanted is Device.AUTO:
        return torch.device("cpu")
    raise InputError(f"there is no {wanted} device that torch can use", expected="loading.device auto or cpu")


def choose_dtype(torch: Any, wanted: Precision, device: Any) -> Any | None:
    """Return the numbers to compute with, or None for as stored."""
    if wanted is not Precision.AUTO:
        return getattr(torch, wanted.value)
    if device.type == "cpu":
        return None
    if device.type == "cuda" and not torch.cuda.is_bf16_supported():
        return torch.float16
    return torch.bfloat16


def bytes_a_number(dtype: Any | None) -> int | None:
    """Return the size of a number, or None for as stored."""
    return None if dtype is None else int(dtype.itemsize)


def free_on(torch: Any, device: Any) -> FreeMemory:
    """Return the memory that is free on a device."""
    return free_on_accelerator(torch, device)
