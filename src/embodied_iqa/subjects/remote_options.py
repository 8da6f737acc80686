"""How a policy on another machine is used: what its actions mean, what it sees, how long it may take."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl

from embodied_iqa.config import build
from embodied_iqa.errors import UsageError
from embodied_iqa.images.frame import View
from embodied_iqa.subjects.wire.policy_client import WireLimits
from embodied_iqa.subjects.wire.sockets import Address

__all__ = ["RemoteOptions", "RemotePolicy", "parse_remote"]

_REFERENCE: Final = re.compile(r"//(\[[0-9a-fA-F:.]+\]|[\w.-]+):(\d{1,5})(/[\w./-]*)?(?:\?(.*))?\Z")


@dataclass(frozen=True, slots=True)
class RemoteOptions:
    """The options of a remote policy, such as ``openpi://host:8000?convention=pi0-libero&views=top,wrist``.

    Attributes:
        name: Under which its answers are stored; by default what the server says.
        version: Changes whenever its answers can change; by default what the server says.
        convention: What its actions mean, see docs/policies.md; our own servers say it themselves.
        views: The cameras that it gets: one that looks from outside, then the wrist.
        statistics: File of statistics to un-normalise the actions with; empty where the server does it.
        statistics_key: Which data set of that file.
        unnorm_key: Sent to OpenVLA's server, which un-normalises with the statistics of this name.
        token_env: Environment variable with the server's token.
        limits: How long and how much at most.
    """

    name: str = ""
    version: str = ""
    convention: str = ""
    views: tuple[View, ...] = ()
    statistics: str = ""
    statistics_key: str = ""
    unnorm_key: str = ""
    token_env: str = ""
    limits: WireLimits = field(default_factory=WireLimits)

    @property
    def statistics_path(self) -> Path | None:
        """The file of statistics, if any."""
        return Path(self.statistics) if self.statistics else None


@dataclass(frozen=True, slots=True)
class RemotePolicy:
    """A reference taken apart.

    Attributes:
        address: The server.
        path: Of an HTTP server.
        options: How it is used.
    """

    address: Address
    path: str
    options: RemoteOptions


def parse_remote(rest: str, **defaults: Any) -> RemotePolicy:
    """Take apart what follows the scheme of a reference: ``//host:port/path?option=value&...``.

    Args:
        rest: The reference without scheme and colon.
        defaults: Options that hold where the reference does not name them.

    Raises:
        UsageError: It is not of this form, or an option is unknown.
    """
    match = _REFERENCE.match(rest)
    if match is None:
        raise UsageError("wrong address of a policy", expected="//host:port?option=value&...", got=rest)
    host, port, path, query = match.groups()
    if not 0 < int(port) < 65536:
        raise UsageError("wrong port of a policy", expected="1 to 65535", got=port)
    try:
        pairs = parse_qsl(query or "", keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise UsageError("wrong options of a policy", expected="option=value&...", got=query) from None
    words: dict[str, Any] = {key: _value(key, value) for key, value in pairs}
    options = build(RemoteOptions, {**defaults, **words}, f"the options of {host}:{port}")
    return RemotePolicy(Address(host.strip("[]"), int(port)), path or "", options)


def _value(key: str, value: str) -> object:
    if key == "views":
        return value.split(",")
    if key.startswith("limits."):
        try:
            return int(value) if key.endswith("_bytes") else float(value)
        except ValueError:
            raise UsageError(f"wrong option {key}", expected="a number", got=value) from None
    return value
