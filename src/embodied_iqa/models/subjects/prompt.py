"""Questions to VLMs and their answers as text, and the version that both give a model."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from types import MappingProxyType
from typing import Final

from embodied_iqa.base.errors import UsageError
from embodied_iqa.models.subjects.subject_options import DecodingOptions

DEFAULT_PROMPT: Final = "ten-words"
QUESTION_PROMPT: Final = "question"
"""Template of questions that need no words around them and end in a full stop."""
PLAN: Final = "plan"
"""Template of planners, whose messages are complete."""

PROMPTS: Final = MappingProxyType(
    {
        "plain": "{task}",
        QUESTION_PROMPT: "{task}.",
        PLAN: "{task}",
        "ten-words": (
            "You see the workspace of a robot arm. Its task: {task}. In about {words} words, say where the "
            "object of the task is and what the robot has to do."
        ),
    }
)
"""Name of a template to its text. The papers ask for about 10 words and do not print their prompt."""
_HASH_DIGITS: Final = 8


def prompt_of(template: str, task: str, words: int) -> str:
    """Return the question for a task, which it contains exactly as it was typed.

    The template's full stop behind the task is left out where the task ends in one.

    Raises:
        UsageError: The template is unknown.
    """
    if template not in PROMPTS:
        raise UsageError("unknown prompt", got=template, available=PROMPTS)
    text = PROMPTS[template]
    text = text.replace("{task}.", "{task}") if task.endswith(".") else text
    return text.format(task=task, words=words)


def tidy(text: str) -> str:
    """Return an answer as one line, without control characters and lone surrogates."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return " ".join("".join(sign if sign.isprintable() else " " for sign in whole).split())


def decoding_version(revision: str, prompt: str, decoding: DecodingOptions) -> str:
    """Return revision and a hash of everything that chooses the words: prompt, length, temperature, seed."""
    choices = asdict(decoding)
    del choices["batch"]
    if decoding.temperature <= 0:
        del choices["seed"]
    text = json.dumps({"prompt": PROMPTS[prompt], **choices}, sort_keys=True)
    return f"{revision}-{hashlib.sha256(text.encode()).hexdigest()[:_HASH_DIGITS]}"
