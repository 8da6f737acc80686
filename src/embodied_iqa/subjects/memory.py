"""Will it fit? An estimate of what a model takes, against what is free, before weights are read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from embodied_iqa.errors import InputError
from embodied_iqa.subjects.safetensors_header import WeightsSize

__all__ = ["FreeMemory", "check_fits", "free_on_machine", "needed_bytes"]

_WORK_SHARE: Final = 0.15
"""Activations, picture tokens and the cache of keys and values, as a part of the weights."""
_WORK_FLOOR_BYTES: Final = 256_000_000
_CGROUP: Final = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class FreeMemory:
    """Memory of the place where a model is to compute.

    Attributes:
        place: Its name, for people.
        free_bytes: What nobody uses now.
        total_bytes: What there is.
    """

    place: str
    free_bytes: int
    total_bytes: int


def needed_bytes(size: WeightsSize, bytes_a_number: int | None) -> int:
    """Estimate what a model takes.

    Args:
        size: Of its weights.
        bytes_a_number: In which it computes; None for as stored.
    """
    weights = size.stored_bytes if bytes_a_number is None else bytes_a_number * size.parameters
    return weights + max(_WORK_FLOOR_BYTES, round(_WORK_SHARE * weights))


def check_fits(what: str, needed: int, free: FreeMemory, share: float) -> None:
    """Refuse a model that would not fit.

    Raises:
        InputError: It needs more than ``share`` of what is free.
    """
    if needed > share * free.free_bytes:
        raise InputError(
            f"{what} does not fit on {free.place}",
            expected=f"{needed / 1e9:.1f} GB free; a smaller model, loading.precision float16, another "
            "loading.device, or a server (openai:http://HOST:PORT/v1#MODEL)",
            got=f"{free.free_bytes / 1e9:.1f} of {free.total_bytes / 1e9:.1f} GB free, of which "
            f"{share:.0%} may be taken (loading.memory_share)",
        )


def free_on_machine(files: Path = Path("/proc/meminfo"), cgroup: Path = _CGROUP) -> FreeMemory:
    """Return the main memory that is free, within the limits of a container."""
    total, free = _of_system(files)
    limit, used = _number(cgroup / "memory.max"), _number(cgroup / "memory.current")
    if limit is not None and used is not None and limit < total:
        total, free = limit, min(free, limit - used)
    return FreeMemory("the processor", max(0, free), total)


def free_on_accelerator(torch: Any, device: Any) -> FreeMemory:
    """Return the memory that is free on an accelerator."""
    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info(device)
        return FreeMemory(f"{device} ({torch.cuda.get_device_name(device)})", free, total)
    return free_on_machine()


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
    except (OSError, ValueError):  # there is no limit: the word is "max"
        return None
