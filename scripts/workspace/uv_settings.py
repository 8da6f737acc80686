"""The user's settings of pip as environment variables of uv, which does not read them itself."""

from __future__ import annotations

import ast
from collections.abc import Mapping

__all__ = ["uv_settings"]

_VARIABLES = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "cert": ("SSL_CERT_FILE", " "),
    "client-cert": ("SSL_CLIENT_CERT", " "),
    "proxy": ("ALL_PROXY", " "),
    "default-timeout": ("UV_HTTP_TIMEOUT", " "),
    "timeout": ("UV_HTTP_TIMEOUT", " "),
}
"""Setting of pip: variable of uv, and what separates several values there."""

_SECTIONS = ("global", "install", ":env:")
"""Where `pip install` finds a setting; a later one wins."""


_TRUE = {"1", "true", "yes", "on"}


def uv_settings(pip_config: str, environment: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Translate the settings of pip.

    Args:
        pip_config: Output of `pip config list`: a line `section.name='value'` for each setting.
        environment: The environment variables of the caller; variables of uv that are set there win.

    Returns:
        The variables of uv, and its options where there is no variable. Several indexes are searched as pip
        does: the best version of any of them.
    """
    values: dict[str, str] = {}
    lines = [line.partition("=") for line in pip_config.splitlines()]
    for section in _SECTIONS:
        for key, _, value in lines:
            if key.startswith(f"{section}.") and value:
                values[key.removeprefix(f"{section}.")] = ast.literal_eval(value)
    settings = {"UV_INDEX_STRATEGY": "unsafe-best-match", "UV_SYSTEM_CERTS": "true"}
    for name, (variable, separator) in _VARIABLES.items():
        if values.get(name, "").strip():
            settings[variable] = separator.join(values[name].split())
    own = {name: value for name, value in environment.items() if name in settings}
    return settings | own, ["--no-index"] if values.get("no-index", "").lower() in _TRUE else []
