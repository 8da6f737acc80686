"""`embodied-iqa studio`: databases and runs in the browser."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from urllib.parse import urlsplit

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.lazy import INSTALL_STUDIO, importing
from embodied_iqa.cli.output import print_left_out, print_note
from embodied_iqa.models.subjects.wire.tokens import token_from

_LAST_PORT = 65535


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add(
        "folders",
        type=Path,
        nargs="*",
        metavar="DB|RUN|IMAGES|FOLDER",
        help="databases, runs, experiments, recordings, data sets, videos, images, or folders that hold some "
        "(default: runs, else this folder)",
    )
    add(
        "--host",
        default="127.0.0.1",
        metavar="HOST",
        help="interface (default 127.0.0.1); others than loopback need a token",
    )
    add("--port", type=int, default=8600, metavar="N", help="TCP port, 0 for any free one (default 8600)")
    add("--token-env", default="", metavar="NAME", help="environment variable with the token of the browsers")
    add(
        "--live-gate",
        default="",
        metavar="GATE",
        help="show a gate live at /gate: a proxy, as http://127.0.0.1:8001, or a ROS node, as /gate",
    )
    add(
        "--gate-token-env",
        default="",
        metavar="NAME",
        help="environment variable with the token of the proxy",
    )
    add("--json", action="store_true", help="print the address as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM."""
    if not 0 <= arguments.port <= _LAST_PORT:
        raise UsageError("wrong --port", expected=f"0 to {_LAST_PORT}", got=arguments.port)
    if arguments.gate_token_env and not arguments.live_gate:
        raise UsageError("--gate-token-env needs --live-gate")
    with importing("the studio", INSTALL_STUDIO):
        from embodied_iqa.pages.studio import server
        from embodied_iqa.pages.studio.kit.context import Studio
        from embodied_iqa.pages.studio.kit.security import Address
        from embodied_iqa.pages.studio.kit.sources import fault_of, shows
        from embodied_iqa.pages.studio.watch.gate_page import gate_of
    address = Address(arguments.host, arguments.port)
    token = token_from(arguments.token_env)
    if not token and not address.is_loopback:
        token = server.new_token()
        print(
            f"{arguments.host} can be reached by other machines: only the address with the token opens the "
            "studio. The connection is not encrypted.",
            file=sys.stderr,
        )
    runs = Path("runs")
    folders = arguments.folders or [runs if runs.is_dir() else Path()]
    faults = {folder: fault for folder in folders if (fault := fault_of(folder)) is not None}
    there = [folder for folder in folders if folder not in faults]
    shown = Studio.of(there or folders, token)
    print_left_out(map(str, faults.values()))
    for folder in there if arguments.folders else ():
        if not shows(folder):
            print_note(_nothing_in(folder))
    if arguments.live_gate:
        shown.gate = gate_of(arguments.live_gate, token_from(arguments.gate_token_env))
    server.serve(shown, arguments.host, arguments.port, _say_in_json if arguments.json else _say)
    return 0


def _nothing_in(folder: Path) -> str:
    """Return that the studio finds nothing in a folder, and where its results can be read."""
    page = folder / "report.html"
    where = f"open {page}" if page.is_file() else "what is written there later is shown"
    return f"{folder} holds nothing that the studio shows: {where}"


def _say(url: str) -> None:
    print(f"studio: {url}", flush=True)


def _say_in_json(url: str) -> None:
    print(json.dumps({"address": url, "port": urlsplit(url).port}), flush=True)
