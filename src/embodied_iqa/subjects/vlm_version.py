"""The version of a VLM: changes whenever its answers can."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Final

from embodied_iqa.subjects.options import DecodingOptions
from embodied_iqa.subjects.prompt import PROMPTS

__all__ = ["decoding_version"]

_LETTERS: Final = 8
_WITHOUT_EFFECT: Final = frozenset({"batch"})


def decoding_version(revision: str, prompt: str, decoding: DecodingOptions) -> str:
    """Return revision and a hash of all that chooses the words: prompt, length, temperature, seed."""
    choices = {key: value for key, value in asdict(decoding).items() if key not in _WITHOUT_EFFECT}
    if not decoding.temperature:
        choices.pop("seed")
    text = json.dumps({"prompt": PROMPTS[prompt], **choices}, sort_keys=True)
    return f"{revision}-{hashlib.sha256(text.encode()).hexdigest()[:_LETTERS]}"
