"""`python -m policy_host`: loads the policy of this image and serves it by openpi's protocol."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

from embodied_iqa.base.errors import EmbodiedIqaError, InputError, UsageError
from embodied_iqa.base.lazy import load
from embodied_iqa.models.subjects.actions.table import CONVENTIONS, convention_of
from embodied_iqa.models.subjects.serving.listener import ServingOptions
from embodied_iqa.models.subjects.serving.server import PolicyServer
from policy_host.checkpoint import Consent, check_consent, locate
from policy_host.contract import Family, PolicyRequest
from policy_host.hosted import HostedPolicy
from policy_host.observation import FORMS

_CONSENTS: Final = {
    "--trust-remote-code": "the checkpoint's own code may run",
    "--accept-pickles": "pickled weights may be opened",
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see --help)")


def main(words: Sequence[str] | None = None) -> int:
    """Serve until SIGINT or SIGTERM; 0 done, 1 failed, 2 wrong arguments."""
    try:
        arguments = _parser().parse_args(words)
        settings = _settings(arguments)
        hosted = _host(arguments)
        PolicyServer(hosted, settings).run(lambda port: _say_ready(hosted, settings.host, port))
    except EmbodiedIqaError as error:
        print(f"policy_host: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="policy_host", description=__doc__)
    add = parser.add_argument
    add("--policy", default="policy", metavar="MODULE", help="module with the family (default policy)")
    add("--model", required=True, metavar="MODEL", help="folder, or repository owner/name in --models")
    add("--revision", default="", metavar="COMMIT", help="commit of the repository, or hash of the folder")
    add("--models", type=Path, default=Path(os.environ.get("HF_HUB_CACHE", "/models")), metavar="FOLDER",
        help="the Hub's cache (default $HF_HUB_CACHE, else /models)")  # fmt: skip
    add("--convention", default="", choices=["", *CONVENTIONS], metavar="NAME",
        help="what the actions mean; needed where the family has several")  # fmt: skip
    add("--unnorm-key", default="", metavar="KEY", help="data set whose statistics give units")
    add("--device", default="cuda", choices=["cuda", "cpu"])
    add("--seed", type=int, default=0, metavar="N", help="of the noise that a policy draws (default 0)")
    add("--set", action="append", default=[], metavar="OPTION=VALUE", help="option of the family")
    for flag, what in _CONSENTS.items():
        variable = flag.upper().lstrip("-").replace("-", "_")
        yes = os.environ.get(variable) == "yes"
        add(flag, action="store_true", default=yes, help=f"{what} (or {variable}=yes)")
    add("--host", default="127.0.0.1", metavar="HOST", help="others than loopback need --token-env")
    add("--port", type=int, default=8000, metavar="N", help="0 for any free one (default 8000)")
    add("--token-env", default="", metavar="NAME", help="environment variable with the clients' token")
    add("--most-waiting", type=int, default=4, metavar="N", help="questions that wait at most (default 4)")
    return parser


def _settings(arguments: argparse.Namespace) -> ServingOptions:
    variable = arguments.token_env
    token = os.environ.get(variable, "") if variable else ""
    if variable and not token:
        raise UsageError(f"the environment variable {variable} holds no token")
    if arguments.most_waiting < 1:
        raise UsageError("wrong --most-waiting", expected="1 or more", got=arguments.most_waiting)
    return ServingOptions(
        host=arguments.host, port=arguments.port, token=token, most_waiting=arguments.most_waiting
    )


def _host(arguments: argparse.Namespace) -> HostedPolicy:
    family = _family(arguments.policy)
    convention = convention_of(_convention(family, arguments.convention))
    if convention.observation not in FORMS:
        raise UsageError(f"{convention.name} is not for hosted policies; use `embodied-iqa serve`")
    options = _options(arguments.set)
    family.check_options(options)
    located = locate(arguments.model, arguments.revision, arguments.models)
    consent = Consent(remote_code=arguments.trust_remote_code, pickles=arguments.accept_pickles)
    check_consent(family, located, consent, arguments.revision)
    print(f"policy_host: loading {located.name} at {located.revision}", file=sys.stderr, flush=True)
    request = PolicyRequest(
        folder=located.folder,
        name=located.name,
        convention=convention.name,
        device=arguments.device,
        unnorm_key=arguments.unnorm_key,
        seed=arguments.seed,
        options=options,
    )
    return HostedPolicy(family.load(request), family.name, located.name, located.revision, convention)


def _family(module: str) -> Family:
    family = getattr(load(module), "FAMILY", None)
    if not isinstance(family, Family):
        raise InputError(f"the module {module} has no FAMILY")
    return family


def _convention(family: Family, given: str) -> str:
    if given and family.conventions and given not in family.conventions:
        raise UsageError(f"unknown convention of {family.name}", got=given, available=family.conventions)
    if not given and len(family.conventions) != 1:
        raise UsageError(
            f"what do the actions of this {family.name} policy mean?",
            expected="--convention",
            available=family.conventions or CONVENTIONS,
        )
    return given or family.conventions[0]


def _options(words: Sequence[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError("--set takes an option and a value", expected="OPTION=VALUE", got=word)
        values[name] = value
    return values


def _say_ready(hosted: HostedPolicy, host: str, port: int) -> None:
    print(json.dumps({**hosted.metadata, "address": f"openpi://{host}:{port}", "port": port}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
