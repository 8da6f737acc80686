"""Whether a subject runs on this machine; no model is loaded, nothing is fetched, and no image is sent."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from embodied_iqa.base.errors import EmbodiedIqaError, UserError
from embodied_iqa.base.user_code import load_factory
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.catalogue import Backend, Role, find_entry
from embodied_iqa.models.subjects.checkpoints import open_checkpoint
from embodied_iqa.models.subjects.device import (
    FreeMemory,
    choose_device,
    free_on,
    free_on_machine,
    load_library,
    needed_bytes,
)
from embodied_iqa.models.subjects.optional_vlm import shown_view
from embodied_iqa.models.subjects.reference import (
    LOCATIONS,
    SubjectReference,
    parse_reference,
    role_of,
)
from embodied_iqa.models.subjects.registry import check_backend, make_planner, make_vla, make_vlm
from embodied_iqa.models.subjects.repositories import NotFetchedError
from embodied_iqa.models.subjects.subject_options import (
    CacheOptions,
    Device,
    LoadingOptions,
    ServerOptions,
    VlaOptions,
    VlmOptions,
    silent,
)
from embodied_iqa.models.subjects.wire.openvla import OpenVlaClient
from embodied_iqa.models.subjects.wire.policy_client import WireLimits
from embodied_iqa.models.subjects.wire.sockets import Address
from embodied_iqa.world.protocols import close_subject

_FETCH: Final = "NAME@COMMIT with loading.allow_network, or NAME=transformers:FOLDER"
_CONNECT_S: Final = 2.0
_ANSWER_S: Final = 5.0
_SLOW_ON_PROCESSOR_M: Final = 1000
_MADE: Final = {Backend.PYTHON, Backend.OPENPI, Backend.OPENVLA_HTTP}
_LIBRARIES: Final = ("torch", "torchvision", "transformers")


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether a subject runs here.

    Attributes:
        name: The reference.
        role: VLM or VLA.
        lacks: What is missing, with the fix; empty if it runs.
        remarks: Further remarks.
    """

    name: str
    role: Role
    lacks: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @property
    def is_ready(self) -> bool:
        """Whether nothing is missing."""
        return not self.lacks


def check_readiness(text: str, options: VlaOptions | VlmOptions | None = None) -> Readiness:
    """Return what a subject needs to run here.

    Args:
        text: The reference.
        options: Of a trial, for a subject behind a server; None for the defaults.

    Raises:
        UsageError: ``text`` is not a reference, or the catalogue has no subject of this name.
    """
    text = text.strip()
    role = role_of(text)
    name, _, location = text.partition("=")
    entry = find_entry(name)
    if entry is not None and entry.server and not entry.is_api and not location:
        return Readiness(text, role, (f"a server ({entry.server}); then {name}={LOCATIONS[entry.backend]}",))
    try:
        reference = parse_reference(text, role)
        check_backend(reference)
        if reference.backend is Backend.PYTHON:
            load_factory(reference.target)
    except UserError as error:
        return Readiness(text, role, (str(error),))
    if reference.parts:
        found = [check_readiness(part.text, options) for part in reference.parts]
        lacks = tuple(f"{one.name}: {what}" for one in found for what in one.lacks)
        return Readiness(text, role, lacks, tuple(remark for one in found for remark in one.remarks))
    if reference.backend in {Backend.EMBEDDED, Backend.PANEL, Backend.PYTHON}:
        return Readiness(text, role, ())
    if reference.backend is Backend.TRANSFORMERS:
        return _checkpoint(reference)
    return Readiness(text, role, tuple(_server_lacks(reference, options)))


def declared_views(policy: SubjectReference, options: VlaOptions) -> tuple[View, ...]:
    """Return the cameras of a policy; empty where they are not known before it is loaded.

    A policy of the user's own is made, and one behind a server is reached, as in a trial; no image is sent.

    Args:
        policy: Which one; it is ready, see `check_readiness`.
        options: Of a trial.

    Raises:
        UserError: It cannot be made or reached with these options.
    """
    if policy.parts:
        found = [declared_views(part, options) for part in policy.parts]
        return tuple(dict.fromkeys(view for views in found for view in views)) if all(found) else ()
    if policy.backend in _MADE:
        server = replace(options.server, connect_s=_CONNECT_S, deadline_s=_ANSWER_S, retries=0)
        vla = make_vla(policy, replace(options, server=server))
        close_subject(vla)
        return vla.info.views
    if policy.backend is Backend.TRANSFORMERS:
        return options.policy.named_views or (policy.entry.views if policy.entry is not None else ())
    return policy.entry.views if policy.entry is not None else ()


def shown_camera(vlm: SubjectReference, options: VlmOptions, cameras: Sequence[str]) -> View | None:
    """Return the camera whose images a VLM is shown in a trial; None where its info is not known.

    A VLM of the user's own is made, as in a trial.

    Args:
        vlm: Which one; it is ready, see `check_readiness`.
        options: Of a trial.
        cameras: Of the cell.

    Raises:
        UserError: It cannot be made, or lists no view.
    """
    if vlm.backend is Backend.PYTHON:
        made = make_vlm(vlm, options)
        close_subject(made)
        return made.info.shown_view(cameras)
    return shown_view(vlm, cameras)


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
    """Return the needed memory [byte], the parameters in millions, and what prevents loading."""
    entry = reference.entry
    try:
        size = open_checkpoint(reference, LoadingOptions(), silent).size
    except EmbodiedIqaError as error:
        if entry is None:
            return 0, 0.0, str(error)
        fetchable = isinstance(error, NotFetchedError)
        problem = f"weights ({entry.weights_gb} GB): {_FETCH}" if fetchable else str(error)
        return round(1e9 * (entry.needed_gb or 0.0)), entry.parameters_m or 0.0, problem
    return needed_bytes(size, None), size.parameters / 1e6, ""


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


def _server_lacks(reference: SubjectReference, options: VlaOptions | VlmOptions | None) -> list[str]:
    entry = reference.entry
    if entry is not None and entry.is_api and reference.target == entry.url:
        consent = f"consent to send images to {reference.target}: loading.allow_network"
        lacks = [] if options is not None and options.loading.allow_network else [consent]
        if os.environ.get(entry.key_env, "").strip():
            return lacks
        return [*lacks, f"a key in the environment variable {entry.key_env}"]
    address, _ = Address.of(reference.target)
    try:
        socket.create_connection((address.host, address.port), timeout=_CONNECT_S).close()
    except OSError as error:
        return [f"no server on {address}: {error.strerror or error}"]
    try:
        close_subject(_reached(reference, options))
        if reference.backend is Backend.OPENVLA_HTTP:
            _check_path(reference)
    except UserError as error:
        return [str(error)]
    return []


def _reached(reference: SubjectReference, options: VlaOptions | VlmOptions | None) -> object:
    """Return a subject behind a server, with the handshake that loading does.

    Raises:
        UserError: The server is another one, or lacks the model.
    """
    given = ServerOptions() if options is None else options.server
    server = replace(given, connect_s=_CONNECT_S, deadline_s=_ANSWER_S, retries=0)
    if reference.role is Role.VLA:
        vla = options if isinstance(options, VlaOptions) else VlaOptions()
        return make_vla(reference, replace(vla, server=server))
    vlm = options if isinstance(options, VlmOptions) else VlmOptions()
    make = make_planner if reference.role is Role.PLANNER else make_vlm
    return make(reference, replace(vlm, server=server, cache=CacheOptions(enabled=False)))


def _check_path(reference: SubjectReference) -> None:
    """Ask an OpenVLA server, whose protocol has no handshake, for its path, without a question."""
    address, path = Address.of(reference.target)
    limits = WireLimits(_CONNECT_S, _ANSWER_S, ServerOptions().max_answer_bytes)
    OpenVlaClient(address, path, limits).check(_ANSWER_S)
