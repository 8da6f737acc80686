"""The journal keeps every accepted edit, finds damage, and refuses contradicting edits."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.journal.changes import (
    Edit,
    JudgeRun,
    Reject,
    Settle,
    TaskVerdict,
    Undo,
    Verdict,
    Verify,
    WriteLabels,
    WriteTasks,
    WrittenTask,
    edit_of,
    edit_tree,
)
from embodied_iqa.data.journal.journal import ConflictError, Journal, unchanged_since
from embodied_iqa.data.journal.log import MAX_LINE_BYTES, JournalFile
from embodied_iqa.data.journal.reservations import LIFETIME_S, Reservations
from embodied_iqa.data.journal.view import Verification
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.world.tasks.vocabulary import Verb
from live_process import running_program

TEXTS = ("pick the red cube", "push the cube that is left of the bowl")


def tasks(*texts: str) -> WriteTasks:
    return WriteTasks("r1", tuple(WrittenTask(rank, text, Verb.PICK) for rank, text in enumerate(texts, 1)))


def verdicts(*texts: str, last: Verdict = Verdict.FITS) -> tuple[TaskVerdict, ...]:
    return (*(TaskVerdict(text, Verdict.FITS) for text in texts[:-1]), TaskVerdict(texts[-1], last))


def write(journal: Journal, *changes: object, person: str = "anna") -> None:
    for change in changes:
        journal.append(change, person, "test")  # type: ignore[arg-type]


def test_every_kind_comes_back_as_it_was(tmp_path: Path) -> None:
    changes = [
        tasks(*TEXTS),
        WriteLabels("r1", "toy", None, "w\u00fcste"),
        Reject("r2", "blurred"),
        Verify("r1", True, verdicts(*TEXTS, last=Verdict.UNCLEAR)),
        Settle("r1", verdicts(*TEXTS)),
        JudgeRun("t", "pick", 1, Outcome.FAILURE, 12.5, "slipped", "0" * 64 + ".jpg"),
        Undo(3),
    ]
    write(Journal(tmp_path), *changes)
    assert [edit.change for edit in Journal(tmp_path).view().edits] == changes
    assert Journal(tmp_path).view().edits[0].person == "anna"
    assert abs(Journal(tmp_path).view().edits[0].stamp_ns - time.time_ns()) < 600 * SECOND_NS


def test_two_journals_of_one_folder_see_each_other(tmp_path: Path) -> None:
    first, second = Journal(tmp_path), Journal(tmp_path)
    write(first, tasks("a b"))
    write(second, tasks("c d"))
    write(first, tasks("e f"))
    assert [edit.sequence for edit in second.view().edits] == [1, 2, 3]


def test_threads_lose_nothing(tmp_path: Path) -> None:
    journals = [Journal(tmp_path), Journal(tmp_path)]

    def work(number: int) -> None:
        for count in range(10):
            write(journals[number % 2], tasks(f"task {number} {count}"))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = {edit.change.tasks[0].text for edit in Journal(tmp_path).view().edits}  # type: ignore[union-attr]
    assert found == {f"task {number} {count}" for number in range(4) for count in range(10)}


@pytest.mark.parametrize("kept", [1, 20, -1])
def test_a_cut_last_line_is_set_aside_and_the_rest_stays(tmp_path: Path, kept: int) -> None:
    write(Journal(tmp_path), tasks("a b"), tasks("c d"))
    file = tmp_path / "journal" / "edits.jsonl"
    whole = file.read_bytes()
    last = whole.splitlines(keepends=True)[1]
    file.write_bytes(whole[: -len(last)] + last[:kept])
    journal = Journal(tmp_path)
    assert journal.cut_bytes() == len(last[:kept])
    assert [edit.change for edit in journal.view().edits] == [tasks("a b")]
    write(journal, tasks("e f"))
    assert [edit.change for edit in Journal(tmp_path).view().edits] == [tasks("a b"), tasks("e f")]
    assert (tmp_path / "journal" / "edits.cut").read_bytes() == last[:kept] + b"\n"
    assert Journal(tmp_path).cut_bytes() == 0


@pytest.mark.parametrize("damage", ["changed", "missing", "swapped", "no json", "carriage return"])
def test_damage_is_named_with_its_line_and_nothing_is_written(tmp_path: Path, damage: str) -> None:
    write(Journal(tmp_path), *(tasks(f"task {n}") for n in range(4)))
    file = tmp_path / "journal" / "edits.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    if damage == "changed":
        lines[1] = lines[1].replace(b"task 1", b"task 9")
    elif damage == "missing":
        del lines[1]
    elif damage == "swapped":
        lines[1:3] = [lines[2], lines[1]]
    elif damage == "no json":
        lines[1] = b"x" * len(lines[1][1:]) + b"\n"
    else:
        lines[1] = lines[1][:-1] + b"\r"
    file.write_bytes(b"".join(lines))
    before = file.read_bytes()
    with pytest.raises(InputError, match=r"edits\.jsonl:2"):
        Journal(tmp_path).view()
    with pytest.raises(InputError, match=r"edits\.jsonl:2"):
        write(Journal(tmp_path), tasks("new one"))
    assert file.read_bytes() == before


def test_a_journal_that_shrank_is_refused(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    write(journal, tasks("a b"))
    file = tmp_path / "journal" / "edits.jsonl"
    file.write_bytes(b"")
    with pytest.raises(InputError, match="shorter"):
        journal.view()
    file.unlink()
    with pytest.raises(InputError, match="gone"):
        journal.view()


def test_lines_are_bounded(tmp_path: Path) -> None:
    file = JournalFile(tmp_path / "edits.jsonl")
    with file.writing() as stream:
        file.catch_up(stream)
        with pytest.raises(UsageError, match="too long"):
            file.append(stream, [{"text": "x"}, {"text": "x" * MAX_LINE_BYTES}])
        file.append(stream, [{"text": "x"}])
    assert JournalFile(tmp_path / "edits.jsonl").read() == [{"text": "x"}]


def test_a_full_disk_leaves_the_file_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path)
    write(journal, tasks("a b"))
    before = (tmp_path / "journal" / "edits.jsonl").read_bytes()

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left"):
        write(journal, tasks("c d"))
    monkeypatch.undo()
    assert (tmp_path / "journal" / "edits.jsonl").read_bytes() == before
    write(journal, tasks("e f"))
    assert len(Journal(tmp_path).view().edits) == 2


def test_undo_and_redo(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    write(journal, tasks("first one"), tasks("second one"))
    with pytest.raises(ConflictError, match="edit 2 of anna replaces it"):
        write(journal, Undo(1))
    write(journal, Undo(2))
    assert journal.view().reference("r1").tasks.change == tasks("first one")  # type: ignore[union-attr]
    with pytest.raises(ConflictError, match="undone already"):
        write(journal, Undo(2))
    write(journal, Undo(3))
    assert journal.view().reference("r1").tasks.change == tasks("second one")  # type: ignore[union-attr]
    write(journal, Undo(4), Reject("r1", "dark"), Undo(6))
    state = Journal(tmp_path).view().reference("r1")
    assert state.rejection is None
    assert state.tasks.change == tasks("first one")  # type: ignore[union-attr]
    assert state.last == 7
    for sequence in (0, 8, -1):
        with pytest.raises(ConflictError, match="no such edit"):
            write(journal, Undo(sequence))


def test_an_edit_on_an_outdated_page_is_refused(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    seen = journal.view().reference("r1").last
    write(Journal(tmp_path), tasks("a b"), person="ben")
    with pytest.raises(ConflictError, match="ben has edited r1 meanwhile"):
        journal.append(tasks("c d"), "anna", "test", unchanged_since("r1", seen))
    assert len(journal.view().edits) == 1


def test_states_of_a_verification(tmp_path: Path) -> None:
    journal = Journal(tmp_path)

    def state() -> Verification:
        return journal.view().reference("r1").verification(TEXTS)

    assert state() is Verification.OPEN
    write(journal, Verify("r1", False, verdicts(*TEXTS)), person="ben")
    assert state() is Verification.AGREED
    write(journal, Verify("r1", True, verdicts(*TEXTS[::-1])), person="cleo")
    assert state() is Verification.DISPUTED
    write(journal, Settle("r1", verdicts(*TEXTS[::-1])), person="dora")
    assert state() is Verification.SETTLED
    assert journal.view().reference("r1").order(TEXTS) == TEXTS[::-1]
    write(journal, Settle("r1", verdicts(*TEXTS, last=Verdict.IMPOSSIBLE)), person="dora")
    assert state() is Verification.RETURNED
    # other words: what was said about the old ones does not hold
    assert journal.view().reference("r1").verification(("pick the cup",)) is Verification.OPEN


def test_reservations_expire(tmp_path: Path) -> None:
    here, there = Reservations(tmp_path), Reservations(tmp_path)
    here.reserve("r1", "anna", 0)
    with pytest.raises(ConflictError, match="anna is editing r1"):
        there.reserve("r1", "ben", 1)
    there.check_free("r1", "anna", 1)
    there.release("r1", "ben", 1)
    assert there.active(1)["r1"].person == "anna"
    late = LIFETIME_S * SECOND_NS + 1
    assert there.active(late) == {}
    assert there.reserve("r1", "ben", late).person == "ben"
    there.release("r1", "ben", late)
    assert here.active(late) == {}


FORKS = """
import os, signal, sys
from pathlib import Path
from embodied_iqa.data.journal.changes import Reject
from embodied_iqa.data.journal.journal import Journal

def die_at(edit, missing, in_aside):
    synced, left = os.fsync, [edit]
    def fsync(handle):
        name = Path(os.readlink(f"/proc/self/fd/{handle}")).name
        left[0] -= name == "edits.jsonl"
        if left[0] < 0 or (in_aside and name == "edits.cut"):
            if name == "edits.jsonl":
                os.ftruncate(handle, os.fstat(handle).st_size - missing)
            os.kill(os.getpid(), signal.SIGKILL)
        synced(handle)
    os.fsync = fsync

for line in sys.stdin:
    writer, edit, missing, in_aside = map(int, line.split())
    child = os.fork()
    if not child:
        die_at(edit, missing, in_aside)
        journal = Journal(Path(sys.argv[1]))
        for number in range(edit + 1):
            text = f"{writer} {number}"
            journal.append(Reject("r", text), "anna", "test")
            os.write(1, f"{text}\\n".encode())
    os.waitpid(child, 0)
    os.write(1, b"dead\\n")
"""
"""Forks writers that import once; each dies with its last line on the disk but for some bytes at its end, or
where it sets the cut line of the writer before it aside.
"""


@pytest.mark.parametrize("writers", [35, pytest.param(100, marks=pytest.mark.stress)])
def test_a_kill_in_the_middle_of_an_edit_loses_no_accepted_one(tmp_path: Path, writers: int) -> None:
    draw, accepted, whole = random.Random(0), list[str](), set[str]()
    command = [sys.executable, "-c", FORKS, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with running_program(command, tmp_path / "logs", **pipes) as program:
        forks = program.process
        for writer in range(writers):
            edit, missing = draw.randrange(5), draw.choice([0, 1, draw.randrange(2, 60)])
            whole |= {f"{writer} {edit}"} if missing == 0 else set()
            forks.stdin.write(f"{writer} {edit} {missing} {draw.randrange(5) == 0:d}\n")
            forks.stdin.flush()
            while (line := forks.stdout.readline().strip()) != "dead":
                assert line, "the forks have ended"
                accepted.append(line)
        forks.stdin.close()
        assert program.wait(60.0) == 0
    kept = [edit.change.reason for edit in Journal(tmp_path).view().edits]  # type: ignore[union-attr]
    assert len(accepted) > writers
    assert [text for text in kept if text in set(accepted)] == accepted
    assert set() < set(kept) - set(accepted) <= whole
    for line in (tmp_path / "journal" / "edits.jsonl").read_text("utf-8").splitlines():
        json.loads(line)


def test_an_opinion_of_an_earlier_version_has_an_order() -> None:
    tree = edit_tree(Edit(1, 0, "ben", "test", Verify("r1", True, verdicts(*TEXTS), ordered=False)))
    assert edit_of(tree, "journal").change == Verify("r1", True, verdicts(*TEXTS), ordered=False)
    del tree["change"]["ordered"]
    assert edit_of(tree, "journal").change == Verify("r1", True, verdicts(*TEXTS))
