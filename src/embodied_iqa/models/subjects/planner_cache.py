"""Cache of plans: a planner answers the same conversation once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Final

from embodied_iqa.models.subjects.answer_cache import AnswerCache
from embodied_iqa.world.protocols import Message, Planner, SubjectInfo, close_subject

_FORMAT: Final = "plan 1"


def conversation_hash(info: SubjectInfo, messages: Sequence[Message], schema: str) -> str:
    """Return the hash of everything that a plan depends on: 64 hexadecimal digits.

    The subject's version covers the model's revision and the decoding options.
    """
    digest = hashlib.sha256(json.dumps([_FORMAT, info.name, info.version, schema]).encode())
    for message in messages:
        for part in message.parts:
            content = part.encode("utf-8", "replace") if isinstance(part, str) else part.tobytes()
            shape = "text" if isinstance(part, str) else part.shape
            digest.update(json.dumps([message.speaker, shape, len(content)]).encode())
            digest.update(content)
    return digest.hexdigest()


class CachedPlanner:
    """A planner with a cache of its answers.

    Args:
        planner: Answers new conversations.
        cache: Earlier answers.
    """

    def __init__(self, planner: Planner, cache: AnswerCache) -> None:
        self._planner = planner
        self.info = planner.info
        self._cache = cache

    def plan(self, messages: Sequence[Message], schema: str = "") -> str:
        """Answer from the cache, or by the model."""
        key = conversation_hash(self.info, messages, schema)
        known = self._cache.get(key)
        if known is None:
            known = self._planner.plan(messages, schema)
            self._cache.put(key, known)
        return known

    def close(self) -> None:
        """Close the planner."""
        close_subject(self._planner)
