"""Keys and tokens of servers, taken from the environment: only the variable's name is configured."""

from __future__ import annotations

import os
import re

from embodied_iqa.base.errors import UsageError


def token_from(variable: str) -> str:
    """Return the token in an environment variable; empty where no variable is named.

    Raises:
        UsageError: The variable is not set, or its name is none: perhaps the token itself, which is not
            repeated in the message.
    """
    if not variable:
        return ""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", variable):
        raise UsageError("not a name of an environment variable (is it the key itself?)")
    token = os.environ.get(variable, "").strip()
    if not token:
        raise UsageError(f"the environment variable {variable} holds no token")
    if not (token.isascii() and token.isprintable()):
        raise UsageError(f"the token in {variable} has characters that no header can carry")
    return token
