"""What a family's `policy.py` offers and gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.errors import UsageError

__all__ = ["Family", "Needs", "Policy", "PolicyRequest", "Seen"]


class Needs(StrEnum):
    """What of a checkpoint can run code, and so takes a consent."""

    NOTHING = "nothing"
    """Weights are arrays, code is the installed library's."""
    REMOTE_CODE = "remote-code"
    """The checkpoint carries Python files, or its graph is a program (a TensorFlow SavedModel)."""
    PICKLES = "pickles"
    """The family publishes its weights as pickles only."""

    @property
    def flag(self) -> str:
        """The option that consents."""
        return {"remote-code": "--trust-remote-code", "pickles": "--accept-pickles"}.get(self.value, "")


@dataclass(frozen=True, slots=True)
class Seen:
    """What a policy is shown.

    Attributes:
        pictures: ``(H, W, 3)`` uint8 RGB each: the camera that looks from outside first, then the wrist.
        prompt: The task.
        state: The robot's state in the convention's units, ``(S,)`` float32; None where it is not told.
    """

    pictures: tuple[NDArray[np.uint8], ...]
    prompt: str
    state: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True)
class PolicyRequest:
    """What a policy is loaded from.

    Attributes:
        folder: The checkpoint on this machine; nothing is fetched.
        name: What it is called.
        convention: What its actions mean, a name of `embodied_iqa.subjects.actions.table`.
        device: ``cuda`` or ``cpu``.
        unnorm_key: Data set whose statistics turn its numbers into units; empty for the convention's own.
        seed: Of a policy that draws noise: the same picture gives the same actions.
        options: Further ones of the family.
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
        """Of the library that computes; changes whenever answers can change."""
        ...

    def act(self, seen: Seen) -> NDArray[np.floating]:
        """Return ``(K, D)``: K steps in the convention's units. Keeps nothing from one call to the next."""
        ...


@dataclass(frozen=True, slots=True)
class Family:
    """A family of policies that share one environment.

    Attributes:
        name: Such as ``openvla``.
        conventions: Those of its policies; empty where any may be meant and the user has to say.
        needs: What takes a consent.
        load: Makes the policy; raises `UserError` where it cannot.
        options: Names of its own options (``--set NAME=VALUE``) with what they mean.
    """

    name: str
    conventions: tuple[str, ...]
    needs: Needs
    load: Callable[[PolicyRequest], Policy]
    options: Mapping[str, str] = field(default_factory=dict)

    def check_options(self, given: Mapping[str, str]) -> None:
        """Refuse options that it does not have.

        Raises:
            UsageError: There is one.
        """
        for name in given:
            if name not in self.options:
                raise UsageError(f"unknown option of {self.name}", got=name, available=self.options)
