"""Damaged requests: no internal error, no file touched.

EMBODIED_IQA_FUZZ_REQUESTS=10000 asks ten thousand.
"""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path
from typing import Any
from urllib.parse import quote

from database_folders import write_database
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.pages.studio.app import create_app
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.kit.security import Address
from studio_client import HOST, ORIGIN
from trial_recording import image, write_trial

REQUESTS = int(os.environ.get("EMBODIED_IQA_FUZZ_REQUESTS", "1500"))
WORDS = (
    "db", "run", "made", "watch", "pair", "r00000-12", "0", "1", "-1", "99999999999999999999", "top", "clean",
    "distorted", "full", "thumbnail", "reference", "statistics", "leaderboard", "assets", "studio.css", "..",
    "../..", "%2e%2e", "etc/passwd", "\x00", "\u2028", "é", "'", '"; DROP TABLE refs', "<script>", "{{7*7}}",
    "", "a" * 400, "nan", "1e999", "NULL", "\ud7ff",
)  # fmt: skip
KEYS = (
    "level", "sort", "down", "page", "of", "low", "high", "spread", "view", "verb", "task", "beside",
    "main_object", "topic", "distortion", "reference", "group", "token", "csrf", "x",
)  # fmt: skip
PLACES = (
    "/", "/db/made", "/db/made/pair/r00000-12", "/db/made/pair/r00000-12/distorted/full", "/run/watch",
    "/run/watch/0/1", "/run/watch/0/1/top/clean/0", "/db/made/leaderboard", "/assets/studio.js",
    "/images/photos", "/images/photos/0",
)  # fmt: skip


def _scope(chance: random.Random) -> dict[str, Any]:
    """A request as the server hands it over, of which nothing need be right."""
    path = chance.choice(PLACES)
    if chance.random() < 0.6:
        parts = path.split("/")
        parts[chance.randrange(1, len(parts))] = chance.choice(WORDS)
        path = "/".join(parts) or "/"
    query = "&".join(
        f"{chance.choice(KEYS)}={quote(chance.choice(WORDS), safe=chance.choice(('', '%&=')))}"
        for _ in range(chance.choice((0, 0, 1, 2, 3)))
    )
    headers = [(b"host", HOST.encode())]
    if chance.random() < 0.8:
        headers.append((b"origin", ORIGIN["Origin"].encode()))
    if chance.random() < 0.3:
        name = chance.choice((b"range", b"accept", b"cookie", b"content-type", b"host", b"x-csrf-token"))
        headers.append((name, chance.choice((b"bytes=0-", b"multipart/form-data", b"\xff=\x01; ;", b""))))
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "root_path": "",
        "method": chance.choices(("GET", "HEAD", "POST", "PUT"), (8, 1, 2, 1))[0], "path": path,
        "raw_path": quote(path).encode(), "query_string": query.encode(), "headers": headers,
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8600),
    }  # fmt: skip


async def _status(app: Any, scope: dict[str, Any], body: bytes) -> int:
    """The status of the answer; what the application raises is raised here."""
    found: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            found.append(message["status"])

    await app(scope, receive, send)
    (status,) = found
    return status


def test_no_request_ends_in_an_internal_error(tmp_path: Path) -> None:
    write_database(tmp_path / "made", references=1, subjects=1, images=True)
    (tmp_path / "watch").mkdir()
    write_trial(tmp_path / "watch" / "trial.mcap")
    write_image(tmp_path / "photos/one.png", image(View.TOP, 1))
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")}
    app = create_app(Studio.of([tmp_path]), Address("127.0.0.1", 8600))
    chance = random.Random(20)

    async def ask_all() -> dict[str, int]:
        found = {}
        for _ in range(REQUESTS):
            scope = _scope(chance)
            request = repr([scope[name] for name in ("method", "path", "query_string", "headers")])
            found[request] = await _status(app, scope, chance.randbytes(chance.randrange(0, 60)))
        return found

    found = asyncio.run(ask_all())
    assert not [request for request, status in found.items() if status >= 500]
    assert {200, 400, 403, 404, 405} <= set(found.values())
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")} == before
