"""The consent to run the code of a checkpoint, as one flag wherever a subject is loaded."""

from __future__ import annotations

import argparse
from typing import Final

_OPTION: Final = "loading.trust_remote_code=true"


def add_consent(parser: argparse.ArgumentParser) -> None:
    """Add `--trust-remote-code`."""
    parser.add_argument(
        "--trust-remote-code",
        action="store_true",
        help="run Python code of the checkpoint; takes the very revision in the subject's name too",
    )


def with_consent(arguments: argparse.Namespace, *nodes: str) -> list[str]:
    """Return the words of `--set`, and the consent where it was given.

    Args:
        arguments: With `set` and `trust_remote_code`.
        nodes: Whose option it is; none: it has no node in front.
    """
    words = list(arguments.set)
    if arguments.trust_remote_code:
        words += [f"{node}.{_OPTION}" for node in nodes] or [_OPTION]
    return words
