"""What every page gets: the sources, templates, and parts that pages share."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar, cast

from starlette.requests import Request
from starlette.responses import HTMLResponse

from embodied_iqa.pages.studio.kit.rendering import fill
from embodied_iqa.pages.studio.kit.sources import Source, SourceKind, Sources

Part = TypeVar("Part")


@dataclass(slots=True, eq=False)
class Studio:
    """State of a running studio.

    Attributes:
        sources: Databases, runs and experiments.
        token: Secret that every request needs; empty where the studio serves this machine only.
        csrf: Secret that every POST carries, as the field `csrf` or the header `X-CSRF-Token`.
        gate: Place of the gate whose live page is shown; None for none.
    """

    sources: Sources
    token: str = ""
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    gate: object | None = None
    _parts: dict[Any, Any] = field(default_factory=dict)
    _lock: Any = field(default_factory=Lock)

    @classmethod
    def of(cls, folders: Sequence[Path], token: str = "") -> Studio:
        """Return a studio for folders.

        Raises:
            InputError: A folder does not exist.
        """
        return cls(Sources(folders), token)

    def part(self, make: Callable[[], Part]) -> Part:
        """Return the one object that a class or function makes for this studio, such as a cache."""
        with self._lock:
            if make not in self._parts:
                self._parts[make] = make()
            return cast("Part", self._parts[make])

    def source(self, kind: SourceKind, request: Request) -> Source:
        """Return the source that the path parameter `name` of a request names.

        Raises:
            NotFoundError: There is none.
        """
        return self.sources.get(kind, request.path_params["name"])

    def page(
        self, request: Request, template: str, code: int = HTTPStatus.OK, **values: object
    ) -> HTMLResponse:
        """Return a page; its template extends `studio.html.j2` and knows `studio`, `path` and `csrf`."""
        text = fill(template, studio=self, path=request.url.path, csrf=self.csrf, **values)
        return HTMLResponse(text, code)
