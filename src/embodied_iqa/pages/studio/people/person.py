"""Who is working: a name in a cookie; and forms that a person sends."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote, unquote

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from embodied_iqa.base.errors import InputError, UsageError, UserError
from embodied_iqa.data.journal.changes import MAX_NAME_CHARACTERS
from embodied_iqa.data.journal.journal import ConflictError
from embodied_iqa.pages.studio.kit.context import Studio

COOKIE: Final = "embodied_iqa_person"
_YEAR_S: Final = 365 * 24 * 3600
_MOST_FILE_BYTES: Final = 12_000_000


@dataclass(frozen=True, slots=True)
class Form:
    """Fields of a form.

    Attributes:
        person: Who sent it.
        origin: From where, as the journal keeps it.
        texts: Text fields, with single spaces.
        files: Content of uploaded files that are not empty.
    """

    person: str
    origin: str
    texts: dict[str, str]
    files: dict[str, bytes]

    def text(self, name: str) -> str:
        """Return a field; empty where it is missing."""
        return self.texts.get(name, "")

    def optional(self, name: str) -> str | None:
        """Return a field; None where it is empty or missing."""
        return self.texts.get(name) or None

    def number(self, name: str) -> int:
        """Return a whole number.

        Raises:
            UsageError: It is none.
        """
        text = self.text(name)
        if not (text.isascii() and text.isdecimal() and len(text) <= 18):
            raise UsageError(f"bad {name}", expected="a whole number", got=text[:40])
        return int(text)


Handler = Callable[[Request, Form], Response]


def posted(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that reads the form of a POST and calls a function in a thread.

    Raises:
        UsageError: The person has no name yet, or a field is not a text.
    """

    @functools.wraps(handler)
    async def endpoint(request: Request) -> Response:
        person = require_person(request)
        async with request.form(max_files=4, max_fields=100) as form:
            texts, files = {}, {}
            for name, value in form.multi_items():
                if isinstance(value, UploadFile):
                    content = await value.read(_MOST_FILE_BYTES + 1)
                    if len(content) > _MOST_FILE_BYTES:
                        raise InputError("a file is too large", expected=f"up to {_MOST_FILE_BYTES} bytes")
                    if content:
                        files[name] = content
                else:
                    texts[name] = " ".join(value.split())
        client = "unknown" if request.client is None else request.client.host
        return await run_in_threadpool(handler, request, Form(person, f"studio {client}", texts, files))

    return endpoint


def person_of(request: Request) -> str:
    """Return the name of who sends a request; empty if it is not known."""
    name = " ".join(unquote(request.cookies.get(COOKIE, "")).split())
    return name if name.isprintable() and len(name) <= MAX_NAME_CHARACTERS else ""


def require_person(request: Request) -> str:
    """Return the name of who sends a request.

    Raises:
        UsageError: It is not known.
    """
    person = person_of(request)
    if not person:
        raise UsageError("the studio does not know who you are", expected="your name, on the page /person")
    return person


def status_of(error: UserError | None) -> HTTPStatus:
    """Return the status of a page that shows an error."""
    if error is None:
        return HTTPStatus.OK
    return HTTPStatus.CONFLICT if isinstance(error, ConflictError) else HTTPStatus.BAD_REQUEST


def named(handler: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """Return an endpoint that asks for a name first."""

    @functools.wraps(handler)
    def endpoint(request: Request) -> Response:
        if person_of(request):
            return handler(request)
        query = f"?{request.url.query}" if request.url.query else ""
        return see(f"/person?back={quote(request.url.path + query, safe='')}")

    return endpoint


def see(path: str) -> Response:
    """Return a redirection to a page after a POST."""
    return RedirectResponse(path, HTTPStatus.SEE_OTHER)


def local_path(text: str) -> str:
    """Return a path of this studio from a form; the first page for any other address."""
    is_local = text.startswith("/") and not text.startswith("//") and "\\" not in text and text.isprintable()
    return text if is_local else "/"


def routes(studio: Studio) -> list[Route]:
    """Return the routes of the page with the name."""

    def page(request: Request) -> Response:
        back = local_path(request.query_params.get("back", "/"))
        return studio.page(request, "people_person.html.j2", person=person_of(request), back=back)

    async def name(request: Request) -> Response:
        async with request.form() as form:
            fields: dict[str, Any] = dict(form)
        text = " ".join(str(fields.get("person", "")).split())
        if not 1 <= len(text) <= MAX_NAME_CHARACTERS or not text.isprintable():
            raise UsageError("bad name", expected=f"1 to {MAX_NAME_CHARACTERS} characters", got=text[:40])
        answer = see(local_path(str(fields.get("back", "/"))))
        answer.set_cookie(COOKIE, quote(text), max_age=_YEAR_S, httponly=True, samesite="lax")
        return answer

    return [Route("/person", page), Route("/person", name, methods=["POST"])]
