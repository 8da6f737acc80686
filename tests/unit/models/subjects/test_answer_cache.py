"""Answers on disk: found again, never mixed up, never half, never too many; several processes share them."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from vlm_frames import frame_of

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.models.subjects.answer_cache import AnswerCache, CachedVlm, question_hash
from embodied_iqa.models.subjects.batching import Question, answer_all
from embodied_iqa.world.protocols import SubjectInfo

INFO = SubjectInfo("transformers:m", "1-a", "for tests", (View.TOP,))
LARGE = 10_000_000


class Counting:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.info = INFO
        self.asked: list[tuple[int, str]] = []

    def answer(self, frame: Frame, task: str) -> str:
        self.asked.append((frame.stamp_ns, task))
        return f"{task} {frame.stamp_ns}"


class Batching(Counting):
    """Takes several questions at once."""

    def answer_batch(self, questions: Sequence[Question]) -> list[str]:
        return [self.answer(*question) for question in questions]


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def test_the_same_question_is_asked_once(tmp_path: Path) -> None:
    inner = Batching()
    vlm = CachedVlm(inner, AnswerCache(tmp_path, LARGE))
    questions = [(frame_of(0), "pick"), (frame_of(1), "pick"), (frame_of(0), "pick"), (frame_of(0), "push")]
    assert vlm.answer_batch(questions) == ["pick 0", "pick 1", "pick 0", "push 0"]
    assert inner.asked == [(0, "pick"), (1, "pick"), (0, "push")]
    assert vlm.answer(frame_of(1), "pick") == "pick 1"
    assert CachedVlm(inner, AnswerCache(tmp_path, LARGE)).answer(frame_of(0), "push") == "push 0"
    assert len(inner.asked) == 3
    assert vlm.info == INFO


def test_one_at_a_time_where_the_subject_takes_no_more(tmp_path: Path) -> None:
    inner = Counting()
    questions = [(frame_of(n), "pick") for n in range(3)]
    assert answer_all(inner, questions) == ["pick 0", "pick 1", "pick 2"]
    assert CachedVlm(inner, AnswerCache(tmp_path, LARGE)).answer_batch(questions) == answer_all(
        inner, questions
    )


def test_an_empty_answer_is_an_answer(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path, LARGE)
    cache.put("ab" * 32, "")
    assert cache.get("ab" * 32) == ""


def test_all_that_an_answer_depends_on_is_in_the_hash() -> None:
    frame = frame_of(0)
    turned = replace(frame, rgb=np.ascontiguousarray(frame.rgb.transpose(1, 0, 2)))
    flat = replace(frame, rgb=frame.rgb.reshape(60, 320, 3))
    changed = frame.rgb.copy()
    changed[-1, -1, -1] ^= 1
    hashes = {
        question_hash(INFO, frame, "pick"),
        question_hash(INFO, frame, "push"),
        question_hash(INFO, turned, "pick"),
        question_hash(INFO, flat, "pick"),
        question_hash(INFO, replace(frame, rgb=changed), "pick"),
        question_hash(replace(INFO, version="2"), frame, "pick"),
        question_hash(replace(INFO, name="other"), frame, "pick"),
    }
    assert len(hashes) == 7
    assert question_hash(INFO, replace(frame, stamp_ns=99), "pick") in hashes, (
        "the same image at another time"
    )


@pytest.mark.parametrize(
    "damage", ["", "{", '{"key": "x", "answer": "y"}', "[" * 9999, "[]", "0" * 2_000_000]
)
def test_a_damaged_answer_is_asked_again(tmp_path: Path, damage: str) -> None:
    inner = Counting()
    vlm = CachedVlm(inner, AnswerCache(tmp_path, LARGE))
    vlm.answer(frame_of(0), "pick")
    (file,) = tmp_path.rglob("*.answer")
    file.write_text(damage)
    assert vlm.answer(frame_of(0), "pick") == "pick 0"
    assert len(inner.asked) == 2


def test_the_folder_keeps_to_its_limit_and_what_was_used_last(tmp_path: Path) -> None:
    limit = 20_000
    cache = AnswerCache(tmp_path, limit)
    keys = [f"{n:064x}" for n in range(100)]
    for number, key in enumerate(keys):
        cache.put(key, "x" * 1000)
        for file in tmp_path.rglob(f"{key}.answer"):
            os.utime(file, (number, number))
        assert cache.get(keys[0]) is not None, "used all the time"
        assert size_of(tmp_path) <= 1.06 * limit
    assert cache.get(keys[-1]) is not None
    assert cache.get(keys[1]) is None
    (tmp_path / "00" / "left.part").write_text("y" * 30_000)
    os.utime(tmp_path / "00" / "left.part", (0, 0))
    AnswerCache(tmp_path, limit)
    assert size_of(tmp_path) <= limit


def _fill(folder: str, start: int) -> None:
    cache = AnswerCache(Path(folder), 100_000)
    for number in range(start, start + 150):
        key = f"{number:064x}"
        cache.put(key, f"answer {number} " + "x" * 1000)
        found = cache.get(key)
        assert found is None or found.startswith(f"answer {number} ")


def test_several_processes_share_a_folder(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_fill, args=(str(tmp_path), start)) for start in (0, 75)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    assert size_of(tmp_path) <= 1.15 * 100_000
    assert not list(tmp_path.rglob("*.part"))
    cache = AnswerCache(tmp_path, 100_000)
    kept = [int(file.stem, 16) for file in tmp_path.rglob("*.answer")]
    assert kept
    assert all((cache.get(f"{n:064x}") or "").startswith(f"answer {n} ") for n in kept)


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot keep answers in"):
        AnswerCache(tmp_path / "file" / "sub", LARGE)
