"""What a VLM is asked: the task in the words of a template."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from embodied_iqa.errors import UsageError

__all__ = ["DEFAULT_PROMPT", "PROMPTS", "prompt_of"]

DEFAULT_PROMPT: Final = "ten-words"

PROMPTS: Final = MappingProxyType(
    {
        "plain": "{task}",
        "ten-words": (
            "You see the workspace of a robot arm. Its task: {task}. In about {words} words, say where the "
            "object of the task is and what the robot has to do."
        ),
    }
)
"""Name of a template to its text. The papers ask for about 10 words and do not print their prompt."""


def prompt_of(template: str, task: str, words: int) -> str:
    """Return the question for a task.

    Raises:
        UsageError: There is no such template.
    """
    if template not in PROMPTS:
        raise UsageError("unknown prompt", got=template, available=PROMPTS)
    return PROMPTS[template].format(task=task.strip().rstrip("."), words=words)
