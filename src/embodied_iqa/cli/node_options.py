"""`--config`, `--set` and `--trust-remote-code`: ROS parameters on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from embodied_iqa.base.config import Scalar
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.user_files.yaml_files import parse_yaml

_FORM: Final = "node.parameter=value"
_CONSENT: Final = "loading.trust_remote_code=true"
_OPTIONS: Final[Mapping[str, str]] = {
    "arm_node.model": "--model",
    "arm_node.robot": "--robot",
    "arm_node.ur.ip": "--robot-ip",
    "camera_node.path": "--camera-path",
    "camera_node.source": "--camera",
    "gate_node.calibration": "--calibration",
    "gate_node.judge.kind": "--judge",
    "gate_node.judge.mode": "--gate",
    "vla_node.subject": "--vla",
    "vlm_node.subject": "--vlm",
}
"""Parameters that an option sets, too; the views of every node are set by `--view`."""


def add_node_options(parser: argparse.ArgumentParser) -> None:
    """Add `--config` and `--set`."""
    add = parser.add_argument
    one = "one parameter, after all files; may be repeated"
    add(
        "--config",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="ROS parameter file; may be repeated, later ones win",
    )
    add("--set", action="append", default=[], metavar="NODE.PARAMETER=VALUE", help=one)


def add_consent(parser: argparse.ArgumentParser) -> None:
    """Add `--trust-remote-code`."""
    parser.add_argument(
        "--trust-remote-code",
        action="store_true",
        help="run Python code of the checkpoint; also needs the exact revision in the subject's name",
    )


def with_consent(arguments: argparse.Namespace, *nodes: str) -> list[str]:
    """Return the words of `--set`, and the consent if it is given.

    Args:
        arguments: With `set` and `trust_remote_code`.
        nodes: Nodes to set it for; none for an option without a node in front.
    """
    words = list(arguments.set)
    if arguments.trust_remote_code:
        words += [f"{node}.{_CONSENT}" for node in nodes] or [_CONSENT]
    return words


def overrides_of(words: Sequence[str], what: str = "a parameter", form: str = _FORM) -> dict[str, Scalar]:
    """Return the values of `--set`.

    Args:
        words: Name, equals sign and value as YAML.
        what: What a word sets, for the message.
        form: Form of a word, for the message.

    Raises:
        UsageError: A word is not of that form, or its value is not YAML.
    """
    overrides: dict[str, Scalar] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"--set takes {what} and a value", expected=form, got=word)
        try:
            overrides[name] = parse_yaml(value, f"the value of {name}")
        except InputError as error:
            raise UsageError(str(error)) from None
    return overrides


def with_settings(named: Mapping[str, Scalar], words: Sequence[str]) -> dict[str, Scalar]:
    """Return the parameters that options set, and those of `--set`.

    Args:
        named: ``node.parameter`` to value, of the options that were given.
        words: Of `--set`.

    Raises:
        UsageError: A word is wrong, or an option and `--set` set the same parameter.
    """
    settings = overrides_of(words)
    twice = next((name for name in settings if name in named), None)
    if twice is not None:
        option = _OPTIONS.get(twice, "--view")
        raise UsageError(f"{option} and --set set the same parameter", expected="one of them", got=twice)
    return {**named, **settings}
