"""Does a subject run here? What is there is looked at; nothing is loaded, fetched or sent."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from functools import cache
from typing import Final
from urllib.parse import urlsplit

from embodied_iqa.errors import EmbodiedIqaError, UserError
from embodied_iqa.subjects.catalogue import Backend, find_entry
from embodied_iqa.subjects.checkpoints import open_checkpoint
from embodied_iqa.subjects.memory import FreeMemory, free_on_machine, needed_bytes
from embodied_iqa.subjects.options import Device, LoadingOptions, silent
from embodied_iqa.subjects.reference import LOCATIONS, SubjectReference, parse_reference, role_of
from embodied_iqa.subjects.registry import BACKENDS
from embodied_iqa.subjects.repositories import NotFetchedError
from embodied_iqa.subjects.torch_device import choose_device, free_on, load_library
from embodied_iqa.user_code import load_factory

__all__ = ["Readiness", "check_readiness"]

_FETCH: Final = "NAME@COMMIT with loading.allow_network, or NAME=transformers:FOLDER"
_CONNECT_S: Final = 2.0
_SLOW_ON_PROCESSOR_M: Final = 1000
_LIBRARIES: Final = ("torch", "torchvision", "transformers")


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether a subject runs here.

    Attributes:
        name: As it was asked for.
        role: VLM or VLA; empty where the reference could not be understood.
        lacks: What is missing, with the way out; empty where it runs.
        remarks: What else to expect.
    """

    name: str
    role: str
    lacks: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @property
    def is_ready(self) -> bool:
        """Nothing is missing."""
        return not self.lacks


def check_readiness(text: str) -> Readiness:
    """Say what a subject lacks to run here.

    Args:
        text: A reference, see `subjects.reference`.

    Raises:
        UsageError: The catalogue has no subject of this name.
    """
    text = text.strip()
    role = role_of(text)
    name, _, place = text.partition("=")
    entry = find_entry(name)
    if entry is not None and entry.server and not entry.is_api and not place:
        return Readiness(text, role, (f"a server ({entry.server}); then {name}={LOCATIONS[entry.backend]}",))
    try:
        reference = parse_reference(text, role)
    except UserError as error:
        return Readiness(text, role, (str(error),))
    if reference.backend in {Backend.EMBEDDED, Backend.PANEL}:
        return Readiness(text, role, ())
    if reference.backend is Backend.PYTHON:
        return Readiness(text, role, tuple(_factory_lacks(reference.target)))
    if reference.backend not in BACKENDS[role]:
        return Readiness(text, role, (f"no {role.upper()} runs on {reference.backend} in this version",))
    if reference.backend is Backend.TRANSFORMERS:
        return _checkpoint(reference)
    return Readiness(text, role, tuple(_server_lacks(reference)))


def _factory_lacks(target: str) -> list[str]:
    try:
        load_factory(target)
    except UserError as error:
        return [str(error)]
    return []


def _checkpoint(reference: SubjectReference) -> Readiness:
    lacks = list(_libraries_lack())
    place = free_on_machine() if lacks else _place()
    needed, millions, problem = _weights(reference)
    if problem:
        lacks.append(problem)
    if needed > LoadingOptions().memory_share * place.free_bytes:
        lacks.append(
            f"{needed / 1e9:.1f} GB of memory; {place.free_bytes / 1e9:.1f} GB free on {place.place}"
        )
    slow = place.place == free_on_machine().place and millions > _SLOW_ON_PROCESSOR_M
    remarks = ("without an accelerator an answer takes minutes",) if slow else ()
    return Readiness(reference.text, reference.role, tuple(lacks), remarks)


def _weights(reference: SubjectReference) -> tuple[int, float, str]:
    """Return the memory that is needed [byte], the parameters in millions, and what keeps it from loading."""
    entry = reference.entry
    try:
        found = open_checkpoint(reference, LoadingOptions(), silent)
    except EmbodiedIqaError as error:
        needed = round(1e9 * ((entry.needed_gb if entry is not None else None) or 0.0))
        millions = (entry.parameters_m if entry is not None else None) or 0.0
        fetchable = isinstance(error, NotFetchedError) and entry is not None
        words = (
            f"weights ({entry.weights_gb} GB): {_FETCH}" if fetchable and entry is not None else str(error)
        )
        return needed, millions, words
    return needed_bytes(found.size, None), found.size.parameters / 1e6, ""


@cache
def _libraries_lack() -> tuple[str, ...]:
    for name in _LIBRARIES:
        try:
            load_library(name)
        except EmbodiedIqaError as error:
            return (str(error),)
    return ()


def _place() -> FreeMemory:
    torch = load_library("torch")
    return free_on(torch, choose_device(torch, Device.AUTO))


def _server_lacks(reference: SubjectReference) -> list[str]:
    entry = reference.entry
    if entry is not None and entry.is_api and reference.target == entry.url:
        consent = f"consent to send pictures to {reference.target}: loading.allow_network"
        if os.environ.get(entry.key_env, "").strip():
            return [consent]
        return [consent, f"a key in the environment variable {entry.key_env}"]
    parts = urlsplit(reference.target)
    port = parts.port or (443 if parts.scheme in {"https", "openpi+wss"} else 80)
    try:
        with socket.create_connection((parts.hostname or "", port), timeout=_CONNECT_S):
            return []
    except OSError as error:
        return [f"no server on {parts.hostname}:{port}: {error.strerror or error}"]
