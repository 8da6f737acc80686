"""`embodied-iqa subjects`: the catalogue, what runs here, and what scores are scaled by."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from embodied_iqa.cli.consent import add_consent
from embodied_iqa.cli.node_options import add_node_options
from embodied_iqa.errors import UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list the catalogue")
    listing.add_argument("--role", choices=["vlm", "vla"], help="of one kind only")
    show = actions.add_parser("show", help="tell all that is known of one subject")
    show.add_argument("name", metavar="NAME", help="name of the catalogue")
    check = actions.add_parser("check", help="say which subjects run here, and what the others lack")
    check.add_argument("names", metavar="SUBJECT", nargs="*", help="name or reference")
    check.add_argument("--all", action="store_true", help="the whole catalogue")
    calibrate = actions.add_parser(
        "calibrate", help="measure d_max of a VLA or the document frequencies of a VLM on clean pictures"
    )
    _configure_calibrate(calibrate)
    for action in (listing, show, check, calibrate):
        action.add_argument("--json", action="store_true", help="print the result as JSON")


def _configure_calibrate(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("name", metavar="SUBJECT", help="name or reference of the subject")
    add("--role", choices=["vlm", "vla"], help="where the reference leaves it open")
    add("--scenes", type=int, default=300, help="seeded scenes to draw (default: 300)")
    add("--seed", type=int, default=0, help="seed of the scenes (default: 0)")
    add_node_options(parser)
    add_consent(parser)
    add(
        "--out",
        type=Path,
        metavar="FILE",
        help="JSON to write (default: the one that ships with the package, or the user's own)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Do what is asked for; return the exit code."""
    if arguments.action == "calibrate":
        from embodied_iqa.cli.subjects_calibrate import calibrate  # noqa: PLC0415 - keeps --help fast

        return calibrate(arguments)
    if arguments.action == "check":
        return _check(arguments)
    from embodied_iqa.cli import subjects_tables as tables  # noqa: PLC0415 - as above
    from embodied_iqa.subjects.catalogue import entries, entry  # noqa: PLC0415

    if arguments.action == "show":
        found = entry(arguments.name)
        if arguments.json:
            print(json.dumps(tables.record_of(found), indent=2))
        else:
            tables.print_entry(found)
        return 0
    chosen = [item for item in entries() if arguments.role in {None, item.role}]
    if arguments.json:
        print(json.dumps([tables.record_of(item) for item in chosen], indent=2))
    else:
        tables.print_catalogue(chosen)
    return 0


def _check(arguments: argparse.Namespace) -> int:
    """Return 0 where all named subjects run here, and always with --all."""
    from embodied_iqa.cli import subjects_tables as tables  # noqa: PLC0415 - keeps --help fast
    from embodied_iqa.subjects.catalogue import entries  # noqa: PLC0415
    from embodied_iqa.subjects.readiness import check_readiness  # noqa: PLC0415

    if bool(arguments.names) == arguments.all:
        raise UsageError("which subjects?", expected="names or references, or --all")
    names = [item.name for item in entries()] if arguments.all else arguments.names
    found = [check_readiness(name) for name in names]
    if arguments.json:
        print(json.dumps([tables.record_of_readiness(item) for item in found], indent=2))
    else:
        tables.print_readiness(found)
    return 0 if arguments.all or all(item.is_ready for item in found) else 1
