"""From a reference to a subject. A back end is imported only when one of its subjects is made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, cast

from embodied_iqa.base.errors import EmbodiedIqaError, InputError, UsageError, first_line
from embodied_iqa.base.lazy import load
from embodied_iqa.base.user_folders import cache_folder
from embodied_iqa.models.subjects.answer_cache import AnswerCache, CachedVlm
from embodied_iqa.models.subjects.catalogue import Backend, Role
from embodied_iqa.models.subjects.planner_cache import CachedPlanner
from embodied_iqa.models.subjects.reference import SubjectReference
from embodied_iqa.models.subjects.subject_options import (
    Acts,
    DecodingOptions,
    Progress,
    ServerOptions,
    VlaOptions,
    VlaRequest,
    VlmOptions,
    VlmRequest,
    silent,
)
from embodied_iqa.world.protocols import Planner, SubjectInfo, Vla, Vlm, close_subject

_BACKENDS: Final = "embodied_iqa.models.subjects.backends"
BACKENDS: Final[dict[Role, dict[Backend, str]]] = {
    Role.VLM: {
        Backend.TRANSFORMERS: f"{_BACKENDS}.transformers.vlm:make",
        Backend.OPENAI: f"{_BACKENDS}.openai:make",
        Backend.PANEL: f"{_BACKENDS}.panel.shipped_members:make_vlm",
        Backend.PYTHON: f"{_BACKENDS}.python:make",
    },
    Role.VLA: {
        Backend.TRANSFORMERS: f"{_BACKENDS}.transformers.vla:make",
        Backend.OPENPI: f"{_BACKENDS}.openpi:OpenPiVla",
        Backend.OPENVLA_HTTP: f"{_BACKENDS}.openvla:OpenVlaHttp",
        Backend.PANEL: f"{_BACKENDS}.panel.shipped_members:make_vla",
        Backend.PYTHON: f"{_BACKENDS}.python:make",
        Backend.ALTERNATIVES: f"{_BACKENDS}.alternatives:make",
    },
    Role.PLANNER: {
        Backend.TRANSFORMERS: f"{_BACKENDS}.transformers.planner:make",
        Backend.OPENAI: f"{_BACKENDS}.openai_planner:make",
        Backend.PYTHON: f"{_BACKENDS}.python:make",
    },
}
"""``module:factory`` of each back end; the factory makes a `Vlm` or a `Planner` of a `VlmRequest`, or a `Vla`
of a `VlaRequest`, loaded and ready. Embedded subjects have theirs in the catalogue."""

PLANNER_OPTIONS: Final = VlmOptions(
    server=ServerOptions(deadline_s=300.0), decoding=DecodingOptions(max_new_tokens=2048)
)
"""Greedy decoding and 2,048 new tokens, as in the protocol of EmbodiedBench."""

_UNCACHED: Final = frozenset({Backend.EMBEDDED, Backend.PANEL, Backend.PYTHON})
"""Fast, or without a version that is known to change with the answers."""


def single_policy(reference: SubjectReference) -> SubjectReference:
    """Return a reference that is not ``A or B``.

    Whose turn it is follows from the gate's verdicts in a run. Elsewhere a question has the images of all
    cameras, and A would always decide.

    Raises:
        UsageError: It is ``A or B``.
    """
    if reference.parts:
        raise UsageError("policies take turns in runs only", expected="one of them", got=reference.text)
    return reference


def make_vlm(
    reference: SubjectReference,
    options: VlmOptions | None = None,
    progress: Progress = silent,
    prompt: str = "",
) -> Vlm:
    """Make a vision-language model, loaded and ready.

    Args:
        reference: Of a VLM.
        options: How it is loaded, reached and queried.
        progress: Takes lines that report how far loading is.
        prompt: Template of its questions, see `subjects.prompt`; empty for that of the catalogue.

    Raises:
        UserError: It cannot be loaded or reached.
    """
    request = VlmRequest(reference, options or VlmOptions(), progress, prompt)
    vlm = cast("Vlm", _make(reference, Role.VLM, request))
    cache = _cache(reference, request.options)
    return vlm if cache is None else CachedVlm(vlm, cache)


def make_planner(
    reference: SubjectReference, options: VlmOptions = PLANNER_OPTIONS, progress: Progress = silent
) -> Planner:
    """Make a planner, loaded and ready.

    Args:
        reference: Of a planner.
        options: How it is loaded, reached and queried.
        progress: Takes lines that report how far loading is.

    Raises:
        UserError: It cannot be loaded or reached.
    """
    planner = cast("Planner", _make(reference, Role.PLANNER, VlmRequest(reference, options, progress)))
    cache = _cache(reference, options)
    return planner if cache is None else CachedPlanner(planner, cache)


def _cache(reference: SubjectReference, options: VlmOptions) -> AnswerCache | None:
    """Return the cache of a subject's answers, or None."""
    if reference.backend in _UNCACHED or not options.cache.enabled:
        return None
    folder = Path(options.cache.folder) if options.cache.folder else cache_folder() / "answers"
    return AnswerCache(folder, round(1e6 * options.cache.max_mb))


def make_vla(
    reference: SubjectReference, options: VlaOptions | None = None, progress: Progress = silent
) -> Vla:
    """Make a vision-language-action model, loaded and ready.

    Args:
        reference: Of a VLA.
        options: How it is loaded and reached.
        progress: Takes lines that report how far loading is.

    Raises:
        UserError: It cannot be loaded or reached.
    """
    request = VlaRequest(reference, options or VlaOptions(), progress)
    if request.options.policy.acts is Acts.ALWAYS and not (reference.parts or _is_of_panel(reference)):
        raise UsageError("policy.acts is for policies of the embedded panel", got=reference.text)
    return cast("Vla", _make(reference, Role.VLA, request))


def _is_of_panel(reference: SubjectReference) -> bool:
    return _factory(reference) == BACKENDS[Role.VLA][Backend.PANEL]


def info_of(reference: SubjectReference, vla: VlaOptions | None = None) -> SubjectInfo:
    """Load a subject and return its description.

    Args:
        reference: Which subject.
        vla: Options of a VLA; its version may depend on them.

    Raises:
        UserError: It cannot be loaded or reached.
    """
    subject = make_vla(reference, vla) if reference.role is Role.VLA else _MAKERS[reference.role](reference)
    info = subject.info
    close_subject(subject)
    return info


_MAKERS: Final[dict[Role, Callable[[SubjectReference], Vlm | Planner]]] = {
    Role.VLM: make_vlm,
    Role.PLANNER: make_planner,
}


def check_backend(reference: SubjectReference) -> None:
    """Check that a back end runs the subject; nothing is loaded.

    Raises:
        UsageError: None does.
    """
    _factory(reference)
    for part in reference.parts:
        check_backend(part)


def _make(reference: SubjectReference, role: Role, request: object) -> Any:
    if reference.role is not role:
        raise UsageError(f"{reference} is a {reference.role.upper()}, not a {role.upper()}")
    make = load(_factory(reference))
    try:
        return make(request)
    except EmbodiedIqaError:
        raise
    except Exception as error:  # a checkpoint may bring anybody's code and any library's errors
        message = f"{reference} cannot be loaded: {type(error).__name__}: {first_line(error)}"
        raise InputError(message) from error


def _factory(reference: SubjectReference) -> str:
    if reference.entry is not None and reference.backend is Backend.EMBEDDED:
        return reference.entry.factory
    factories = BACKENDS[reference.role]
    if reference.backend not in factories:
        raise UsageError(
            f"no {reference.role.upper()} runs on {reference.backend}",
            got=reference.text,
            available=(Backend.EMBEDDED, *factories),
        )
    return factories[reference.backend]
