"""The journal of a database: who edited what when; undo; export and import as task files."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from embodied_iqa.base.errors import InputError, UserError
from embodied_iqa.data.database.edits import waiting_edits
from embodied_iqa.data.database.task_exchange import export_tasks, import_tasks
from embodied_iqa.data.journal.changes import (
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
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.kit.rendering import path_segment
from embodied_iqa.pages.studio.kit.sources import Source, SourceKind
from embodied_iqa.pages.studio.people.person import Form, local_path, person_of, posted, see
from embodied_iqa.pages.studio.people.workspace import Workspace, workspaces

_PER_PAGE: Final = 100
_EXPORT: Final = "tasks.yaml"
_SEQUENCE: Final = re.compile(r"[0-9]{1,9}", re.ASCII)


def routes(studio: Studio) -> list[Route]:
    """Return the routes of the pages."""
    pages, base = _Pages(studio), "/db/{name}/edits"
    return [
        Route(base, pages.page),
        Route(base + "/undo", posted(pages.undo), methods=["POST"]),
        Route(base + "/" + _EXPORT, pages.export),
        Route(base + "/import", posted(pages.take_in), methods=["POST"]),
    ]


class _Pages:
    def __init__(self, studio: Studio) -> None:
        self._studio = studio

    def _source(self, request: Request) -> Source:
        return self._studio.source(SourceKind.DATABASE, request)

    def _work(self, request: Request) -> Workspace:
        return workspaces(self._studio).of(self._source(request))

    def page(self, request: Request) -> Response:
        work = self._work(request)
        view = work.journal.view()
        before = request.query_params.get("before", "")
        end = int(before) - 1 if _SEQUENCE.fullmatch(before) else len(view.edits)
        end = max(0, min(end, len(view.edits)))
        first = max(0, end - _PER_PAGE)
        return self._studio.page(
            request,
            "people_edits.html.j2",
            source=self._source(request),
            view=view,
            edits=view.edits[first:end][::-1],
            before=first + 1 if first else None,
            words=words_of,
            waiting=waiting_edits(work.store, work.journal),
            cut=work.journal.cut_bytes(),
            person=person_of(request),
        )

    def undo(self, request: Request, form: Form) -> Response:
        self._work(request).journal.append(Undo(form.number("sequence")), form.person, form.origin)
        return see(local_path(form.text("back") or self._own(request)))

    def export(self, request: Request) -> Response:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / _EXPORT
            export_tasks(self._work(request).store, file)
            headers = {"Content-Disposition": f'attachment; filename="{_EXPORT}"'}
            return Response(file.read_bytes(), media_type="application/yaml", headers=headers)

    def take_in(self, request: Request, form: Form) -> Response:
        if "file" not in form.files:
            raise InputError("no file", expected="a task file, YAML or CSV")
        content = form.files["file"]
        is_csv = content.lstrip(b'\xef\xbb\xbf"').startswith(b"# embodied-iqa-tasks")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / ("tasks.csv" if is_csv else _EXPORT)
            file.write_bytes(content)
            try:
                import_tasks(self._work(request).store, file, form.person)
            except UserError as error:
                raise InputError(str(error).replace(f"{folder}/", "")) from None
        return see(self._own(request))

    def _own(self, request: Request) -> str:
        return f"/db/{path_segment(self._source(request).name)}/edits"


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
            return f"{change.task or 'task unknown:'} run {change.run_index + 1}: {change.outcome}"
        case Undo():
            return f"edit {change.sequence}"
