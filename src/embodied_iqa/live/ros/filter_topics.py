"""Who else is on the topics of a filter of commands, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rclpy.node import Node
from rclpy.topic_endpoint_info import TopicEndpointInfo

from embodied_iqa.live.ros.gate_report import several_gates
from embodied_iqa.live.ros.image_topics import why_not_matched


@dataclass(frozen=True, slots=True)
class FilterTopics:
    """Looks at the graph around a filter.

    Attributes:
        node: The filter.
        commands: Topic of the policy.
        out: Topic of the controller.
        leases: Topic of the gate.
        kind: Type of the commands, as ROS names it.
    """

    node: Node
    commands: str
    out: str
    leases: str
    kind: str

    def several_gates(self) -> str:
        """Return that more than one gate grants leases, so that none counts; empty where none or one does."""
        return several_gates(self.node, self.leases)

    def remarks(self) -> tuple[str, ...]:
        """Return what is wrong with the topics of policy and controller."""
        known = self.node.get_publishers_info_by_topic(self.commands)
        nobody = f"nobody publishes {self.commands}, where commands are expected" if not known else ""
        fitting, mistyped, unheard = self._sorted(known)
        several = ""
        if len(fitting) > 1:
            several = f"{_named(fitting, self.commands)}: expected one policy, the commands of all pass"
        found = (self._who_passes_by(), nobody, several, self._mistyped(mistyped), self._unheard(unheard))
        return tuple(filter(None, found))

    def why_none_fits(self) -> str:
        """Return why nothing arrives of those who publish commands; empty where one is heard, or none is."""
        fitting, mistyped, unheard = self._sorted(self.node.get_publishers_info_by_topic(self.commands))
        return "" if fitting else "; ".join(filter(None, (self._mistyped(mistyped), self._unheard(unheard))))

    def _sorted(self, known: Sequence[TopicEndpointInfo]) -> tuple[list[TopicEndpointInfo], ...]:
        """Return the publishers that are heard, those of another type, and those of another QoS."""
        typed = [one for one in known if one.topic_type == self.kind]
        unheard = [one for one in typed if why_not_matched(self.node, self.commands, [one])]
        fitting = [one for one in typed if one not in unheard]
        return fitting, [one for one in known if one not in typed], unheard

    def _mistyped(self, those: Sequence[TopicEndpointInfo]) -> str:
        kinds = ", ".join(sorted({one.topic_type for one in those}))
        return f"another type on {self.commands}: {kinds}, expected {self.kind}" if those else ""

    def _unheard(self, those: Sequence[TopicEndpointInfo]) -> str:
        why = why_not_matched(self.node, self.commands, those)
        return f"{_named(those, self.commands)}, never heard: {why}" if those else ""

    def _who_passes_by(self) -> str:
        """Return who else publishes to the controller, where no lease holds it; empty where nobody does."""
        found = list(self.node.get_publishers_info_by_topic(self.out))
        mine = (self.node.get_name(), self.node.get_namespace())
        own = [one for one in found if (one.node_name, one.node_namespace) == mine]
        for one in own[:1]:  # another filter of this name is another one
            found.remove(one)
        those = _named(found, self.out, "more ")
        return f"{those}: those commands bypass the filter, and no lease holds them" if found else ""


def _named(those: Sequence[TopicEndpointInfo], topic: str, more: str = "") -> str:
    names = ", ".join(sorted({f"{one.node_namespace.rstrip('/')}/{one.node_name}" for one in those}))
    return f"{len(those)} {more}{'publisher' if len(those) == 1 else 'publishers'} of {topic} ({names})"
