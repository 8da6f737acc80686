"""Starts openpi's own server, `scripts/serve_policy.py`, on a local checkpoint.

openpi's server has no token: use it on a network of the robot's containers only.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

_COMMIT: Final = re.compile(r"[0-9a-f]{40}\Z")
_TOKENIZER: Final = "models--physical-intelligence--fast/refs/main"
_WORDS: Final = "big_vision/paligemma_tokenizer.model"


class _WrongUseError(Exception):
    pass


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _WrongUseError(message)


def main(words: Sequence[str] | None = None) -> int:
    """Become openpi's server; return 2 if something is missing."""
    try:
        become = command(sys.argv[1:] if words is None else words, os.environ)
        prepare(os.environ)
    except _WrongUseError as error:
        print(f"openpi: {error}", file=sys.stderr)
        return 2
    os.execv(become[0], become)  # noqa: S606 - no shell: what argparse let through goes in as it is
    return 1  # not reached: this process has become the server


def prepare(variables: Mapping[str, str]) -> None:
    """Copy PaliGemma's vocabulary to openpi's writable data folder.

    Raises:
        _WrongUseError: It is missing.
    """
    kept = Path(variables.get("OPENPI_ASSETS", "/models/openpi")) / _WORDS
    if not kept.is_file():
        raise _WrongUseError(f"{kept} is missing: gs://{_WORDS} belongs there")
    used = Path(variables.get("OPENPI_DATA_HOME", "/tmp/openpi")) / _WORDS  # noqa: S108 - the container's own
    used.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(kept, used)


def command(words: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    """Return the command line of openpi's server.

    Raises:
        _WrongUseError: A file, a consent or a revision is missing.
    """
    arguments = _parser(variables).parse_args(words)
    folder: Path = arguments.dir
    if not folder.is_dir():
        raise _WrongUseError(f"no checkpoint in {folder}; nothing is fetched here")
    if "fast" in arguments.config:
        _check_code(arguments, Path(variables.get("HF_HUB_CACHE", "/models")))
    return [
        sys.executable,
        str(arguments.root / "scripts" / "serve_policy.py"),
        f"--port={arguments.port}",
        "policy:checkpoint",
        f"--policy.config={arguments.config}",
        f"--policy.dir={folder}",
    ]


def _parser(variables: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = _Parser(prog="openpi", description=__doc__)
    add = parser.add_argument
    add("--config", required=True, metavar="NAME", help="training configuration, such as pi0_libero")
    add("--dir", type=Path, required=True, metavar="FOLDER", help="checkpoint: params/ and assets/")
    add("--port", type=int, default=8000, metavar="N")
    add("--root", type=Path, default=Path("/opt/openpi"), metavar="FOLDER", help="openpi's sources")
    add(
        "--trust-remote-code",
        action="store_true",
        default=variables.get("TRUST_REMOTE_CODE") == "yes",
        help="the FAST tokenizer's own code may run (or TRUST_REMOTE_CODE=yes)",
    )
    add("--tokenizer-revision", default="", metavar="COMMIT", help="of physical-intelligence/fast")
    return parser


def _check_code(arguments: argparse.Namespace, models: Path) -> None:
    """Refuse pi0-FAST without consent, because openpi runs the code of physical-intelligence/fast."""
    if not arguments.trust_remote_code:
        raise _WrongUseError("the FAST tokenizer is code of its repository; --trust-remote-code consents")
    if not _COMMIT.match(arguments.tokenizer_revision):
        raise _WrongUseError("--trust-remote-code needs --tokenizer-revision with the 40 digits of a commit")
    reference = models / _TOKENIZER
    found = reference.read_text(encoding="ascii").strip() if reference.is_file() else "nothing"
    if found != arguments.tokenizer_revision:
        raise _WrongUseError(
            f"{reference} names {found}, not {arguments.tokenizer_revision}: this is what would run"
        )


if __name__ == "__main__":
    sys.exit(main())
