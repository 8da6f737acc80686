"""Interface between the host and a family's `policy.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError


class Needs(StrEnum):
    """Parts of a checkpoint that can run code and need consent."""

    NOTHING = "nothing"
    """None: weights are arrays, and the code is the installed library's."""
    REMOTE_CODE = "remote-code"
    """Python files, or a graph that is a program (a TensorFlow SavedModel)."""
    PICKLES = "pickles"
    """Pickled weights, for families that publish no others."""

    @property
    def flag(self) -> str:
        """The option that consents."""
        return {"remote-code": "--trust-remote-code", "pickles": "--accept-pickles"}.get(self.value, "")


@dataclass(frozen=True, slots=True)
class Seen:
    """Input of a policy.

    Attributes:
        images: ``(H, W, 3)`` uint8 RGB each: an outside camera first, then the wrist.
        prompt: The task.
        state: The robot's state in the convention's units, ``(S,)`` float32, or None.
    """

    images: tuple[NDArray[np.uint8], ...]
    prompt: str
    state: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True)
class PolicyRequest:
    """Checkpoint and options of a policy.

    Attributes:
        folder: The checkpoint on this machine; nothing is fetched.
        name: Name of the checkpoint.
        convention: Action convention, a name of `embodied_iqa.models.subjects.actions.table`.
        device: ``cuda`` or ``cpu``.
        unnorm_key: Data set whose statistics un-normalise its actions; empty for the convention's own.
        seed: Seed of a policy that samples noise: the same input gives the same actions.
        options: Further options of the family.
    """

    folder: Path
    name: str
    convention: str
    device: str = "cuda"
    unnorm_key: str = ""
    seed: int = 0
    options: Mapping[str, str] = field(default_factory=dict)


class Policy(Protocol):
    """A loaded policy."""

    @property
    def version(self) -> str:
        """Version of the library; changes whenever answers can change."""
        ...

    def act(self, seen: Seen) -> NDArray[np.floating]:
        """Return ``(K, D)``: K steps in the convention's units. Stateless."""
        ...


@dataclass(frozen=True, slots=True)
class Family:
    """A family of policies that share one environment.

    Attributes:
        name: Such as ``openvla``.
        conventions: Conventions of its policies; empty for any, and the user has to name one.
        needs: Needs consent.
        load: Makes the policy; raises `UserError` if it cannot.
        options: Its own options (``--set NAME=VALUE``), with their descriptions.
    """

    name: str
    conventions: tuple[str, ...]
    needs: Needs
    load: Callable[[PolicyRequest], Policy]
    options: Mapping[str, str] = field(default_factory=dict)

    def check_options(self, given: Mapping[str, str]) -> None:
        """Refuse unknown options.

        Raises:
            UsageError: There is one.
        """
        for name in given:
            if name not in self.options:
                raise UsageError(f"unknown option of {self.name}", got=name, available=self.options)
