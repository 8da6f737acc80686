"""Reservations: who is editing which reference now; they expire unless they are renewed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.locks import wait_for_lock
from embodied_iqa.base.records import read_json, unstructure
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.journal.journal import FOLDER, ConflictError

LIFETIME_S: Final = 120
_MOST: Final = 1000


@dataclass(frozen=True, slots=True)
class Reservation:
    """A reference that somebody is editing.

    Attributes:
        reference_id: The reference.
        person: Who.
        until_ns: When it expires, nanoseconds since 1970 UTC.
    """

    reference_id: str
    person: str
    until_ns: int


class Reservations:
    """Reservations of a folder, shared by threads and processes.

    Args:
        folder: Of the database.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / FOLDER / "reservations.json"
        self._lock = threading.Lock()

    def active(self, now_ns: int) -> dict[str, Reservation]:
        """Return the reservations that have not expired, by reference."""
        if not self._file.is_file():
            return {}
        found = read_json(tuple[Reservation, ...], self._file, "the reservations")
        return {item.reference_id: item for item in found if item.until_ns > now_ns}

    def reserve(self, reference_id: str, person: str, now_ns: int) -> Reservation:
        """Reserve a reference, or renew the reservation.

        Raises:
            ConflictError: Somebody else has reserved it.
            UsageError: There are too many reservations.
        """
        with self._writing():
            active = self.active(now_ns)
            _check_free(active, reference_id, person)
            own = Reservation(reference_id, person, now_ns + LIFETIME_S * SECOND_NS)
            if len(active) >= _MOST:
                raise UsageError("too many reservations", expected=f"up to {_MOST}")
            self._write(active | {reference_id: own})
            return own

    def release(self, reference_id: str, person: str, now_ns: int) -> None:
        """End a reservation of this person; that of another person stays."""
        with self._writing():
            active = self.active(now_ns)
            if (held := active.get(reference_id)) is not None and held.person == person:
                self._write({name: item for name, item in active.items() if name != reference_id})

    def check_free(self, reference_id: str, person: str, now_ns: int) -> None:
        """Check that nobody else is editing a reference.

        Raises:
            ConflictError: Somebody is.
        """
        _check_free(self.active(now_ns), reference_id, person)

    def _write(self, active: dict[str, Reservation]) -> None:
        write_json_whole(self._file, unstructure(list(active.values())))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._lock, self._file.with_suffix(".lock").open("w", encoding="utf-8") as stream:
            wait_for_lock(stream, self._file)
            yield


def _check_free(active: dict[str, Reservation], reference_id: str, person: str) -> None:
    held = active.get(reference_id)
    if held is not None and held.person != person:
        until = time.strftime("%H:%M:%S", time.localtime(held.until_ns / SECOND_NS))
        raise ConflictError(f"{held.person} is editing {reference_id} until {until}")
