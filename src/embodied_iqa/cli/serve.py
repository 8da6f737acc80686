"""`embodied-iqa serve`: offers a subject to other machines by openpi's protocol."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from embodied_iqa.cli.consent import add_consent, with_consent
from embodied_iqa.cli.node_options import overrides_of
from embodied_iqa.errors import UsageError

if TYPE_CHECKING:
    from embodied_iqa.subjects.serving.served import ServedSubject
    from embodied_iqa.subjects.serving.server import ServerSettings

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("subject", metavar="SUBJECT", help="name of the catalogue, or where it is: see `subjects list`")
    add(
        "--vla", action="store_true", help="SUBJECT is a VLA where the name does not tell (transformers:PATH)"
    )
    add("--host", default="127.0.0.1", metavar="HOST", help="interface; others than loopback need a token")
    add("--port", type=int, default=8000, metavar="N", help="TCP port, 0 for any free one (default 8000)")
    add("--token-env", default="", metavar="NAME", help="environment variable with the token of the clients")
    add("--most-waiting", type=int, default=16, metavar="N", help="questions that wait at most (default 16)")
    add("--batch", type=int, default=8, metavar="N", help="questions answered at once at most (default 8)")
    add(
        "--set",
        action="append",
        default=[],
        metavar="OPTION=VALUE",
        help="option of the subject, such as loading.device=cuda or policy.convention=pi0-libero",
    )
    add_consent(parser)
    add("--json", action="store_true", help="say where it listens as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM."""
    from embodied_iqa.subjects.serving.server import PolicyServer  # noqa: PLC0415 - start-up stays short

    settings = _settings(arguments)
    subject = _subject(arguments)

    def ready(port: int) -> None:
        address = f"openpi://{_bracketed(settings.host)}:{port}"
        if arguments.json:
            print(json.dumps({**subject.metadata, "address": address, "port": port}), flush=True)
        else:
            print(f"serving {subject.info.name} at {address} (Ctrl+C ends)", flush=True)

    PolicyServer(subject, settings).run(ready)
    return 0


def _settings(arguments: argparse.Namespace) -> ServerSettings:
    from embodied_iqa.subjects.serving.server import ServerSettings  # noqa: PLC0415 - as above
    from embodied_iqa.subjects.wire.policy_client import token_from  # noqa: PLC0415 - as above

    for name in ("most_waiting", "batch"):
        if getattr(arguments, name) < 1:
            raise UsageError(
                f"wrong --{name.replace('_', '-')}", expected="1 or more", got=getattr(arguments, name)
            )
    return ServerSettings(
        host=arguments.host,
        port=arguments.port,
        token=token_from(arguments.token_env),
        most_waiting=arguments.most_waiting,
        most_at_once=arguments.batch,
    )


def _subject(arguments: argparse.Namespace) -> ServedSubject:
    from embodied_iqa.config import build  # noqa: PLC0415 - as above
    from embodied_iqa.subjects.options import VlaOptions, VlmOptions  # noqa: PLC0415 - as above
    from embodied_iqa.subjects.registry import Role, role_of  # noqa: PLC0415 - as above
    from embodied_iqa.subjects.serving.served import serve_vla, serve_vlm  # noqa: PLC0415 - as above

    name, what = arguments.subject, f"the options of {arguments.subject}"
    role = Role.VLA if arguments.vla else role_of(name)
    values = overrides_of(with_consent(arguments), "an option", "option=value")
    if role is Role.VLA:
        return serve_vla(name, build(VlaOptions, values, what), _progress)
    return serve_vlm(name, build(VlmOptions, values, what), _progress)


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
