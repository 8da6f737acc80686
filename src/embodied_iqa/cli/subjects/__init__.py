"""`embodied-iqa subjects`: the catalogue, what runs on this machine, and calibration of scores."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from embodied_iqa.cli.node_options import add_consent, add_node_options
from embodied_iqa.cli.parser import perform
from embodied_iqa.cli.plan_options import seed_number

_ACTIONS: Final = {
    "list": "listing:list_catalogue",
    "show": "listing:show_entry",
    "check": "listing:check_subjects",
    "calibrate": "calibrating:calibrate",
    "vision": "vision:list_vision_models",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list the catalogue")
    listing.add_argument("--role", choices=["vlm", "vla"], help="one role only")
    show = actions.add_parser("show", help="show one subject of the catalogue")
    show.add_argument("name", metavar="NAME", help="name of the catalogue")
    check = actions.add_parser("check", help="check which subjects run here, and what the others need")
    check.add_argument("names", metavar="SUBJECT", nargs="*", help="names of subjects")
    check.add_argument("--all", action="store_true", help="the whole catalogue")
    calibrate = actions.add_parser(
        "calibrate", help="measure d_max of a VLA or the document frequencies of a VLM on clean images"
    )
    _configure_calibrate(calibrate)
    vision = actions.add_parser("vision", help="load vision models and list them, with their speed")
    vision.add_argument("models", metavar="MODEL", nargs="+", help="subject name: docs/vision-models.md")
    for action in (listing, show, check, calibrate, vision):
        action.add_argument("--json", action="store_true", help="print the result as JSON")


def _configure_calibrate(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("name", metavar="SUBJECT", help="name of the subject")
    add("--role", choices=["vlm", "vla"], help="role, if the name leaves it open")
    add("--scenes", type=int, default=300, metavar="N", help="number of seeded scenes (default 300)")
    add("--seed", type=seed_number, default=0, metavar="N", help="seed of the scenes (default 0)")
    add_node_options(parser)
    add_consent(parser)
    add(
        "--out",
        type=Path,
        metavar="FILE",
        help="JSON to write (default: in the user's folder, ~/.local/share/embodied-iqa/constants)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the action; return the exit code."""
    return perform(f"{__name__}.{_ACTIONS[arguments.action]}", arguments)
