"""Ten thousand damaged requests: no internal error, no file touched."""

from __future__ import annotations

import random
from pathlib import Path
from urllib.parse import quote

from database_folders import write_database
from studio_client import ORIGIN, client_of
from trial_recording import write_trial

REQUESTS = 10_000
WORDS = (
    "db", "run", "made", "watch", "pair", "r00000-12", "0", "1", "-1", "99999999999999999999", "top", "clean",
    "distorted", "full", "thumbnail", "reference", "statistics", "leaderboard", "assets", "studio.css", "..",
    "../..", "%2e%2e", "etc/passwd", "\x00", "\u2028", "é", "'", '"; DROP TABLE refs', "<script>", "{{7*7}}",
    "", "a" * 400, "nan", "1e999", "NULL", "\ud7ff",
)  # fmt: skip
KEYS = (
    "level", "sort", "down", "page", "of", "low", "high", "spread", "view", "verb", "task", "beside",
    "main_object", "distortion", "reference", "group", "token", "csrf", "x",
)  # fmt: skip
PLACES = (
    "/", "/db/made", "/db/made/pair/r00000-12", "/db/made/pair/r00000-12/distorted/full", "/run/watch",
    "/run/watch/0/1", "/run/watch/0/1/top/clean/0", "/db/made/leaderboard", "/assets/studio.js",
)  # fmt: skip


def _request(chance: random.Random) -> tuple[str, str, dict[str, str], bytes]:
    path = chance.choice(PLACES)
    if chance.random() < 0.6:
        parts = path.split("/")
        parts[chance.randrange(1, len(parts))] = quote(chance.choice(WORDS), safe=chance.choice(("", "/.%")))
        path = "/".join(parts) or "/"
    if chance.random() < 0.6:
        pairs = ((chance.choice(KEYS), quote(chance.choice(WORDS))) for _ in range(chance.randrange(1, 4)))
        path += "?" + "&".join(f"{key}={value}" for key, value in pairs)
    headers = dict(ORIGIN) if chance.random() < 0.8 else {}
    if chance.random() < 0.2:
        headers[chance.choice(("Range", "Accept", "Cookie", "Content-Type", "Host"))] = "bytes=0-, x;=\x01"
    method = chance.choices(("GET", "HEAD", "POST", "PUT"), (8, 1, 2, 1))[0]
    return method, path, headers, chance.randbytes(chance.randrange(0, 60))


def test_no_request_ends_in_an_internal_error(tmp_path: Path) -> None:
    write_database(tmp_path / "made", references=1, pictures=True)
    (tmp_path / "watch").mkdir()
    write_trial(tmp_path / "watch" / "trial.mcap")
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")}
    client, _ = client_of(tmp_path)
    chance = random.Random(20)
    known: dict[tuple[str, str, str], int] = {}
    for _ in range(REQUESTS):
        method, path, headers, body = _request(chance)
        key = (method, path, str(headers))
        if key not in known:  # the client raises what the application does
            answer = client.request(method, path, headers=headers, content=body if method == "POST" else None)
            known[key] = answer.status_code
    assert not [key for key, status in known.items() if status >= 500]
    assert {200, 400, 403, 404, 405} <= set(known.values())
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")} == before
