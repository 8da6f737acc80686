"""`replace` for the states of state machines, which are replaced some thousand times in a second.

`dataclasses.replace` sets each field of a frozen dataclass by a call: for the 32 fields of a trial's state,
that takes longer than what the state machine decides. A dataclass without slots is copied as a whole.
"""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["replace"]

State = TypeVar("State")

if TYPE_CHECKING:
    from dataclasses import replace  # so that names and types of fields are checked
else:

    def replace(state: State, /, **fields: Any) -> State:
        """Return a dataclass with other values in some fields, as `dataclasses.replace` does.

        Raises:
            TypeError: There is no such field.
        """
        kind = type(state)
        if not _is_copied(kind):
            return dataclasses.replace(state, **fields)
        values = {**state.__dict__, **fields}
        if len(values) != len(state.__dict__):
            unknown = ", ".join(sorted(fields.keys() - state.__dict__.keys()))
            raise TypeError(f"{kind.__name__} has no field {unknown}")
        changed = object.__new__(kind)
        object.__setattr__(changed, "__dict__", values)
        return changed


@cache
def _is_copied(kind: type[Any]) -> bool:
    """Whether a copy of the attributes is all that makes one: no slots, and nothing done when it is made."""
    fields = dataclasses.fields(kind)
    slots = {name for base in kind.__mro__ for name in vars(base).get("__slots__", ())}
    return not slots and not hasattr(kind, "__post_init__") and all(field.init for field in fields)
