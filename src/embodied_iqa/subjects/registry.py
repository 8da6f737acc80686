"""From a reference to a subject. A back end is imported only when it is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, cast

from embodied_iqa.errors import EmbodiedIqaError, InputError, UsageError, first_line
from embodied_iqa.lazy import load
from embodied_iqa.subjects.answer_cache import AnswerCache, CachedVlm
from embodied_iqa.subjects.catalogue import Backend, Role, entries, names_of
from embodied_iqa.subjects.constants_files import constants_of
from embodied_iqa.subjects.options import (
    Progress,
    VlaOptions,
    VlaRequest,
    VlmOptions,
    VlmRequest,
    silent,
)
from embodied_iqa.subjects.protocols import SubjectInfo, Vla, Vlm
from embodied_iqa.subjects.reference import SubjectReference, parse_reference, role_of
from embodied_iqa.subjects.user_folders import cache_folder

__all__ = [
    "VLAS",
    "VLA_BACKENDS",
    "VLMS",
    "VLM_BACKENDS",
    "Role",
    "check_subject",
    "constants_of",
    "info_of",
    "make_vla",
    "make_vlm",
    "role_of",
    "subject_names",
]

VLM_BACKENDS: Final[dict[Backend, str]] = {
    Backend.TRANSFORMERS: "embodied_iqa.subjects.backends.transformers.vlm:make",
    Backend.OPENAI: "embodied_iqa.subjects.backends.openai:make",
    Backend.PANEL: "embodied_iqa.subjects.backends.panel.members:make_trained_vlm",
}
"""Back end to ``module:factory``; the factory makes a `Vlm` of a `VlmRequest`, loaded and ready."""

VLA_BACKENDS: Final[dict[Backend, str]] = {
    Backend.TRANSFORMERS: "embodied_iqa.subjects.backends.transformers.vla:make",
    Backend.OPENPI: "embodied_iqa.subjects.backends.remote_vla:OpenPiVla",
    Backend.OPENVLA_HTTP: "embodied_iqa.subjects.backends.remote_vla:OpenVlaHttp",
    Backend.PANEL: "embodied_iqa.subjects.backends.panel.members:make_trained_vla",
}
"""Back end to ``module:factory``; the factory makes a `Vla` of a `VlaRequest`, loaded and ready."""

VLMS: Final = names_of(Role.VLM, Backend.EMBEDDED)
"""Vision-language models that are part of this package."""

VLAS: Final = names_of(Role.VLA, Backend.EMBEDDED)
"""Vision-language-action models that are part of this package."""


def subject_names() -> tuple[str, ...]:
    """List the names of the catalogue."""
    return tuple(item.name for item in entries())


def make_vlm(text: str, options: VlmOptions | None = None, progress: Progress = silent) -> Vlm:
    """Make a vision-language model, loaded and ready.

    Args:
        text: A reference, see `subjects.reference`.
        options: How it is loaded, reached and asked.
        progress: Takes lines that say how far loading is.

    Raises:
        UsageError: The reference is wrong.
        UserError: It cannot be loaded or reached.
    """
    reference = parse_reference(text, Role.VLM)
    request = VlmRequest(reference, options or VlmOptions(), progress)
    vlm = cast("Vlm", _make(reference, VLM_BACKENDS, request))
    cache = request.options.cache
    if reference.backend in {Backend.EMBEDDED, Backend.PANEL} or not cache.enabled:
        return vlm
    folder = Path(cache.folder) if cache.folder else cache_folder() / "answers"
    return CachedVlm(vlm, AnswerCache(folder, round(1e6 * cache.max_mb)))


def make_vla(text: str, options: VlaOptions | None = None, progress: Progress = silent) -> Vla:
    """Make a vision-language-action model, loaded and ready.

    Args:
        text: A reference, see `subjects.reference`.
        options: How it is loaded and reached.
        progress: Takes lines that say how far loading is.

    Raises:
        UsageError: The reference is wrong.
        UserError: It cannot be loaded or reached.
    """
    reference = parse_reference(text, Role.VLA)
    request = VlaRequest(reference, options or VlaOptions(), progress)
    return cast("Vla", _make(reference, VLA_BACKENDS, request))


def check_subject(text: str, role: Role) -> str:
    """Return a reference that can be resolved; nothing is loaded.

    Raises:
        UsageError: It cannot.
    """
    reference = parse_reference(text, role)
    if reference.backend is not Backend.EMBEDDED:
        _factory(reference, VLM_BACKENDS if role is Role.VLM else VLA_BACKENDS)
    return text


def info_of(text: str) -> SubjectInfo:
    """Say who a subject is; it is loaded for that.

    Raises:
        UsageError: It is none.
    """
    return make_vlm(text).info if role_of(text) is Role.VLM else make_vla(text).info


def _make(reference: SubjectReference, backends: dict[Backend, str], request: object) -> Any:
    if reference.entry is not None and reference.backend is Backend.EMBEDDED:
        return load(reference.entry.factory)()
    make = load(_factory(reference, backends))
    try:
        return make(request)
    except EmbodiedIqaError:
        raise
    except Exception as error:  # a checkpoint may bring anybody's code and any library's errors
        message = f"{reference.text} cannot be loaded: {type(error).__name__}: {first_line(error)}"
        raise InputError(message) from error


def _factory(reference: SubjectReference, backends: dict[Backend, str]) -> str:
    if reference.backend not in backends:
        raise UsageError(
            f"no {reference.role.upper()} runs on {reference.backend}",
            got=reference.text,
            available=(Backend.EMBEDDED, *backends),
        )
    return backends[reference.backend]
