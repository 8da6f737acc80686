"""A node with parameters from a dataclass; those that are safe to change can be set while it runs.

A change is checked as the values at the start are, all parameters of a request together: all of them hold or
none. It is reported in the log and on /parameter_events. All others are refused with what can be set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from embodied_iqa.base.config import build, values_of
from embodied_iqa.base.errors import UsageError, UserError
from embodied_iqa.live.ros.node_parameters import declare, word_of

ConfigT = TypeVar("ConfigT")

_READ_ONLY = "read-only"
"""In the refusal of rclpy."""


def _refuse_unset(overrides: Mapping[str, Parameter]) -> None:
    """Refuse the overrides that rclpy cannot declare: for ROS, an empty list has no type and is not a value.

    Raises:
        UsageError: There are some.
    """
    if unset := sorted(name for name, one in overrides.items() if one.value is None):
        raise UsageError(
            f"no value for {', '.join(unset)}",
            expected="a value, or a list of at least one; left out, the default holds",
            got="an empty list",
        )


class ConfiguredNode(Node, Generic[ConfigT]):
    """A node whose parameters are declared once, as fields of a frozen dataclass.

    Names, types, defaults, ranges and descriptions are those of the fields. An override with an unknown name
    or a wrong value ends the node with a one-line error.
    """

    changeable: frozenset[str] = frozenset()
    """Parameters that can be set while the node runs."""

    def __init__(self, name: str, config_class: type[ConfigT]) -> None:
        try:
            super().__init__(name, automatically_declare_parameters_from_overrides=True)
        except ValueError:
            _refuse_unset(self._parameter_overrides)
            raise
        self.config = declare(self, config_class, self.changeable)
        if self.changeable:
            self.add_pre_set_parameters_callback(self._in_words)
            self.add_on_set_parameters_callback(self._check_change)
            self.add_post_set_parameters_callback(self._take_change)

    def why_not(self, wanted: ConfigT) -> str:  # noqa: ARG002 - for nodes that may refuse
        """Return why the parameters cannot become these now; empty where they can."""
        return ""

    def changed(self) -> None:
        """Take over `config`, in which changeable parameters have new values."""

    def set_parameters_atomically(self, parameter_list: list[Parameter]) -> SetParametersResult:
        """Set all of the parameters or none; the services of parameters end here."""
        result = super().set_parameters_atomically(parameter_list)
        if not result.successful and _READ_ONLY in result.reason:
            can = ", ".join(sorted(self.changeable)) or "none"
            result.reason = f"{result.reason.rstrip('.')}: it holds from the start of the node; to set: {can}"
        return result

    def _in_words(self, parameters: list[Parameter]) -> list[Parameter]:
        """Return parameters with words of texts: `ros2 param set` reads on and off as bools."""
        texts = {name for name, value in values_of(self.config).items() if isinstance(value, str)}
        return [word_of(one) if one.name in texts else one for one in parameters]

    def _wanted(self, parameters: Sequence[Parameter]) -> ConfigT:
        """Return the configuration with new values of changeable parameters.

        Raises:
            UserError: A value is wrong, or the values do not go together.
        """
        new = {one.name: one.value for one in parameters if one.name in self.changeable}
        return build(type(self.config), {**values_of(self.config), **new}, "the request")

    def _check_change(self, parameters: Sequence[Parameter]) -> SetParametersResult:
        if self.changeable.isdisjoint(one.name for one in parameters):  # such as a QoS that is being declared
            return SetParametersResult(successful=True)
        try:
            reason = self.why_not(self._wanted(parameters))
        except UserError as error:
            reason = str(error)
        return SetParametersResult(successful=not reason, reason=reason)

    def _take_change(self, parameters: Sequence[Parameter]) -> None:
        before, self.config = self.config, self._wanted(parameters)
        old, new = values_of(before), values_of(self.config)
        changes = [f"{name} {old[name]} -> {value}" for name, value in new.items() if value != old[name]]
        if changes:
            self.changed()
            self.get_logger().warning(f"parameters were set: {', '.join(changes)}")
