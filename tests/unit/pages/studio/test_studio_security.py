"""What the studio refuses: other hosts and pages, writing by GET, missing tokens, large bodies."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from embodied_iqa.base.errors import UsageError
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.kit.security import COOKIE, Address
from embodied_iqa.pages.studio.server import serve, url_of
from studio_client import HOST, ORIGIN, client_of
from studio_process import studio_process

SECRET = "a-token-of-this-test"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:8600"}, 200),
        ({"Host": "evil.example:8600"}, 421),
        ({"Host": "127.0.0.1:80"}, 421),
        ({"Host": "127.0.0.1:8600@evil.example"}, 421),
        ({"Host": "[::1"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
    ],
)
def test_requests_of_other_hosts_and_pages_are_refused(
    tmp_path: Path, headers: dict[str, str], status: int
) -> None:
    client, _ = client_of(tmp_path)
    assert client.get("/", headers=headers).status_code == status


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_other_methods_do_not_exist(tmp_path: Path, method: str) -> None:
    client, _ = client_of(tmp_path)
    assert client.request(method, "/", headers=ORIGIN).status_code == 405


def test_a_post_needs_origin_and_csrf_token(tmp_path: Path) -> None:
    client, studio = client_of(tmp_path)
    form = {"csrf": studio.csrf}
    assert client.post("/", data=form).status_code == 403, "no Origin"
    assert client.post("/", headers=ORIGIN).status_code == 403, "no token"
    assert client.post("/", headers=ORIGIN, data={"csrf": "x"}).status_code == 403
    reached = 405  # the page exists, for GET
    assert client.post("/", headers=ORIGIN, data=form).status_code == reached
    assert client.post("/", headers=ORIGIN | {"X-CSRF-Token": studio.csrf}).status_code == reached
    assert client.post("/", headers=ORIGIN, data=form, files={"f": b"1"}).status_code == reached


def test_damaged_and_large_forms_are_refused(tmp_path: Path) -> None:
    client, _ = client_of(tmp_path)
    kind = {"Content-Type": "multipart/form-data"}
    assert client.post("/", headers=ORIGIN | kind, content=b"--x\r\n").status_code == 400
    assert client.post("/", headers=ORIGIN, content=bytes(20_000_001)).status_code == 413
    assert client.get("/?x=" + "a" * 9_000).status_code == 414


def test_a_token_in_the_address_becomes_a_cookie(tmp_path: Path) -> None:
    client, _ = client_of(tmp_path, token=SECRET)
    assert client.get("/").status_code == 401
    assert client.get("/?token=wrong").status_code == 401
    entered = client.get(f"/db/x?a=1&token={SECRET}")
    assert (entered.status_code, entered.headers["location"]) == (303, "/db/x?a=1")
    assert "httponly" in entered.headers["set-cookie"].lower()
    assert client.cookies[COOKIE] == SECRET
    assert client.get("/").status_code == 200


def test_every_answer_has_the_security_headers(tmp_path: Path) -> None:
    client, _ = client_of(tmp_path)
    for place in ("/", "/nothing", "/assets/studio.css", "/assets/..%2fapp.py"):
        headers = client.get(place).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"


def test_addresses_that_others_reach_need_a_token(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="token"):
        serve(Studio.of([tmp_path]), "0.0.0.0", 0, print)
    assert url_of(Address("::1", 80), "t") == "http://[::1]:80/?token=t"
    assert Address("127.0.0.1", 8600).accepts(HOST)
    assert Address("0.0.0.0", 8600).accepts("192.0.2.7:8600")
    assert not Address("0.0.0.0", 8600).accepts("evil.example:8600")


def place_of(address: str) -> tuple[str, int]:
    """Return host and port of an address."""
    url = urlsplit(address)
    assert url.hostname is not None
    assert url.port is not None
    return url.hostname, url.port


def ends_in_silence(process: subprocess.Popen[str]) -> bool:
    """Return whether a process ends with 0 and has only said, at its start, that its folder is empty."""
    assert process.stderr is not None
    said = r"note: \S+ holds nothing that the studio shows: what is written there later is shown\n"
    return process.wait(60) == 0 and re.fullmatch(said, process.stderr.read()) is not None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_process_also_with_open_connections(tmp_path: Path, number: signal.Signals) -> None:
    with studio_process(tmp_path, subprocess.PIPE) as (process, address):
        place = place_of(address)
        request = f"GET / HTTP/1.1\r\nHost: {place[0]}:{place[1]}\r\n".encode()
        with socket.create_connection(place, 30) as kept:
            kept.sendall(request + b"\r\n")
            assert kept.recv(100).startswith(b"HTTP/1.1 200")
            with socket.create_connection(place, 30) as half:
                half.sendall(request)
                process.send_signal(number)
                assert ends_in_silence(process)


@pytest.mark.wall_clock  # a stopped process tells nothing: only time makes its pauses due
def test_a_connection_that_comes_with_the_signal_does_not_delay_the_end(tmp_path: Path) -> None:
    with studio_process(tmp_path, subprocess.PIPE) as (process, address):
        process.send_signal(signal.SIGSTOP)
        with socket.create_connection(place_of(address), 30):
            time.sleep(0.3)  # longer than the loop's pause, so that all is due at once when it goes on
            process.send_signal(signal.SIGTERM)
            process.send_signal(signal.SIGCONT)
            assert ends_in_silence(process)
