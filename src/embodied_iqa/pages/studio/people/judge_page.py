"""Judge: prepare and judge the runs of a real arm, with photographs, from a phone beside it."""

from __future__ import annotations

import atexit
import time
from hashlib import sha256
from pathlib import Path
from typing import Final

import cv2
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from embodied_iqa.base.errors import InputError, UsageError, UserError
from embodied_iqa.base.files import write_whole
from embodied_iqa.data.journal.changes import JudgeRun
from embodied_iqa.data.journal.journal import ConflictError, Journal
from embodied_iqa.imaging.images.codecs import decode_rgb
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.kit.sources import NotFoundError, Source, SourceKind
from embodied_iqa.pages.studio.people.person import Form, named, person_of, posted, see, status_of
from embodied_iqa.runs.graph.judging_process import JudgingProcess
from embodied_iqa.runs.trial.attendance import Answer, Question
from embodied_iqa.runs.trial.judging import JudgingState, RunJudge, judgement_answer, utc_of
from embodied_iqa.runs.trial.protocol import Stage

_MOST_PX: Final = 1600
_MOST_PIXELS: Final = 60_000_000
_QUALITY: Final = 85
_SIGNATURES: Final = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF")


def store_photograph(folder: Path, content: bytes) -> str:
    """Write a photograph as JPEG without its metadata, such as the place; return the name of the file.

    Args:
        folder: Of the journal.
        content: JPEG, PNG or WebP as a phone sends it.

    Raises:
        InputError: It is not such an image, or too large.
    """
    if not content.startswith(_SIGNATURES):
        raise InputError("the photograph cannot be read", expected="JPEG, PNG or WebP")
    image = decode_rgb(content, "the photograph")
    if image.shape[0] * image.shape[1] > _MOST_PIXELS:
        raise InputError("the photograph cannot be read", expected=f"an image of up to {_MOST_PIXELS} pixels")
    scale = _MOST_PX / max(image.shape[:2])
    if scale < 1:
        image = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    data = cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])[
        1
    ].tobytes()
    name = f"{sha256(data).hexdigest()}.jpg"
    file = photograph_file(folder, name)
    if not file.is_file():
        write_whole(file, lambda fresh: fresh.write_bytes(data))
    return name


def photograph_file(folder: Path, name: str) -> Path:
    """Return the file of a photograph in the folder of a journal."""
    return folder / "photographs" / name


OUTCOMES: Final = {
    Outcome.SUCCESS: "Success: the task was done",
    Outcome.FAILURE: "Failure: it was not done",
    Outcome.EMERGENCY_STOP: "Emergency: contact, protective stop, or you stopped it",
}
_SHOWN: Final = 20
_KEPT_IN: Final = frozenset({SourceKind.RUN, SourceKind.EXPERIMENT})


class Connection:
    """The connection of a studio to a trial; tests set another judge."""

    def __init__(self) -> None:
        process = JudgingProcess()
        atexit.register(process.close)
        self.judge: RunJudge = process


def routes(studio: Studio) -> list[Route]:
    """Return the routes of the pages."""

    def page(request: Request) -> Response:
        return _page(studio, request, studio.part(Connection).judge.state(), None, None)

    def state(_request: Request) -> Response:
        return JSONResponse({"version": _version(studio.part(Connection).judge.state())})

    def answer(request: Request, form: Form) -> Response:
        judge = studio.part(Connection).judge
        now = judge.state()
        try:
            _answer(studio, judge, now, form)
        except UserError as error:
            return _page(studio, request, judge.state(), form, error)
        return see("/judge")

    def photograph(request: Request) -> Response:
        source = _folder(studio, request.path_params["folder"])
        journal = Journal(source.path)
        names = {change.photograph for _, change in journal.view().judgements()}
        name = request.path_params["photograph"]
        if name not in names:
            raise NotFoundError("no such photograph", got=name[:80])
        return FileResponse(photograph_file(journal.folder, name), media_type="image/jpeg")

    return [
        Route("/judge", named(page)),
        Route("/judge", posted(answer), methods=["POST"]),
        Route("/judge/state", state),
        Route("/judge/{folder}/{photograph}", photograph),
    ]


def _page(
    studio: Studio, request: Request, state: JudgingState, form: Form | None, error: UserError | None
) -> Response:
    sources = studio.sources.all()
    folders = [source for source in sources if source.kind in _KEPT_IN]
    newest = max(folders, key=lambda source: _changed_ns(source.path), default=None)  # of the trial that runs
    judged = [
        (source, edit, change)
        for source in sources
        for edit, change in Journal(source.path).view().judgements()[-_SHOWN:]
    ]
    return studio.page(
        request,
        "people_judge.html.j2",
        status_of(error),
        state=state,
        version=_version(state),
        asked="" if state.question is None else state.question.stage.name.lower(),
        outcomes=OUTCOMES,
        folders=folders,
        judged=sorted(judged, key=lambda item: -item[1].stamp_ns)[:_SHOWN],
        given={"folder": newest and newest.name} if form is None else form.texts,
        error="" if error is None else str(error),
        person=person_of(request),
    )


def _changed_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _version(state: JudgingState) -> str:
    question = state.question
    asked = "" if question is None else f"{int(question.stage)} {question.run_index}"
    return f"{state.trial}|{asked}|{state.problem}"


def _answer(studio: Studio, judge: RunJudge, state: JudgingState, form: Form) -> None:
    """Answer the question that the person saw; keep the judgement of a run.

    Raises:
        ConflictError: It is not open any more.
        UserError: A field is wrong, or the trial refuses the answer.
    """
    question = state.question
    seen = form.number("stage"), form.number("run")
    if question is None or seen != (int(question.stage), question.run_index):
        raise ConflictError("this question is not open any more: it was answered, or the trial has ended")
    if question.stage is not Stage.JUDGE:
        _send(judge, question, Answer(True, form.text("do") == "end", form.text("note")))
        return
    journal, change = _judgement(state, question, _kept_in(studio, form.text("folder")), form)
    end = form.text("do") == "end"
    _send(judge, question, judgement_answer(change.outcome, change.distance_mm, change.note, give_up=end))
    if journal is not None:
        journal.append(change, form.person, form.origin)


def _judgement(
    state: JudgingState, question: Question, source: Source | None, form: Form
) -> tuple[Journal | None, JudgeRun]:
    """Check everything before the trial goes on: its answer cannot be taken back."""
    if form.text("outcome") not in OUTCOMES:
        raise UsageError("no outcome", expected="one of the three", available=list(OUTCOMES))
    journal = None if source is None else Journal(source.path)
    photograph = None
    if journal is not None:
        journal.view()
        given = form.files.get("photograph")
        photograph = None if given is None else store_photograph(journal.folder, given)
    change = JudgeRun(
        state.trial or utc_of(time.time_ns()),
        state.task or None,
        question.run_index,
        Outcome(form.text("outcome")),
        _distance_mm(form.text("distance")),
        form.text("note"),
        photograph,
    )
    return journal, change


def _distance_mm(text: str) -> float | None:
    if not text:
        return None
    try:
        return float(text.replace(",", "."))
    except ValueError:
        raise UsageError("bad distance", expected="millimetres, such as 12.5", got=text[:40]) from None


def _send(judge: RunJudge, question: Question, answer: Answer) -> None:
    if refused := judge.answer(question, answer):
        raise InputError(f"the trial did not accept the answer: {refused}")


def _kept_in(studio: Studio, name: str) -> Source | None:
    """Return the run or experiment that keeps a judgement; None where the studio has none to choose.

    Raises:
        UserError: It is something else, or not there.
    """
    if not name:
        runs = [source.name for source in studio.sources.all() if source.kind in _KEPT_IN]
        if not runs:
            return None
        raise UsageError("choose where the judgement is kept", available=runs)
    source = _folder(studio, name)
    if source.kind not in _KEPT_IN:
        raise UsageError("judgements are kept with runs", expected="a run or an experiment", got=source.name)
    return source


def _folder(studio: Studio, name: str) -> Source:
    """Return the source in whose journal judgements are kept."""
    found = next((source for source in studio.sources.all() if source.name == name), None)
    if found is None:
        raise NotFoundError("no such folder", got=name[:80], available=[s.name for s in studio.sources.all()])
    return found
