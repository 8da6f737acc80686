"""`embodied-iqa serve`: a policy server with openpi's protocol."""

from __future__ import annotations

import argparse
import json

from embodied_iqa.base.config import build
from embodied_iqa.cli.node_options import add_consent, overrides_of, with_consent
from embodied_iqa.cli.output import next_command, print_progress
from embodied_iqa.cli.plan_options import add_plan_options, read_plan
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.models.subjects.reference import parse_reference
from embodied_iqa.models.subjects.serving.listener import ServingOptions
from embodied_iqa.models.subjects.serving.served import ServedSubject, serve_vla, serve_vlm
from embodied_iqa.models.subjects.serving.server import PolicyServer
from embodied_iqa.models.subjects.subject_options import VlaOptions, VlmOptions
from embodied_iqa.models.subjects.wire.tokens import token_from


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("subject", metavar="SUBJECT", help="subject name, see docs/subjects.md")
    role = "role, if the form of SUBJECT leaves it open (transformers:PATH; default vlm)"
    add("--role", choices=[str(role) for role in Role], help=role)
    options = ("host", "port", "most_waiting", "most_at_once as batch")
    add_plan_options(parser, ServingOptions, *options, host="HOST")
    add("--token-env", default="", metavar="NAME", help="environment variable with the token of the clients")
    example = "option of the subject, such as loading.device=cuda or policy.convention=pi0-libero"
    add("--set", action="append", default=[], metavar="OPTION=VALUE", help=example)
    add_consent(parser)
    add("--json", action="store_true", help="print the address and the subject's metadata as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM."""
    token = token_from(arguments.token_env)
    settings = read_plan(ServingOptions, arguments, token=token)
    subject = _subject(arguments)

    def ready(port: int) -> None:
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        address = f"openpi://{host}:{port}"
        if arguments.json:
            print(json.dumps({**subject.metadata, "address": address, "port": port}), flush=True)
        else:
            print(f"serving {subject.info.name} at {address} (Ctrl+C ends)", flush=True)
            next_command("trial", f"--{subject.role}", address)

    PolicyServer(subject, settings).run(ready)
    return 0


def _subject(arguments: argparse.Namespace) -> ServedSubject:
    reference = parse_reference(arguments.subject, arguments.role and Role(arguments.role))
    what = f"the options of {reference}"
    values = overrides_of(with_consent(arguments), "an option", "option=value")
    if reference.role is Role.VLA:
        return serve_vla(reference, build(VlaOptions, values, what), print_progress)
    return serve_vlm(reference, build(VlmOptions, values, what), print_progress)
