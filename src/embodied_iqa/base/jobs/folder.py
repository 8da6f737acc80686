"""Folder of a job's results: one job at a time works in it, and all of its starts have the same plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import remove_parts, write_json_whole
from embodied_iqa.base.jobs.plan import differences, require_same_plan
from embodied_iqa.base.locks import take_lock
from embodied_iqa.base.termination import terminable
from embodied_iqa.base.user_files.json_files import load_json

_LOCK: Final = ".lock"
_LONGEST_NAME: Final = 80
_GOES_ON: Final = "the same command goes on where it stopped"


@dataclass(frozen=True, slots=True)
class JobFolder:
    """Folder of a job's results.

    Attributes:
        path: The folder.
        job: The job in words, for messages: ``metric benchmark``.
        plan_file: Name of the JSON file of its plan.
        resumes: Whether the same command continues a job that was interrupted.
    """

    path: Path
    job: str
    plan_file: str = "plan.json"
    resumes: bool = True

    def plan(self) -> dict[str, Any] | None:
        """Return the stored plan; None where the folder is new or empty.

        Raises:
            InputError: The folder holds something else, or the plan cannot be read.
        """
        file = self.path / self.plan_file
        if file.is_file():
            tree = load_json(file, "the plan")
            if not isinstance(tree, dict):
                raise InputError(f"{file} is not a plan", expected="a JSON object")
            return tree
        if self.path.is_dir() and any(not item.name.startswith(".") for item in self.path.iterdir()):
            raise InputError(f"{self.path} holds no {self.job}", expected="a new or empty folder")
        return None

    def check(self, asked: Mapping[str, Any]) -> bool:
        """Return whether the folder holds this plan; not if it is new, or has no results of another plan.

        Raises as `opened`.
        """
        stored = self.plan()
        if stored is None:
            return False
        if differences(stored, asked) and not self.has_results():
            return False
        require_same_plan(self.path, stored, asked)
        return True

    def has_results(self, *also: str) -> bool:
        """Return whether the folder holds more than its plan, all that a job without a result leaves.

        Hidden files, such as unfinished ones, are no results.

        Args:
            also: Further names of files that are written before any result.
        """
        known = {self.plan_file, *also}
        return any(
            not file.name.startswith(".") and file.name not in known
            for file in self.path.rglob("*")
            if not file.is_dir()
        )

    @contextmanager
    def opened(self, asked: Mapping[str, Any]) -> Iterator[None]:
        """Keep others out, write the plan into a new folder, and remove what a killed job left unfinished.

        A folder that is refused is left as it was.

        Raises:
            UsageError: It holds results of another plan; the message names what differs.
            InputError: See `plan` and `locked`.
        """
        self.check(asked)
        with self.locked():
            if not self.check(asked):
                write_json_whole(self.path / self.plan_file, asked)
            remove_parts(self.path)
            yield

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others out for as long as the work takes; the system releases the lock of a killed process.

        A missing folder is created; its file ``.lock`` stands for it and names the job that works.

        Raises:
            InputError: Another job works in it, or the folder cannot be written.
            KeyboardInterrupt: At Ctrl-C, SIGTERM and SIGHUP; it says so where the job resumes.
        """
        with ExitStack() as stack:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                stream = stack.enter_context((self.path / _LOCK).open("a+", encoding="utf-8"))
                if not take_lock(stream):
                    stream.seek(0)
                    holder = stream.read(_LONGEST_NAME) or "process"
                    raise InputError(f"another {holder} works in {self.path}", expected="one at a time")
                stream.truncate(0)
                stream.write(self.job)
                stream.flush()
            except OSError as error:
                raise InputError(f"cannot write to {self.path}: {error.strerror}") from None
            stack.callback(stream.truncate, 0)
            try:
                with terminable():
                    yield
            except KeyboardInterrupt:
                if not self.resumes:
                    raise
                raise KeyboardInterrupt(_GOES_ON) from None
