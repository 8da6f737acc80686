"""People annotate, verify, check and judge in the studio."""

from __future__ import annotations

import random
import re
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path

import cv2
import numpy as np
import pyarrow as pa
import pytest
from starlette.testclient import TestClient

from database_folders import write_database
from embodied_iqa.base.tables import table_of, write_table
from embodied_iqa.data.analysis.verification import verification_result
from embodied_iqa.data.database.check import check_database
from embodied_iqa.data.database.schema import ANNOTATIONS, REFERENCES, Annotation
from embodied_iqa.data.database.schema import TASKS as TASK_COLUMNS
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.journal.changes import (
    JudgeRun,
    Reject,
    Settle,
    SpotCheck,
    Verify,
    WriteLabels,
    WriteTasks,
)
from embodied_iqa.data.journal.journal import Journal
from embodied_iqa.data.journal.view import EditView
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.people.judge_page import Connection
from embodied_iqa.runs.trial.attendance import Answer, Question, judged_next
from embodied_iqa.runs.trial.judging import JudgingState
from embodied_iqa.runs.trial.protocol import Stage
from embodied_iqa.world.tasks.vocabulary import Verb
from studio_client import ORIGIN, client_of

ONE = "/db/db/annotate/r00000"
TASKS = {
    "text1": "pick the red cube",
    "text2": "push the cube that is left of the bowl",
    "text3": "tidy up the table",
    "text4": "open the upper drawer",
    "text5": "put the cup on the plate, then press the button",
} | {f"verb{rank}": "sentence" for rank in range(1, 6)}


@dataclass
class Someone:
    """A person with a browser."""

    client: TestClient
    studio: Studio
    name: str

    def post(self, path: str, files: dict[str, bytes] | None = None, **fields: object) -> tuple[int, str]:
        data = {"csrf": self.studio.csrf} | {name: str(value) for name, value in fields.items()}
        self.client.cookies.set("embodied_iqa_person", self.name)
        answer = self.client.post(path, headers=ORIGIN, data=data, files=files)
        return answer.status_code, answer.headers.get("location", answer.text)

    def get(self, path: str) -> str:
        self.client.cookies.set("embodied_iqa_person", self.name)
        answer = self.client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.text


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with one VLM's answers."""
    path = tmp_path_factory.mktemp("whole") / "db"
    store = write_database(path, references=3, subjects=1, images=True)
    tasks = [row | {"text": f"pick the cube {row['rank']}"} for row in store.tasks().to_pylist()]
    write_table(store.tasks_file, pa.Table.from_pylist(tasks, schema=TASK_COLUMNS), TASK_COLUMNS)
    pairs = store.pairs(["reference_id", "pair_id"]).to_pylist()
    images = {(row["reference_id"], pair) for row in pairs for pair in (row["pair_id"], None)}
    rows = [
        Annotation(
            "vlm-0", "1", Role.VLM, name, pair, f"{name}/{rank}", rank, "01", 1, True,
            f"answer on {pair}", None, None, None, None, None,
        )
        for name, pair in sorted(images, key=str)
        for rank in range(1, 6)
    ]  # fmt: skip
    write_table(store.annotation_part("vlm-0", 0), table_of(Annotation, rows), ANNOTATIONS)
    return path


@pytest.fixture
def people(tmp_path: Path, whole: Path) -> tuple[Someone, Someone, Someone]:
    shutil.copytree(whole, tmp_path / "db")
    client, studio = client_of(tmp_path / "db")
    anna, ben, cleo = (Someone(client, studio, name) for name in ("anna", "ben", "cleo"))
    return anna, ben, cleo


def view(folder: Path) -> EditView:
    return Journal(folder / "db").view()


def last_of(page: str) -> int:
    found = re.search(r'name="last" value="(\d+)"', page)
    assert found
    return int(found[1])


def test_five_tasks_and_labels_are_written(people: tuple[Someone, ...], tmp_path: Path) -> None:
    anna, *_ = people
    status, place = anna.post(ONE, last=0, **TASKS, main_object="Toy", main_kind="", background="wood")
    assert (status, place) == (303, "/db/db/annotate")
    tasks, labels = (edit.change for edit in view(tmp_path).edits)
    assert isinstance(tasks, WriteTasks)
    assert [task.text for task in tasks.tasks] == [TASKS[f"text{rank}"] for rank in range(1, 6)]
    assert [task.verb for task in tasks.tasks[:4]] == [Verb.PICK, Verb.PUSH, None, Verb.PULL]
    assert labels == WriteLabels("r00000", "toy", None, "wood")
    assert view(tmp_path).edits[0].origin.startswith("studio ")
    page = anna.get(ONE)
    assert TASKS["text5"] in page
    # the same form again changes nothing
    anna.post(ONE, last=last_of(page), **TASKS, main_object="toy", main_kind="", background="wood")
    assert len(view(tmp_path).edits) == 2


def test_the_file_of_an_image_is_named(people: tuple[Someone, ...], tmp_path: Path) -> None:
    store = DatabaseStore(tmp_path / "db")
    files = [
        row | {"source": "folder", "origin": f"Kitchen/cup {row['reference_id']}.png 0123abcd"}
        for row in store.references().to_pylist()
    ]
    write_table(store.references_file, pa.Table.from_pylist(files, schema=REFERENCES), REFERENCES)
    anna, *_ = people
    for page in (anna.get(ONE), anna.get("/db/db/annotate")):
        assert "<bdi>Kitchen/cup r00000.png</bdi>" in page


def test_two_people_lose_nothing(people: tuple[Someone, ...], tmp_path: Path) -> None:
    anna, ben, _ = people
    assert '"problem":""' in ben.post(f"{ONE}/reserve")[1]
    status, page = anna.post(ONE, last=0, **TASKS)
    assert status == 409
    assert "ben is editing r00000" in page
    assert TASKS["text5"] in page, "what anna has typed stays"
    assert "ben is editing" in anna.post(f"{ONE}/reserve")[1]
    assert "<bdi>ben</bdi> is editing it" in anna.get("/db/db/annotate")
    assert ben.post(ONE, last=0, text1="pick the blue cube", verb1="pick")[0] == 303
    status, page = anna.post(ONE, last=0, **TASKS)
    assert status == 409
    assert "ben has edited r00000 meanwhile" in page
    assert "pick the blue cube" in page
    assert TASKS["text5"] in page
    assert anna.post(ONE, last=last_of(page), **TASKS)[0] == 303
    assert [edit.person for edit in view(tmp_path).edits if edit.kind == "WriteTasks"] == ["ben", "anna"]
    assert "Write tasks" in anna.get("/db/db/edits")


def test_reject_and_undo(people: tuple[Someone, ...], tmp_path: Path) -> None:
    anna, *_ = people
    assert anna.post(f"{ONE}/reject", last=0, reason="blurred", other="")[0] == 303
    assert view(tmp_path).edits[0].change == Reject("r00000", "blurred")
    assert "Rejected by <bdi>anna</bdi>" in anna.get(ONE)
    assert anna.post("/db/db/edits/undo", sequence=1, back=ONE) == (303, ONE)
    assert "Rejected by" not in anna.get(ONE)
    assert anna.post("/db/db/edits/undo", sequence=1)[0] == 400
    assert anna.post("/db/db/edits/undo", sequence=2, back="//evil.example") == (303, "/")
    assert "Rejected by" in anna.get(ONE)


def verdicts(page: str, **words: str) -> dict[str, object]:
    """Judge the tasks of a page in the order in which they are shown."""
    texts = re.findall(r'name="text(\d)" value="([^"]+)"', page)
    found: dict[str, object] = {
        "last": last_of(page),
        "blind": re.findall(r'name="blind" value="(.)"', page)[0],
    }
    order = {text: rank for rank, text in enumerate((TASKS[f"text{n}"] for n in range(1, 6)), 1)}
    for number, text in texts:
        found |= {f"text{number}": text, f"verdict{number}": words.get(f"task{order[text]}", "fits")}
        found |= {f"place{number}": order[text]}
    return found


def test_verify_and_settle(people: tuple[Someone, ...], tmp_path: Path) -> None:
    anna, ben, cleo = people
    anna.post(ONE, last=0, **TASKS)
    page = anna.get("/db/db/verify/r00000?blind=0")
    assert "you wrote these tasks" in page, "before she judges them"
    assert "data-save disabled" in page
    status, answer = anna.post("/db/db/verify/r00000", **verdicts(page))
    assert status == 409
    assert "you wrote these tasks" in answer
    blind = ben.get("/db/db/verify/r00000")
    assert "data-save disabled" not in blind
    assert re.findall(r'name="text\d" value="([^"]+)"', blind) != [TASKS[f"text{n}"] for n in range(1, 6)]
    assert ben.post("/db/db/verify/r00000", **verdicts(blind, task3="unclear"))[0] == 303
    change = view(tmp_path).edits[-1].change
    assert isinstance(change, Verify)
    assert change.blind
    assert [item.verdict for item in change.verdicts] == ["fits", "fits", "unclear", "fits", "fits"]
    assert "to settle" in ben.get(ONE)
    assert "1 to settle" in ben.get("/db/db/agreement")
    store = DatabaseStore(tmp_path / "db")
    disputed = "1 reference has disputed tasks"
    assert disputed in check_database(store, images=False).remarks, "as the page says, before `annotate`"
    assert ben.post("/db/db/settle/r00000", **verdicts(ben.get("/db/db/settle/r00000")))[0] == 409
    settle = cleo.get("/db/db/settle/r00000")
    assert "unclear" in settle
    missing = verdicts(settle) | {"place1": 2}
    assert cleo.post("/db/db/settle/r00000", **missing)[0] == 400
    assert cleo.post("/db/db/settle/r00000", **verdicts(settle))[0] == 303
    assert isinstance(view(tmp_path).edits[-1].change, Settle)
    assert disputed not in check_database(store, images=False).remarks
    assert 'class="standing">done' in ben.get(ONE)
    gone = cleo.client.get("/db/db/settle").headers["location"]
    assert gone == "/db/db/agreement?done=settle"
    agreement = cleo.get(gone)
    assert "You have nothing left to settle" in agreement
    assert "Order: alpha" in agreement
    assert "1.00" in agreement


def test_who_gives_no_place_has_no_opinion_on_the_order(people: tuple[Someone, ...], tmp_path: Path) -> None:
    anna, ben, cleo = people
    anna.post(ONE, last=0, **TASKS)
    page = ben.get("/db/db/verify/r00000")
    assert "<option selected" not in page
    none = {f"place{number}": "" for number in range(1, 6)}
    status, answer = ben.post("/db/db/verify/r00000", **verdicts(page) | none | {"place2": 1})
    assert status == 400
    assert "a place for each task, or for none" in answer
    assert ben.post("/db/db/verify/r00000", **verdicts(page) | none)[0] == 303
    change = view(tmp_path).edits[-1].change
    assert isinstance(change, Verify)
    assert not change.ordered
    assert 'class="standing">done' in ben.get(ONE), "all fit, and nobody disputes the order"
    shown = cleo.get("/db/db/verify/r00000?blind=0")
    assert shown.count("no place given") == 5
    texts = {"r00000": [TASKS[f"text{number}"] for number in range(1, 6)]}
    result = verification_result(view(tmp_path), texts)
    assert (result.fitting, result.ranks.units) == (1.0, 0)
    assert cleo.post("/db/db/verify/r00000", **verdicts(shown))[0] == 303
    result = verification_result(view(tmp_path), texts)
    assert (result.ranks.value, result.ranks.units) == (1.0, 5)


def test_spot_checks(people: tuple[Someone, ...], tmp_path: Path) -> None:
    anna, *_ = people
    for likeness in (4, 3, 0, 2):
        page = anna.get("/db/db/spot?role=vlm")
        key = {
            name: re.findall(f'name="{name}" value="([^"]+)"', page)[0]
            for name in ("pair", "task", "subject")
        }
        assert "answer on " in page
        assert anna.post("/db/db/spot?role=vlm", likeness=likeness, **key)[0] == 303
    checks = [edit.change for edit in view(tmp_path).edits]
    assert [check.likeness for check in checks if isinstance(check, SpotCheck)] == [4, 3, 0, 2]
    assert len({check.pair_id for check in checks if isinstance(check, SpotCheck)}) == 4
    agreement = anna.get("/db/db/agreement")
    assert "4 opinions on 4 answers" in agreement
    assert re.search(r"\(95 % interval: -, of \d references?, fewer than 10\)", agreement)
    assert anna.post("/db/db/spot?role=vlm", likeness=5, **key)[0] == 400
    assert anna.post("/db/db/spot?role=vlm", likeness=1, pair="none", task="x", subject="y")[0] == 404


def test_export_and_import(people: tuple[Someone, ...], tmp_path: Path) -> None:
    anna, ben, _ = people
    anna.post(ONE, last=0, **TASKS)
    exported = anna.get("/db/db/edits/tasks.yaml")
    assert TASKS["text5"] in exported
    changed = exported.replace("tidy up the table", "clear the table").encode()
    assert ben.post("/db/db/edits/import", files={"file": changed})[0] == 303
    assert view(tmp_path).edits[-1].person == "ben"
    assert "clear the table" in ben.get("/db/db/edits")
    status, page = ben.post("/db/db/edits/import", files={"file": b"not a task file"})
    assert status == 400
    assert str(tmp_path) not in page
    assert len(view(tmp_path).edits) == 2


@dataclass
class Trial:
    """A trial that asks two questions."""

    now: JudgingState
    answers: list[tuple[Question, Answer]] = field(default_factory=list)
    refusal: str = ""

    def state(self) -> JudgingState:
        return self.now

    def answer(self, question: Question, answer: Answer) -> str:
        if not self.refusal:
            self.answers.append((question, answer))
        return self.refusal


def asking(stage: Stage) -> JudgingState:
    return JudgingState(Question(stage, 1, 3, "the run took too long"), "", "pick the red cube", "t1", "")


@pytest.fixture
def anna(people: tuple[Someone, ...], tmp_path: Path) -> Someone:
    """Anna with a studio of a database and of a run whose recording has just begun."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "trial.mcap").touch()
    client, studio = client_of(tmp_path / "db", tmp_path / "run")
    return Someone(client, studio, people[0].name)


def judgements(folder: Path) -> list[JudgeRun]:
    return [change for _, change in Journal(folder / "run").view().judgements()]


def test_judgements_are_kept_with_runs_and_name_the_task(anna: Someone, tmp_path: Path) -> None:
    trial = Trial(asking(Stage.JUDGE))
    anna.studio.part(Connection).judge = trial
    page = anna.get("/judge")
    assert "<option selected>run</option>" in page
    assert "<option>db</option>" not in page
    fields = {"stage": 8, "run": 1, "outcome": "success", "do": "yes"}
    assert anna.post("/judge", folder="db", **fields)[0] == 400
    assert not trial.answers
    assert anna.post("/judge", folder="run", **fields)[0] == 303
    trial.now = replace(trial.now, task="", trial="")
    assert "Task: <strong><bdi>unknown</bdi>" in anna.get("/judge")
    assert anna.post("/judge", folder="run", **fields)[0] == 303
    known, unknown = judgements(tmp_path)
    assert (known.task, known.trial) == ("pick the red cube", "t1")
    assert unknown.task is None
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]{8}Z", unknown.trial)
    listed = anna.get("/judge")
    assert "task: <bdi>pick the red cube</bdi>" in listed
    assert "task: <bdi>unknown</bdi>" in listed


def test_without_a_run_the_trial_alone_gets_the_judgement(people: tuple[Someone, ...]) -> None:
    anna, *_ = people
    trial = Trial(asking(Stage.JUDGE))
    anna.studio.part(Connection).judge = trial
    page = anna.get("/judge")
    assert "No folder of this studio is a run" in page
    assert 'name="photograph"' not in page
    assert anna.post("/judge", stage=8, run=1, outcome="failure", note="it slipped", do="yes")[0] == 303
    assert trial.answers[-1][1] == Answer(False, remark="it slipped")


def test_judge_a_run_with_a_photograph(anna: Someone, tmp_path: Path) -> None:
    trial = Trial(JudgingState(problem="no trial on a real arm is running in ROS domain 7"))
    anna.studio.part(Connection).judge = trial
    assert "o trial on a real arm is running in ROS domain 7" in anna.get("/judge")
    trial.now = asking(Stage.PREPARE)
    assert "Put the scene back" in anna.get("/judge")
    assert anna.post("/judge", stage=7, run=1, do="yes") == (303, "/judge")
    for stopped, moves in (("", "go back to their start: keep clear"), ("pressed", "another question comes")):
        question = Question(Stage.JUDGE, 1, 3, judged_next("it took too long", stopped))
        trial.now = replace(asking(Stage.JUDGE), question=question)
        page = anna.get("/judge")
        assert "The run has ended: <bdi>it took too long</bdi>" in page
        assert moves in page
    trial.now = asking(Stage.JUDGE)
    assert "Unless it was stopped, the arm goes back" in anna.get("/judge"), "the stop is not known"
    assert anna.post("/judge", stage=7, run=1, do="yes")[0] == 409, "of the question before"
    fields = {"stage": 8, "run": 1, "folder": "run", "distance": "12.5", "note": "it slipped", "do": "yes"}
    assert anna.post("/judge", **fields)[0] == 400, "no outcome"
    photograph = cv2.imencode(".png", np.full((90, 120, 3), 80, np.uint8))[1].tobytes()
    status, _ = anna.post("/judge", files={"photograph": photograph}, outcome="failure", **fields)
    assert status == 303
    question, answer = trial.answers[-1]
    assert (question.stage, answer.yes, answer.give_up) == (Stage.JUDGE, False, False)
    assert answer.remark == "measured distance 12.5 mm; it slipped"
    change = judgements(tmp_path)[-1]
    assert (change.outcome, change.distance_mm, change.task) == (Outcome.FAILURE, 12.5, "pick the red cube")
    shown = anna.client.get(f"/judge/run/{change.photograph}")
    assert shown.headers["content-type"] == "image/jpeg"
    assert shown.content.startswith(b"\xff\xd8\xff")
    assert anna.client.get("/judge/run/..%2F..%2Fdataset.json").status_code == 404


def test_a_refused_answer_is_no_judgement(anna: Someone, tmp_path: Path) -> None:
    trial = Trial(asking(Stage.JUDGE), refusal="no question is open")
    anna.studio.part(Connection).judge = trial
    fields = {"stage": 8, "run": 1, "folder": "run", "outcome": "emergency_stop", "do": "yes"}
    status, page = anna.post("/judge", **fields)
    assert status == 400
    assert "no question is open" in page
    assert not judgements(tmp_path)
    for wrong in ({"distance": "near"}, {"distance": "-1"}, {"distance": "nan"}, {"folder": "elsewhere"}):
        assert anna.post("/judge", **fields | wrong)[0] in {400, 404}
    assert anna.post("/judge", files={"photograph": b"#!/bin/sh"}, **fields)[0] == 400
    trial.refusal = ""
    assert anna.post("/judge", **fields | {"do": "end"})[0] == 303
    assert trial.answers[-1][1] == Answer(False, give_up=True, remark="emergency stop")


def test_reading_and_fuzz_write_nothing(people: tuple[Someone, ...], tmp_path: Path) -> None:
    anna, *_ = people
    anna.studio.part(Connection).judge = Trial(asking(Stage.JUDGE))
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    draw = random.Random(0)
    words = [
        "",
        "r00000",
        "nope",
        "-1",
        "9" * 40,
        "é",
        "\x00",
        "../..",
        "<script>",
        "fits",
        "1",
        "8",
        "db",
        "nan",
    ]
    names = ["last", "text1", "verb1", "place1", "verdict1", "reason", "sequence", "stage", "run", "folder"]
    pages = [
        "annotate",
        "annotate/r00000",
        "annotate/r00000/reject",
        "annotate/x/reserve",
        "verify",
        "verify/r00000",
    ]
    pages += ["settle/r00000", "spot", "agreement", "edits", "edits/undo", "edits/import", "edits/tasks.yaml"]
    anna.client.cookies.set("embodied_iqa_person", "anna")
    for _ in range(300):
        path = draw.choice(["/judge", "/judge/state", *(f"/db/db/{page}" for page in pages)])
        fields = {name: draw.choice(words) for name in draw.sample(names, 4)} | {"last": "x", "sequence": "0"}
        if draw.random() < 0.5:
            answer = anna.client.get(path, params=fields)
        else:
            answer = anna.client.post(path, headers=ORIGIN, data=fields | {"csrf": anna.studio.csrf})
        assert answer.status_code < 500, (path, fields)
    lock = tmp_path / "db" / "journal"
    after = {
        file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file() and lock not in file.parents
    }
    assert after == before
    assert not DatabaseStore(tmp_path / "db").built_folder.exists()
    assert not view(tmp_path).edits
