"""References: how command lines, parameters, plans and recordings name a subject.

qwen2.5-vl-7b                              a name of the catalogue
qwen2.5-vl-7b@9f1c...                      the same at a revision
transformers:/models/mine                  a folder with a checkpoint, or a repository[@revision]
openai:http://gpu:8000/v1#model            a model of an OpenAI-compatible server
openpi://gpu:8000                          a policy server with openpi's protocol
openvla+http://gpu:8000/act                a policy server with OpenVLA's protocol
pi0-ur5=openpi://gpu:8000                  pi0-ur5 of the catalogue, served there
panel:/out/models/panel-vla-query          a member of a panel that `embodied-iqa train panel` made
python:my_models.vla:make                  a factory in the user's own code; one of a plug-in has a plain name
A or B                                     two policies of different cameras, see `backends.alternatives`

A text is parsed once, by `parse_reference`; everything behind it takes the `SubjectReference`.
"""

from __future__ import annotations

import re
import typing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.plugins import PluginGroup, plugin_names, plugin_target
from embodied_iqa.base.user_code import check_target, load_factory
from embodied_iqa.models.subjects.alternative_names import OR, policies_in
from embodied_iqa.models.subjects.catalogue import Backend, Role, SubjectEntry, find_entry, names_of
from embodied_iqa.models.subjects.model_card import ModelCard, load_card

LOCATIONS: Final = {
    Backend.TRANSFORMERS: "transformers:PATH",
    Backend.OPENAI: "openai:http://HOST:PORT/v1",
    Backend.OPENPI: "openpi://HOST:PORT",
    Backend.OPENVLA_HTTP: "openvla+http://HOST:PORT/act",
}
"""The form of a location, by back end."""
FORMS: Final = (
    "NAME[@REVISION] of the catalogue",
    "transformers:PATH or transformers:REPOSITORY[@REVISION]",
    "openai:http://HOST:PORT/v1#MODEL",
    LOCATIONS[Backend.OPENPI],
    LOCATIONS[Backend.OPENVLA_HTTP],
    "NAME=any of these",
    "panel:FOLDER/MEMBER of `embodied-iqa train panel`",
    "python:MODULE:FACTORY, or the name of a plug-in",
    "A or B: policies of different cameras",
)
"""For error messages and help."""
_SCHEMES: Final = {
    "transformers:": Backend.TRANSFORMERS,
    "openai:": Backend.OPENAI,
    "openpi://": Backend.OPENPI,
    "openpi+wss://": Backend.OPENPI,
    "openvla+http://": Backend.OPENVLA_HTTP,
    "openvla+https://": Backend.OPENVLA_HTTP,
    "panel:": Backend.PANEL,
    "python:": Backend.PYTHON,
}
_ROLES: Final = {
    Backend.OPENAI: (Role.VLM, Role.PLANNER),
    Backend.OPENPI: (Role.VLA,),
    Backend.OPENVLA_HTTP: (Role.VLA,),
    Backend.PANEL: (Role.VLM, Role.VLA),
}
"""Roles that a back end serves, the usual one first; all for those that are missing."""
METHODS: Final = {Role.VLM: "answer", Role.VLA: "act", Role.PLANNER: "plan"}
"""The method that makes a class a VLM, a VLA or a planner."""
_REVISION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")


@dataclass(frozen=True, slots=True)
class SubjectReference:
    """A parsed reference.

    Attributes:
        text: As given, without blanks around it; answers, scores and recordings call the subject by it.
        role: VLM, VLA or planner.
        backend: What runs the subject.
        target: Folder or repository (transformers), address (openai: without model; openvla+http: as http or
            https; openpi), path of a network without suffix (panel), ``module:factory`` (python), or empty.
        model: Name of the model on an OpenAI-compatible server; else empty.
        revision: Commit, branch or tag of a repository; may be empty.
        entry: Of the catalogue, or None.
        simulation_only: Known before loading that it must not move a real arm; others declare it when loaded.
        parts: The policies of ``A or B``; else empty.
        step_rate_hz: Of a member of a panel that looks while it acts; None of others.
    """

    text: str
    role: Role
    backend: Backend
    target: str = ""
    model: str = ""
    revision: str = ""
    entry: SubjectEntry | None = None
    simulation_only: bool = False
    parts: tuple[SubjectReference, ...] = ()
    step_rate_hz: float | None = None

    def __str__(self) -> str:
        return self.text

    @property
    def is_local_folder(self) -> bool:
        """Whether the target is a folder on this machine."""
        return self.backend is Backend.TRANSFORMERS and Path(self.target).expanduser().is_dir()


@dataclass(frozen=True, slots=True)
class _Parts:
    """The words of a reference: ``name@revision=scheme rest``; name or scheme may be empty, not both."""

    text: str
    name: str
    revision: str
    scheme: str
    rest: str

    @property
    def backend(self) -> Backend:
        return _SCHEMES[self.scheme]


def parse_reference(text: str, role: Role | None = None) -> SubjectReference:
    """Parse a reference.

    Args:
        text: The reference; blanks around it are ignored.
        role: Expected role; None for the reference's own, see `role_of`.

    Raises:
        UsageError: The text has none of the forms, the name is unknown, or the role is another.
    """
    if OR in text:
        return _alternatives(text.strip(), role)
    parts = _split(text)
    role = _role_of(parts) if role is None else role
    entry = _entry(parts.name, role) if parts.name else None
    if entry is not None and not parts.scheme:
        return _of_entry(parts, role, entry)
    if parts.revision:
        raise UsageError("a revision belongs behind the repository", got=parts.text, available=FORMS)
    if role not in _ROLES.get(parts.backend, (role,)):
        raise UsageError(f"{parts.scheme} reaches no {role.upper()}", got=parts.text)
    match parts.backend:
        case Backend.TRANSFORMERS:
            return _checkpoint(parts, role, parts.rest, entry)
        case Backend.OPENAI:
            return _api(parts, role, parts.rest, entry)
        case Backend.PANEL | Backend.PYTHON if entry is not None:
            raise UsageError(f"a {parts.scheme} subject describes itself", expected=parts.scheme, got=text)
        case Backend.PANEL:
            return _panel_member(parts, role)
        case Backend.PYTHON:
            check_target(parts.rest)
            return SubjectReference(parts.text, role, Backend.PYTHON, parts.rest)
    address = parts.scheme.removeprefix("openvla+") + parts.rest
    _check_address(address, parts.text)
    return _reference(parts, role, parts.backend, entry, target=address)


parse_vlm: Final = partial(parse_reference, role=Role.VLM)
parse_vla: Final = partial(parse_reference, role=Role.VLA)
parse_planner: Final = partial(parse_reference, role=Role.PLANNER)


def _alternatives(text: str, role: Role | None) -> SubjectReference:
    """Return the reference to policies of different cameras.

    Raises:
        UsageError: One of them is not a policy, or is named twice.
    """
    parts = tuple(parse_reference(word, Role.VLA) for word in policies_in(text))
    if role not in {None, Role.VLA} or len({part.text for part in parts}) < len(parts):
        raise UsageError("alternatives are different policies", expected=FORMS[-1], got=text)
    limited = any(part.simulation_only for part in parts)
    name = OR.join(part.text for part in parts)
    return SubjectReference(name, Role.VLA, Backend.ALTERNATIVES, simulation_only=limited, parts=parts)


def role_of(text: str) -> Role:
    """Return the role of a subject; a checkpoint without a catalogue name counts as a VLM.

    Raises:
        UsageError: Unknown name, or not a reference.
    """
    return Role.VLA if OR in text else _role_of(_split(text))


def _role_of(parts: _Parts) -> Role:
    if parts.name:
        return _entry(parts.name).role
    if parts.backend is Backend.PANEL:
        return _card(parts).role
    if parts.backend is Backend.PYTHON:
        return _role_of_factory(parts.rest)
    return _ROLES.get(parts.backend, (Role.VLM,))[0]


def _split(text: str) -> _Parts:
    name, equals, location = (text := text.strip()).partition("=")
    if not equals or ":" in name or "/" in name:
        name, location = ("", text) if ":" in text or "/" in text else (text, "")
    scheme = next((word for word in _SCHEMES if location.startswith(word)), "")
    if not scheme and not find_entry(name) and (target := plugin_target(PluginGroup.SUBJECTS, name)):
        return _Parts(text, "", "", "python:", target)
    name, _, revision = name.partition("@")
    if not scheme and (location or not name):
        raise UsageError("not a subject", got=text, available=FORMS)
    return _Parts(text, name, revision, scheme, location.removeprefix(scheme))


def _entry(name: str, role: Role | None = None) -> SubjectEntry:
    entry = find_entry(name)
    if entry is None:
        known = [word for kind in _serving(role) for word in names_of(kind)]
        known += [*plugin_names(PluginGroup.SUBJECTS), *FORMS[1:]]
        raise UsageError(f"unknown {'subject' if role is None else role.upper()}", got=name, available=known)
    if role is not None and entry.role not in _serving(role):
        raise UsageError(f"{name} is a {entry.role.upper()}, not a {role.upper()}", available=names_of(role))
    if role is Role.PLANNER and entry.role is Role.VLM and entry.backend is Backend.EMBEDDED:
        raise UsageError(f"{name} answers in a few words and cannot plan", available=names_of(role))
    return entry


def _serving(role: Role | None) -> tuple[Role, ...]:
    """Return the roles of entries that can serve as a role: a VLM can plan, too."""
    if role is None:
        return tuple(Role)
    return (Role.PLANNER, Role.VLM) if role is Role.PLANNER else (role,)


def _reference(
    parts: _Parts,
    role: Role,
    backend: Backend,
    entry: SubjectEntry | None,
    *,
    target: str = "",
    model: str = "",
    revision: str = "",
) -> SubjectReference:
    limited = entry is not None and entry.simulation_only
    return SubjectReference(parts.text, role, backend, target, model, revision, entry, limited)


def _of_entry(parts: _Parts, role: Role, entry: SubjectEntry) -> SubjectReference:
    """Return the reference to where the catalogue itself locates a subject.

    Raises:
        UsageError: The subject runs behind a server, and the user has not named one.
    """
    if entry.backend is Backend.TRANSFORMERS:
        return _checkpoint(parts, role, entry.model_id, entry)
    if parts.revision:
        reason = "is part of this package and has no revisions"
        if entry.backend is not Backend.EMBEDDED:
            reason = "runs on a server, which decides about the revision"
        raise UsageError(f"{entry.name} {reason}", got=parts.text)
    if entry.backend is Backend.EMBEDDED:
        return _reference(parts, role, entry.backend, entry)
    if entry.is_api:
        return _api(parts, role, entry.url, entry)
    raise UsageError(
        f"{entry.name} runs behind a server ({entry.server})",
        expected=f"where: {entry.name}={LOCATIONS[entry.backend]}",
        got=parts.text,
    )


def _checkpoint(parts: _Parts, role: Role, target: str, entry: SubjectEntry | None) -> SubjectReference:
    revision = parts.revision
    head, at, tail = target.rpartition("@")
    if at and _REVISION.match(tail) and not Path(target).expanduser().exists():
        target, revision = head, tail
    if not target or (revision and not _REVISION.match(revision)):
        raise UsageError("not a checkpoint", expected="a folder, or a repository[@revision]", got=parts.text)
    pinned = entry.revision if entry is not None and target == entry.model_id else None
    revision = revision or pinned or ""
    return _reference(parts, role, Backend.TRANSFORMERS, entry, target=target, revision=revision)


def _api(parts: _Parts, role: Role, address: str, entry: SubjectEntry | None) -> SubjectReference:
    base, _, model = address.partition("#")
    model = model or (entry.model_id if entry is not None else "")
    if not model:
        raise UsageError(
            "an OpenAI-compatible server needs the model's name", expected=FORMS[2], got=parts.text
        )
    _check_address(base, parts.text)
    return _reference(parts, role, Backend.OPENAI, entry, target=base.rstrip("/"), model=model)


def _panel_member(parts: _Parts, role: Role) -> SubjectReference:
    card = _card(parts)
    if card.role is not role:
        raise UsageError(f"{card.name} is a {card.role.upper()}, not a {role.upper()}", got=parts.text)
    found = SubjectReference(parts.text, role, Backend.PANEL, parts.rest)
    return replace(found, simulation_only=card.simulation_only, step_rate_hz=card.step_rate_hz)


def _card(parts: _Parts) -> ModelCard:
    if not (path := Path(f"{parts.rest}.json").expanduser()).is_file():
        raise UsageError("no panel member at this path", expected=FORMS[-3], got=parts.text)
    try:
        return load_card(path)
    except InputError as error:
        raise UsageError(str(error), got=parts.text) from error


def _check_address(address: str, text: str) -> None:
    """Refuse addresses without a host, and those that carry a secret: references are recorded."""
    parts = urlsplit(address)
    try:
        port = parts.port
    except ValueError:
        port = -1
    if parts.username is not None or parts.password is not None or parts.query:
        raise UsageError(
            "an address with a user, password or query would be recorded",
            expected="the key in an environment variable, named by server.key_env",
        )
    if parts.scheme not in {"http", "https", "openpi", "openpi+wss"} or not parts.hostname or port == -1:
        raise UsageError("not an address of a server", got=text, available=FORMS[2:5])


def _role_of_factory(target: str) -> Role:
    """Return what a factory makes, from the class or the annotated return type.

    Raises:
        UserError: It cannot be imported, or leaves the role open.
    """
    made = load_factory(target)
    if not isinstance(made, type):
        try:
            made = typing.get_type_hints(made).get("return")
        except (NameError, TypeError):  # names for type checkers only, or no function
            made = None
    roles = [role for role, method in METHODS.items() if hasattr(made, method)]
    roles = [role for role in roles if role is not Role.PLANNER] or roles  # `plan` may be a helper
    if len(roles) != 1:
        raise UsageError(
            f"python:{target} leaves open whether it makes a VLM, a VLA or a planner",
            expected="an annotated return type with a method `answer`, `act` or `plan`, such as `-> Vla`",
        )
    return roles[0]
