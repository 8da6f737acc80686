"""A policy as the server sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.errors import InputError
from embodied_iqa.subjects.actions.convention import ActionConvention
from policy_host.contract import Policy, Seen
from policy_host.observation import FORMS, seen_from

__all__ = ["HostedPolicy"]

_LONGEST_CHUNK = 1000


@dataclass(frozen=True, slots=True)
class HostedPolicy:
    """A loaded policy with who it is and what its numbers mean.

    Attributes:
        policy: Computes.
        family: Of the policy.
        name: Of the checkpoint.
        revision: Of the checkpoint.
        convention: What its rows mean.
    """

    policy: Policy
    family: str
    name: str
    revision: str
    convention: ActionConvention

    @property
    def identity(self) -> dict[str, Any]:
        """Name, version and revision: in every answer."""
        return {"name": self.name, "version": self.policy.version, "revision": self.revision}

    @property
    def metadata(self) -> dict[str, Any]:
        """What a client is told first: also the convention, which the client holds against its own."""
        return {
            **self.identity,
            "role": "vla",
            "family": self.family,
            "convention": self.convention.name,
            "pictures": list(FORMS[self.convention.observation].pictures),
            "description": f"{self.name} ({self.family}), actions by {self.convention.name}",
        }

    @property
    def batches(self) -> bool:
        """One question at a time."""
        return False

    def understand(self, message: Mapping[str, Any], /) -> Seen:
        """Return what the policy is shown.

        Raises:
            InputError: The message is no observation of the convention's form.
        """
        return seen_from(message, self.convention.observation)

    def answer(self, questions: Sequence[Seen], /) -> list[dict[str, Any]]:
        """Return the rows of each question.

        Raises:
            InputError: The policy's rows are not what the convention says.
        """
        return [{"actions": self._rows(self.policy.act(seen))} for seen in questions]

    def _rows(self, rows: object) -> NDArray[np.float32]:
        values = np.asarray(rows)
        numbers = self.convention.numbers
        if values.dtype.kind not in "iuf" or values.ndim != 2:
            raise InputError(f"{self.name} gives no rows", expected="(K, D) numbers", got=values.shape)
        if not 0 < len(values) <= _LONGEST_CHUNK or values.shape[1] < numbers:
            raise InputError(
                f"{self.name} does not act by {self.convention.name}",
                expected=f"1 to {_LONGEST_CHUNK} rows of at least {numbers} numbers",
                got=values.shape,
            )
        if not np.isfinite(values).all():
            raise InputError(f"{self.name} gives numbers that are not finite")
        return np.ascontiguousarray(values, dtype=np.float32)
