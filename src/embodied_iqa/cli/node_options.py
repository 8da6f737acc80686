"""`--config` and `--set`: how subjects are loaded, in the words of the ROS parameters."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import yaml

from embodied_iqa.config import Scalar
from embodied_iqa.errors import UsageError

__all__ = ["add_node_options", "overrides_of"]


def add_node_options(parser: argparse.ArgumentParser) -> None:
    """Add the two arguments."""
    add = parser.add_argument
    add("--config", type=Path, action="append", default=[], metavar="FILE", help="ROS parameter file")
    add("--set", action="append", default=[], metavar="NODE.PARAMETER=VALUE", help="one parameter")


def overrides_of(words: Sequence[str]) -> dict[str, Scalar]:
    """Return what `--set` says.

    Raises:
        UsageError: A word is not ``node.parameter=value``.
    """
    overrides: dict[str, Scalar] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageError("--set takes a parameter and a value", expected="node.parameter=value", got=word)
        overrides[name] = yaml.safe_load(value)
    return overrides
