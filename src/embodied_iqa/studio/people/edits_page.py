"""The journal of a database: who edited what when; undo; export and import as task files."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from embodied_iqa.database.edits import waiting_edits
from embodied_iqa.database.task_exchange import export_tasks, import_tasks
from embodied_iqa.errors import InputError, UserError
from embodied_iqa.journal.changes import (
    Change,
    JudgeRun,
    Reject,
    Settle,
    SpotCheck,
    Undo,
    Verdict,
    Verify,
    WriteLabels,
    WriteTasks,
)
from embodied_iqa.studio.kit.context import Studio
from embodied_iqa.studio.kit.rendering import path_segment
from embodied_iqa.studio.kit.sources import SourceKind
from embodied_iqa.studio.people.person import Form, local_path, person_of, posted, see
from embodied_iqa.studio.people.workspace import workspaces

_PER_PAGE: Final = 100
_EXPORT: Final = "tasks.yaml"


def routes(studio: Studio) -> list[Route]:
    """Return the routes of the pages."""

    def page(request: Request) -> Response:
        source = studio.source(SourceKind.DATABASE, request)
        work = workspaces(studio).of(source)
        view = work.journal.view()
        text = request.query_params.get("before", "")
        end = min(int(text) - 1, len(view.edits)) if text.isdecimal() and len(text) < 10 else len(view.edits)
        first = max(0, end - _PER_PAGE)
        return studio.page(
            request,
            "people_edits.html.j2",
            source=source,
            view=view,
            edits=list(reversed(view.edits[first : max(end, 0)])),
            before=first + 1 if first > 0 else None,
            words=words_of,
            waiting=waiting_edits(work.store, work.journal),
            cut=work.journal.cut_bytes(),
            person=person_of(request),
        )

    def undo(request: Request, form: Form) -> Response:
        source = studio.source(SourceKind.DATABASE, request)
        work = workspaces(studio).of(source)
        work.journal.append(Undo(form.number("sequence")), form.person, form.origin)
        return see(local_path(form.text("back") or f"/db/{path_segment(source.name)}/edits"))

    def export(request: Request) -> Response:
        source = studio.source(SourceKind.DATABASE, request)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / _EXPORT
            export_tasks(workspaces(studio).of(source).store, file)
            headers = {"Content-Disposition": f'attachment; filename="{_EXPORT}"'}
            return Response(file.read_bytes(), media_type="application/yaml", headers=headers)

    def take_in(request: Request, form: Form) -> Response:
        source = studio.source(SourceKind.DATABASE, request)
        if "file" not in form.files:
            raise InputError("no file", expected="a task file, YAML or CSV")
        is_csv = form.files["file"].lstrip(b'\xef\xbb\xbf"').startswith(b"# embodied-iqa-tasks")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / ("tasks.csv" if is_csv else _EXPORT)
            file.write_bytes(form.files["file"])
            try:
                import_tasks(workspaces(studio).of(source).store, file, form.person)
            except UserError as error:
                raise InputError(str(error).replace(f"{folder}/", "")) from None
        return see(f"/db/{path_segment(source.name)}/edits")

    base = "/db/{name}/edits"
    return [
        Route(base, page),
        Route(base + "/undo", posted(undo), methods=["POST"]),
        Route(base + "/" + _EXPORT, export),
        Route(base + "/import", posted(take_in), methods=["POST"]),
    ]


def words_of(change: Change) -> str:
    """Return what an edit changes, in words."""
    match change:
        case WriteTasks():
            return "; ".join(f"{task.rank}: {task.text}" for task in change.tasks)
        case WriteLabels():
            labels = (change.main_object, change.main_kind, change.background)
            return ", ".join(label or "unknown" for label in labels)
        case Reject():
            return change.reason
        case Verify() | Settle():
            wrong = [
                f"{item.text}: {item.verdict}" for item in change.verdicts if item.verdict is not Verdict.FITS
            ]
            return "; ".join(wrong) or "all tasks fit"
        case SpotCheck():
            return f"{change.subject} on {change.pair_id}: {change.likeness} of 4"
        case JudgeRun():
            return f"{change.task} run {change.run_index + 1}: {change.outcome}"
        case Undo():
            return f"edit {change.sequence}"
