"""Compute device, number type and memory of a model: whether it fits, before its weights are read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from embodied_iqa.base.errors import InputError, MissingDependencyError
from embodied_iqa.base.lazy import load
from embodied_iqa.models.subjects.repositories import INSTALL_MODELS
from embodied_iqa.models.subjects.safetensors_header import WeightsSize
from embodied_iqa.models.subjects.subject_options import Device, Precision

_UNFIT_TORCHVISION: Final = "operator torchvision::"
_WORK_SHARE: Final = 0.15
"""Activations, image tokens and the cache of keys and values, as a share of the weights."""
_WORK_FLOOR_BYTES: Final = 256_000_000
_CGROUP: Final = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class FreeMemory:
    """Memory of a device.

    Attributes:
        place: Name for messages.
        free_bytes: Unused memory [byte].
        total_bytes: All memory [byte].
    """

    place: str
    free_bytes: int
    total_bytes: int


def load_library(name: str) -> Any:
    """Import torch, torchvision or transformers.

    Raises:
        MissingDependencyError: It is not installed, or built for other versions.
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
        InputError: The wanted one does not exist.
    """
    if wanted is Device.CPU:
        return torch.device("cpu")
    cuda = [torch.device("cuda", number) for number in range(torch.cuda.device_count())]
    if cuda and wanted is not Device.MPS:
        return max(cuda, key=lambda device: free_on(torch, device).free_bytes)
    if torch.backends.mps.is_available() and wanted is not Device.CUDA:
        return torch.device("mps")
    if wanted is Device.AUTO:
        return torch.device("cpu")
    raise InputError(f"torch finds no {wanted} device", expected="loading.device auto or cpu")


def choose_dtype(torch: Any, wanted: Precision, device: Any) -> Any | None:
    """Return the number type to compute with; None for as stored."""
    if wanted is not Precision.AUTO:
        return getattr(torch, wanted.value)
    if device.type == "cpu":
        return None
    if device.type == "cuda" and not torch.cuda.is_bf16_supported():
        return torch.float16
    return torch.bfloat16


def needed_bytes(size: WeightsSize, number_bytes: int | None) -> int:
    """Estimate the memory of a model.

    Args:
        size: Size of its weights.
        number_bytes: Size of a number that it computes with; None for as stored.
    """
    weights = size.stored_bytes if number_bytes is None else number_bytes * size.parameters
    return weights + max(_WORK_FLOOR_BYTES, round(_WORK_SHARE * weights))


def check_fits(what: str, needed: int, free: FreeMemory, share: float) -> None:
    """Refuse a model that needs more than ``share`` of the free memory.

    Raises:
        InputError: It does.
    """
    if needed > share * free.free_bytes:
        raise InputError(
            f"{what} does not fit on {free.place}",
            expected=f"{needed / 1e9:.1f} GB free; a smaller model, loading.precision float16, another "
            "loading.device, or a server (openai:http://HOST:PORT/v1#MODEL)",
            got=f"{free.free_bytes / 1e9:.1f} of {free.total_bytes / 1e9:.1f} GB free, of which "
            f"{share:.0%} may be taken (loading.memory_share)",
        )


def free_on(torch: Any, device: Any) -> FreeMemory:
    """Return the free memory of a device."""
    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info(device)
        return FreeMemory(f"{device} ({torch.cuda.get_device_name(device)})", free, total)
    return free_on_machine()


def free_on_machine(files: Path = Path("/proc/meminfo"), cgroup: Path = _CGROUP) -> FreeMemory:
    """Return the free main memory, within the limits of a container."""
    total, free = _of_system(files)
    limit, used = _number(cgroup / "memory.max"), _number(cgroup / "memory.current")
    if limit is not None and used is not None and limit < total:
        total, free = limit, min(free, limit - used)
    return FreeMemory("the processor", max(0, free), total)


def _of_system(file: Path) -> tuple[int, int]:
    try:
        lines = (line.split() for line in file.read_text(encoding="ascii").splitlines())
        table = {words[0].rstrip(":"): 1024 * int(words[1]) for words in lines if len(words) > 1}
        return table["MemTotal"], table["MemAvailable"]
    except (OSError, KeyError, ValueError):
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return total, total


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):  # without a limit the file holds a word, "max"
        return None
