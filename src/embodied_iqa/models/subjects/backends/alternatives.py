"""Several policies of different cameras as one: where one is held or sees no target, the next decides."""

from __future__ import annotations

from collections.abc import Sequence

from embodied_iqa.base.errors import UsageError
from embodied_iqa.models.subjects.registry import make_vla
from embodied_iqa.models.subjects.subject_options import VlaRequest
from embodied_iqa.world.protocols import ActionChunk, SubjectInfo, Vla, VlaObservation, close_subject


class Alternatives:
    """Decides by the first of its policies whose cameras are in the observation.

    Args:
        name: Name in answers and recordings.
        policies: The preferred one first.

    Raises:
        UsageError: Two policies share a camera, or their chunks have different rates.
    """

    def __init__(self, name: str, policies: Sequence[Vla]) -> None:
        infos = [policy.info for policy in policies]
        cameras = [view for info in infos for view in info.views]
        if len(set(cameras)) < len(cameras):
            raise UsageError(
                f"the policies of {name} share a camera",
                expected="cameras of its own for each",
                got=", ".join(f"{info.name}: {'+'.join(info.views)}" for info in infos),
            )
        if len({info.rate_hz for info in infos}) > 1:
            rates = ", ".join(f"{info.name}: {info.rate_hz}" for info in infos)
            raise UsageError(f"the policies of {name} act at different rates [Hz]", got=rates)
        self._policies = tuple(policies)
        self.info = SubjectInfo(
            name=name,
            version=", ".join(f"{info.name} {info.version}" for info in infos),
            description=f"{infos[0].name}; where it is held or sees no target, the next of these policies.",
            views=tuple(cameras),
            simulation_only=any(info.simulation_only for info in infos),
            rate_hz=infos[0].rate_hz,
            parts=tuple(infos),
        )

    def act(self, observation: VlaObservation) -> ActionChunk:
        """Return the next chunk.

        Raises:
            UsageError: The observation has the cameras of none of the policies.
        """
        for policy in self._policies:
            if set(policy.info.views) <= set(observation.frames):
                return policy.act(observation)
        wanted = " or ".join("+".join(part.views) for part in self.info.parts)
        raise UsageError("a view is missing", expected=wanted, available=list(observation.frames))

    def close(self) -> None:
        """Close the policies that can be closed."""
        for policy in self._policies:
            close_subject(policy)


def make(request: VlaRequest) -> Alternatives:
    """Load all policies of a reference.

    Raises:
        UsageError: They cannot be one, see `Alternatives`.
        UserError: One of them cannot be loaded or reached.
    """
    policies: list[Vla] = []
    try:
        for part in request.reference.parts:
            policies.append(make_vla(part, request.options, request.progress))  # noqa: PERF401 - to be closed
        return Alternatives(request.reference.text, policies)
    except BaseException:
        for policy in policies:
            close_subject(policy)
        raise
