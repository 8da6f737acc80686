"""`embodied-iqa push`: an export for Hugging Face to the Hub, after a person's consent."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.cli.output import print_json, printable
from embodied_iqa.data.export.pushing import Hub, Repository, Upload

_MEGABYTE = 1e6


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("export", type=Path, metavar="DIR", help="written by `embodied-iqa export --format hf`")
    add("--repository", required=True, metavar="OWNER/NAME", help="data set on the Hugging Face Hub")
    add("--public", action="store_true", help="everybody sees a new repository (default: its owner alone)")
    add("--update", action="store_true", help="the repository holds an earlier upload")
    add("--yes", action="store_true", help="upload without asking")
    add("--json", action="store_true", help="print the commit and its files as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Say what goes where and who sees it, ask, upload; return the exit code: 1 without consent."""
    upload = Upload.of_export(arguments.export, arguments.repository)
    hub = Hub()
    repository = hub.find(upload.repository)
    _check(repository, arguments)
    is_private = not arguments.public if repository.is_private is None else repository.is_private
    seen_by = "its owner alone sees it" if is_private else "everybody sees it"
    files = f"{len(upload.files)} files, {upload.size_bytes / _MEGABYTE:.1f} MB, licence {upload.licence}"
    print(f"upload: {files}\nto: {repository.url}; {seen_by}", file=sys.stderr)
    for name in upload.stays:
        print(printable(f"stays here: {name}"), file=sys.stderr)
    if not arguments.yes and not _agrees(upload.repository):
        print("embodied-iqa: nothing was uploaded", file=sys.stderr)
        return 1
    commit = hub.push(upload, repository, public=arguments.public)
    if arguments.json:
        tree = {"repository": repository.url, "commit": commit, "private": is_private}
        print_json(tree | {"files": upload.files})
    else:
        print(commit)
    return 0


def _check(repository: Repository, arguments: argparse.Namespace) -> None:
    if repository.files and not arguments.update:
        raise InputError(
            f"{repository.url} holds {len(repository.files)} files already",
            expected="--update, or another --repository",
        )
    if repository.is_private and arguments.public:
        raise UsageError(f"{repository.url} is private: make it public on its page", expected="no --public")


def _agrees(name: str) -> bool:
    """Return whether the person at the terminal types the repository's name."""
    if not sys.stdin.isatty():
        raise UsageError("nobody can be asked without a terminal", expected="--yes to upload without asking")
    print(f"Upload? Type {name} to do so: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip() == name
