"""How a subject is named in a configuration: by the catalogue's name, by where it is, or by both.

qwen2.5-vl-7b                              of the catalogue
qwen2.5-vl-7b@9f1c...                      the same at a revision
transformers:/models/mine                  a folder with a checkpoint, or a repository[@revision]
openai:http://gpu:8000/v1#model            a model of an OpenAI-compatible server
openpi://gpu:8000                          a policy server that speaks openpi's protocol
openvla+http://gpu:8000/act                a policy server that answers as OpenVLA's does
pi0-droid=openpi://gpu:8000                what the catalogue knows of pi0-droid, served there
panel:/out/models/panel-vla-query          a member of a panel that `embodied-iqa train panel` made
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from embodied_iqa.errors import InputError, UsageError
from embodied_iqa.subjects.catalogue import Backend, Role, SubjectEntry, find_entry, names_of
from embodied_iqa.subjects.model_card import ModelCard, load_card

__all__ = ["FORMS", "LOCATIONS", "SubjectReference", "parse_reference", "role_of"]

FORMS: Final = (
    "NAME[@REVISION] of the catalogue",
    "transformers:PATH or transformers:REPOSITORY[@REVISION]",
    "openai:http://HOST:PORT/v1#MODEL",
    "openpi://HOST:PORT",
    "openvla+http://HOST:PORT/act",
    "NAME=any of these",
    "panel:FOLDER/MEMBER of `embodied-iqa train panel`",
)
"""For error messages and help."""

_TRAINED: Final = "panel:"
_SCHEMES: Final = {
    "transformers:": Backend.TRANSFORMERS,
    "openai:": Backend.OPENAI,
    "openpi://": Backend.OPENPI,
    "openpi+wss://": Backend.OPENPI,
    "openvla+http://": Backend.OPENVLA_HTTP,
    "openvla+https://": Backend.OPENVLA_HTTP,
    _TRAINED: Backend.PANEL,
}
_ROLES: Final = {
    Backend.OPENAI: (Role.VLM,),
    Backend.OPENPI: (Role.VLA,),
    Backend.OPENVLA_HTTP: (Role.VLA,),
}
_REVISION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
LOCATIONS: Final = {
    Backend.TRANSFORMERS: "transformers:PATH",
    Backend.OPENAI: "openai:http://HOST:PORT/v1",
    Backend.OPENPI: "openpi://HOST:PORT",
    Backend.OPENVLA_HTTP: "openvla+http://HOST:PORT/act",
}
"""How each back end is told where a subject is."""


@dataclass(frozen=True, slots=True)
class SubjectReference:
    """A subject as a configuration names it.

    Attributes:
        text: As given; it is what answers, scores and recordings call the subject.
        role: What it is wanted for.
        backend: What runs it.
        target: Folder or repository (transformers), address without model (openai), address (openpi,
            openvla+http with its scheme reduced to http or https), or the file of a network and its card
            without ending (panel); empty for an embedded subject.
        model: What an OpenAI-compatible server calls the model; else empty.
        revision: Commit, branch or tag of a repository; empty where none is given.
        entry: What the catalogue says of it, or None.
    """

    text: str
    role: Role
    backend: Backend
    target: str = ""
    model: str = ""
    revision: str = ""
    entry: SubjectEntry | None = None

    @property
    def is_local_folder(self) -> bool:
        """Whether the target is a folder on this machine."""
        return self.backend is Backend.TRANSFORMERS and Path(self.target).expanduser().is_dir()


def parse_reference(text: str, role: Role) -> SubjectReference:
    """Understand a reference.

    Raises:
        UsageError: It has none of the forms, names nothing that the catalogue knows, or is of another role.
    """
    name, location = _split_name(text.strip())
    entry = None
    if name:
        name, _, revision = name.partition("@")
        entry = _entry(name, role)
        if not location:
            return _of_entry(text, entry, revision)
        if revision:
            raise UsageError("a revision belongs behind the repository", got=text, available=FORMS)
    scheme = next((word for word in _SCHEMES if location.startswith(word)), "")
    if not scheme:
        raise UsageError("not a subject", got=text, available=FORMS)
    backend = _SCHEMES[scheme]
    if role not in _ROLES.get(backend, tuple(Role)):
        raise UsageError(f"{scheme} reaches no {role.upper()}", got=text)
    rest = location.removeprefix(scheme)
    if backend is Backend.TRANSFORMERS:
        return _checkpoint(text, role, rest, entry)
    if backend is Backend.PANEL:
        return _trained(text, role, rest, entry)
    if backend is Backend.OPENAI:
        return _api(text, rest, entry)
    address = location.removeprefix("openvla+") if backend is Backend.OPENVLA_HTTP else location
    _check_address(address, text)
    return SubjectReference(text, role, backend, target=address, entry=entry)


def role_of(text: str) -> Role:
    """Say what a subject is wanted for; a checkpoint without a catalogue name counts as a VLM.

    Raises:
        UsageError: It is no subject.
    """
    name, _ = _split_name(text)
    entry = find_entry(name.partition("@")[0])
    if entry is not None:
        return entry.role
    if name:
        raise UsageError("unknown subject", got=name, available=(*names_of(Role.VLM), *names_of(Role.VLA)))
    if text.startswith(_TRAINED):
        return Role(_card_of(text.removeprefix(_TRAINED), text).role)
    vla_schemes = tuple(word for word, backend in _SCHEMES.items() if _ROLES.get(backend) == (Role.VLA,))
    role = Role.VLA if text.startswith(vla_schemes) else Role.VLM
    return parse_reference(text, role).role


def _split_name(text: str) -> tuple[str, str]:
    """Return the catalogue's name and the location; either may be empty."""
    name, equals, location = text.partition("=")
    if equals and ":" not in name and "/" not in name:
        return name, location
    if ":" in text or "/" in text:
        return "", text
    return text, ""


def _entry(name: str, role: Role) -> SubjectEntry:
    entry = find_entry(name)
    known = names_of(role)
    if entry is None:
        raise UsageError(f"unknown {role.upper()}", got=name, available=(*known, *FORMS[1:]))
    if entry.role is not role:
        raise UsageError(f"{name} is no {role.upper()}", available=known)
    return entry


def _of_entry(text: str, entry: SubjectEntry, revision: str) -> SubjectReference:
    """Return where the catalogue itself says that a subject is.

    Raises:
        UsageError: It runs behind a server, and the user has not said which.
    """
    if entry.backend is Backend.EMBEDDED:
        if revision:
            raise UsageError(f"{entry.name} is part of this package and has no revisions", got=text)
        return SubjectReference(text, entry.role, entry.backend, entry=entry)
    if entry.backend is Backend.TRANSFORMERS:
        return _checkpoint(text, entry.role, entry.model_id, entry, revision)
    if revision:
        raise UsageError(f"{entry.name} runs on a server, which decides about the revision", got=text)
    if entry.is_api:
        return _api(text, entry.url, entry)
    raise UsageError(
        f"{entry.name} runs behind a server ({entry.server})",
        expected=f"where: {entry.name}={LOCATIONS[entry.backend]}",
        got=text,
    )


def _checkpoint(
    text: str, role: Role, target: str, entry: SubjectEntry | None, revision: str = ""
) -> SubjectReference:
    if not Path(target).expanduser().exists():
        head, at, tail = target.rpartition("@")
        if at and _REVISION.match(tail):
            target, revision = head, tail
    if not target or (revision and not _REVISION.match(revision)):
        raise UsageError("not a checkpoint", expected="a folder, or a repository[@revision]", got=text)
    pinned = entry.revision if entry is not None and target == entry.model_id else None
    return SubjectReference(
        text, role, Backend.TRANSFORMERS, target=target, revision=revision or pinned or "", entry=entry
    )


def _api(text: str, address: str, entry: SubjectEntry | None) -> SubjectReference:
    base, _, model = address.partition("#")
    model = model or (entry.model_id if entry is not None else "")
    if not model:
        raise UsageError("an OpenAI-compatible server needs the model's name", expected=FORMS[2], got=text)
    _check_address(base, text)
    return SubjectReference(text, Role.VLM, Backend.OPENAI, target=base.rstrip("/"), model=model, entry=entry)


def _trained(text: str, role: Role, target: str, entry: SubjectEntry | None) -> SubjectReference:
    if entry is not None:
        raise UsageError("a member of a panel says itself who it is", expected=FORMS[-1], got=text)
    card = _card_of(target, text)
    if card.role != role:
        raise UsageError(f"{card.name} is no {role.upper()}", got=text)
    return SubjectReference(text, role, Backend.PANEL, target=target)


def _card_of(target: str, text: str) -> ModelCard:
    path = Path(f"{target}.json").expanduser()
    if not path.is_file():
        raise UsageError("no member of a panel there", expected=FORMS[-1], got=text)
    try:
        return load_card(path)
    except InputError as error:
        raise UsageError(str(error), got=text) from error


def _check_address(address: str, text: str) -> None:
    """Refuse addresses that name no host, or that carry a secret: references are recorded."""
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
