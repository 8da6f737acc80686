"""Which clients are connected: no address takes every place, and idle clients make room for new ones."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

ClientT = TypeVar("ClientT", bound=Hashable)


@dataclass(slots=True)
class _Place:
    """Place of a client.

    Attributes:
        address: Its address.
        idle_since_s: When it connected or received its last answer; None while a question is open.
    """

    address: str
    idle_since_s: float | None


@dataclass(slots=True)
class Admission(Generic[ClientT]):
    """Places of clients.

    Attributes:
        most: Most clients.
        most_per_address: Most clients of one address.
        idle_s: Time without a question after which a client loses its place to another one [s].
    """

    most: int
    most_per_address: int
    idle_s: float
    _places: dict[ClientT, _Place] = field(default_factory=dict)

    def admit(self, client: ClientT, address: str, now_s: float) -> tuple[bool, ClientT | None]:
        """Return whether a client is admitted, and the client that loses its place to it."""
        rivals = [place for place in self._places.values() if place.address == address]
        displaced = None
        if len(rivals) >= self.most_per_address:
            displaced = self._idlest(now_s, address)
        elif len(self._places) >= self.most:
            displaced = self._idlest(now_s)
        else:
            self._places[client] = _Place(address, now_s)
            return True, None
        if displaced is None:
            return False, None
        del self._places[displaced]
        self._places[client] = _Place(address, now_s)
        return True, displaced

    def asked(self, client: ClientT) -> None:
        """Note a question: its client keeps its place until the answer."""
        if client in self._places:
            self._places[client].idle_since_s = None

    def answered(self, client: ClientT, now_s: float) -> None:
        """Note an answer."""
        if client in self._places:
            self._places[client].idle_since_s = now_s

    def leave(self, client: ClientT) -> None:
        """Free the place of a client; it may have lost it before."""
        self._places.pop(client, None)

    def _idlest(self, now_s: float, address: str | None = None) -> ClientT | None:
        idle = [
            (place.idle_since_s, number, client)
            for number, (client, place) in enumerate(self._places.items())
            if place.idle_since_s is not None
            and now_s - place.idle_since_s >= self.idle_s
            and address in {None, place.address}
        ]
        return min(idle, key=lambda one: one[:2])[2] if idle else None
