"""Arms of an experiment: gates that are compared on the same scenes, seeds and schedules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.errors import UsageError
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.judgement import parse_judge

_ORACLE: Final = "oracle"
_REPAIR: Final = "+repair"
"""Behind the name of a gate that the arm obeys."""


@dataclass(frozen=True, slots=True)
class GateArm:
    """A gate by name.

    Attributes:
        name: A mode (``off``, ``shadow``, ``on``) with the judge of the parameters; a judge (``statistics``,
            ``learned``, ``metric:NAME``) in mode on; ``oracle``; or empty: mode and judge of the parameters.
            With ``+repair`` behind ``on`` or a judge, images that do not pass are repaired and judged again.
    """

    name: str = ""

    @property
    def is_oracle(self) -> bool:
        """Whether it passes exactly while the level in force is 0, which only a headless run knows."""
        return self.name == _ORACLE

    def options(self, configured: GateOptions) -> GateOptions:
        """Return the rules of the gate in this arm.

        Args:
            configured: Those of the parameters.
        """
        if not self.name:
            return configured
        if self.name.endswith(_REPAIR):
            rules = GateArm(self.name.removesuffix(_REPAIR)).options(configured)
            return replace(rules, repair=replace(rules.repair, enabled=True))
        if self.name in set(GateMode):
            return replace(configured, mode=GateMode(self.name))
        if self.is_oracle:  # no debouncing: it knows when images are bad
            return replace(configured, mode=GateMode.ON, trip_frames=1, window_frames=1, recover_frames=1)
        return replace(configured, mode=GateMode.ON, kind=parse_judge(self.name))


CONFIGURED: Final = GateArm()
"""Mode and judge of the parameters."""
OFF: Final = GateArm(GateMode.OFF)
"""The arm that the others are compared with."""
ORACLE: Final = GateArm(_ORACLE)


def parse_arms(text: str) -> tuple[GateArm, ...]:
    """Parse arms such as ``off,statistics,learned,oracle``.

    Raises:
        UsageError: An unknown or duplicate arm, or none.
    """
    names = [word.strip() for word in text.split(",") if word.strip()]
    for name in names:
        if names.count(name) > 1:
            raise UsageError("duplicate gate", got=name)
        gate = name.removesuffix(_REPAIR)
        if gate not in ({*GateMode, _ORACLE} if gate == name else {GateMode.ON}):
            try:
                parse_judge(gate)
            except UsageError:
                raise UsageError(
                    "unknown gate",
                    expected=", ".join([*GateMode, "statistics", "learned", "metric:NAME", _ORACLE])
                    + f"; {_REPAIR} behind on or a judge",
                    got=name,
                ) from None
    if not names:
        raise UsageError("empty list of gates", expected="such as off,learned", got=text)
    return tuple(GateArm(str(name)) for name in names)
