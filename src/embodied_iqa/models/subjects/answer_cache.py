"""Cache of answers on disk: a model answers the same question about the same image once.

Each answer is a small file, named by the hash of everything that it depends on. Several processes may share a
folder; the first to find it too large removes the least recently used answers.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.frame import Frame
from embodied_iqa.models.subjects.batching import Question, answer_all
from embodied_iqa.world.protocols import SubjectInfo, Vlm

_FORMAT: Final = 1
_SUFFIX: Final = ".answer"
_MOST_ANSWER_BYTES: Final = 1_000_000
_LOOK_AGAIN: Final = 0.05
"""The folder is measured again after this share of its limit was written."""
_PRUNE_TO: Final = 0.9


def question_hash(info: SubjectInfo, frame: Frame, task: str) -> str:
    """Return the hash of everything that an answer depends on: 64 hexadecimal digits.

    The subject's version covers the model's revision, the prompt and the decoding options.
    """
    head = json.dumps([_FORMAT, info.name, info.version, task, frame.rgb.shape])
    digest = hashlib.sha256(head.encode())
    digest.update(frame.rgb.tobytes())
    return digest.hexdigest()


class AnswerCache:
    """Answers by hash, in a folder of limited size.

    Args:
        folder: Created if missing.
        max_bytes: Largest size; each writing process may exceed it by a twentieth.

    Raises:
        InputError: The folder cannot be written.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise InputError(f"cannot keep answers in {folder}: {error.strerror}") from None
        self._written = 0
        self._prune()

    def get(self, key: str) -> str | None:
        """Return the answer, or None; a damaged file is removed."""
        file = self._file(key)
        try:
            if file.stat().st_size > _MOST_ANSWER_BYTES:
                raise ValueError  # noqa: TRY301 - handled like any other damage
            match json.loads(file.read_text(encoding="utf-8")):
                case {"key": str(found), "answer": str(answer)} if found == key:
                    os.utime(file)
                    return answer
            raise ValueError  # noqa: TRY301 - handled like any other damage
        except OSError:
            return None
        except (ValueError, RecursionError):
            file.unlink(missing_ok=True)
            return None

    def put(self, key: str, answer: str) -> None:
        """Store an answer; with a full disk it is queried again next time."""
        content = json.dumps({"key": key, "answer": answer}).encode()
        file = self._file(key)
        with suppress(OSError):
            file.parent.mkdir(exist_ok=True)
            handle, fresh = tempfile.mkstemp(dir=file.parent, suffix=".part")
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(content)
                os.replace(fresh, file)  # noqa: PTH105 - names the atomic operation
            except OSError:
                Path(fresh).unlink(missing_ok=True)
                raise
        with self._lock:
            self._written += len(content)
            if self._written > _LOOK_AGAIN * self._max_bytes:
                self._prune()

    def _file(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}{_SUFFIX}"

    def _prune(self) -> None:
        """Remove the least recently used answers until nine tenths of the limit remain."""
        self._written = 0
        kept: list[tuple[float, int, Path]] = []
        for pattern in (f"??/*{_SUFFIX}", "??/*.part"):
            for file in self._folder.glob(pattern):
                with suppress(OSError):  # removed by another process
                    state = file.stat()
                    kept.append((state.st_mtime, state.st_size, file))
        total = sum(size for _, size, _ in kept)
        if total <= self._max_bytes:
            return
        for _, size, file in sorted(kept):
            if total <= _PRUNE_TO * self._max_bytes:
                return
            with suppress(OSError):
                file.unlink()
            total -= size


class CachedVlm:
    """A VLM with a cache of answers.

    Args:
        vlm: Answers new questions.
        cache: Earlier answers.
    """

    def __init__(self, vlm: Vlm, cache: AnswerCache) -> None:
        self._vlm = vlm
        self.info = vlm.info
        self._cache = cache

    def answer(self, frame: Frame, task: str) -> str:
        """Answer from the cache, or by the model."""
        return self.answer_batch([(frame, task)])[0]

    def answer_batch(self, questions: Sequence[Question]) -> list[str]:
        """Answer each question; only new ones reach the model."""
        keys = [question_hash(self.info, frame, task) for frame, task in questions]
        known = {key: self._cache.get(key) for key in dict.fromkeys(keys)}
        new = {key: question for key, question in zip(keys, questions, strict=True) if known[key] is None}
        if new:
            for key, answer in zip(new, answer_all(self._vlm, list(new.values())), strict=True):
                self._cache.put(key, answer)
                known[key] = answer
        return [text for key in keys if (text := known[key]) is not None]
