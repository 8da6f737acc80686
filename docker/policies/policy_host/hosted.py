"""A policy as the server sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.models.subjects.actions.convention import ActionConvention
from policy_host.contract import Policy, Seen
from policy_host.observation import FORMS, seen_from

_LONGEST_CHUNK = 1000


@dataclass(frozen=True, slots=True)
class HostedPolicy:
    """A loaded policy with its identity and convention.

    Attributes:
        policy: The policy.
        family: Family of the policy.
        name: Name of the checkpoint.
        revision: Revision of the checkpoint.
        convention: Convention of its rows.
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
        """First message to a client; the client compares the convention with its own."""
        return {
            **self.identity,
            "role": "vla",
            "family": self.family,
            "convention": self.convention.name,
            "images": list(FORMS[self.convention.observation].images),
            "description": f"{self.name} ({self.family}), actions by {self.convention.name}",
        }

    @property
    def batches(self) -> bool:
        """One question at a time."""
        return False

    def understand(self, message: Mapping[str, Any], /) -> Seen:
        """Return the input of the policy.

        Raises:
            InputError: The message is not an observation of the convention's form.
        """
        return seen_from(message, self.convention.observation)

    def answer(self, questions: Sequence[Seen], /) -> list[dict[str, Any]]:
        """Return the rows of each question.

        Raises:
            InputError: The rows do not match the convention.
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
