"""VLAs in Hugging Face transformers; families that it would run wrongly are refused."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.models.subjects.backends.transformers.pi0 import load_pi0
from embodied_iqa.models.subjects.checkpoints import open_checkpoint, read_json
from embodied_iqa.models.subjects.reference import SubjectReference
from embodied_iqa.models.subjects.subject_options import VlaRequest
from embodied_iqa.world.protocols import Vla

_PI0: Final = "pi0"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a family does not run in this process, and where it does."""

    reason: str
    way_out: str


REFUSED: Final = {
    "openvla": Refusal(
        "its code is written for transformers 4.40.1, and since 4.50 it silently gives the same action "
        "for any image",
        "OpenVLA's vla-scripts/deploy.py in its own environment, and openvla-7b=openvla+http://HOST:8000/act",
    ),
    "prismatic": Refusal(
        "CogACT and Prismatic checkpoints need their own repository",
        "a server in their own environment, and cogact-base=openpi://HOST:8000",
    ),
    "octo": Refusal("Octo needs JAX", "a server in its own environment, and octo-base=openpi://HOST:8000"),
    "smolvla": Refusal(
        "SmolVLA is LeRobot's, which needs an older transformers",
        "a server in its own environment, and openpi://HOST:8000",
    ),
}
"""Refused families."""


def make(request: VlaRequest) -> Vla:
    """Load a VLA, ready to act.

    Raises:
        UserError: It is refused, a library is missing, or it does not fit.
    """
    _refuse(_family_of_folder(request.reference), request.reference)
    checkpoint = open_checkpoint(request.reference, request.options.loading, request.progress)
    _refuse(checkpoint.family, request.reference)
    if checkpoint.family != _PI0:
        raise InputError(
            f"{request.reference} is not a VLA that transformers runs",
            expected="a checkpoint of type pi0, or a policy server (openpi://HOST:PORT)",
            got=checkpoint.family or "no model_type in config.json",
        )
    return load_pi0(checkpoint, request)


def _family_of_folder(reference: SubjectReference) -> str:
    """Return the family of a folder or repository before anything else is checked, such as consent."""
    config = Path(reference.target).expanduser() / "config.json"
    if reference.is_local_folder and config.is_file():
        return str(read_json(config).get("model_type", ""))
    name = reference.target.lower()
    return next((family for family in REFUSED if family in name), "") if "/" in name else ""


def _refuse(family: str, reference: SubjectReference) -> None:
    if family in REFUSED:
        refusal = REFUSED[family]
        raise InputError(
            f"{reference} does not run in this process: {refusal.reason}", expected=refusal.way_out
        )
