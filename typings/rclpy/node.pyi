# Stub of what this project uses of rclpy (ROS 2 Jazzy): messages, services and actions are type parameters.

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, TypeVar, overload

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.callback_groups import CallbackGroup
from rclpy.client import Client
from rclpy.clock import Clock
from rclpy.context import Context
from rclpy.guard_condition import GuardCondition
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.service import Service
from rclpy.subscription import Subscription
from rclpy.timer import Timer
from rclpy.topic_endpoint_info import TopicEndpointInfo
from rclpy.type_support import ServiceType
from rclpy.waitable import Waitable

_MessageT = TypeVar("_MessageT")
_RequestT = TypeVar("_RequestT")
_ResponseT = TypeVar("_ResponseT")

class Node:
    _parameter_overrides: dict[str, Parameter]
    def __init__(
        self,
        node_name: str,
        *,
        context: Context | None = None,
        namespace: str | None = None,
        parameter_overrides: list[Parameter] | None = None,
        automatically_declare_parameters_from_overrides: bool = False,
    ) -> None: ...
    @property
    def context(self) -> Context: ...
    @property
    def waitables(self) -> Iterator[Waitable]: ...
    def get_name(self) -> str: ...
    def get_namespace(self) -> str: ...
    def count_publishers(self, topic_name: str) -> int: ...
    def count_subscribers(self, topic_name: str) -> int: ...
    def get_topic_names_and_types(self) -> list[tuple[str, list[str]]]: ...
    def get_fully_qualified_name(self) -> str: ...
    def get_clock(self) -> Clock: ...
    def get_logger(self) -> RcutilsLogger: ...
    def declare_parameter(
        self,
        name: str,
        value: object = None,
        descriptor: ParameterDescriptor | None = None,
        ignore_override: bool = False,
    ) -> Parameter: ...
    def undeclare_parameter(self, name: str) -> None: ...
    def has_parameter(self, name: str) -> bool: ...
    def set_parameters_atomically(self, parameter_list: list[Parameter]) -> SetParametersResult: ...
    def add_pre_set_parameters_callback(
        self, callback: Callable[[list[Parameter]], list[Parameter]]
    ) -> None: ...
    def add_on_set_parameters_callback(
        self, callback: Callable[[list[Parameter]], SetParametersResult]
    ) -> None: ...
    def add_post_set_parameters_callback(self, callback: Callable[[list[Parameter]], None]) -> None: ...
    def get_parameters_by_prefix(self, prefix: str) -> dict[str, Parameter]: ...
    def create_publisher(
        self,
        msg_type: type[_MessageT],
        topic: str,
        qos_profile: QoSProfile | int,
        *,
        qos_overriding_options: QoSOverridingOptions | None = None,
    ) -> Publisher[_MessageT]: ...
    @overload
    def create_subscription(
        self,
        msg_type: type[_MessageT],
        topic: str,
        callback: Callable[[_MessageT], object] | Callable[[_MessageT, Mapping[str, int]], object],
        qos_profile: QoSProfile | int,
        *,
        callback_group: CallbackGroup | None = None,
        qos_overriding_options: QoSOverridingOptions | None = None,
        raw: Literal[False] = False,
    ) -> Subscription: ...
    @overload
    def create_subscription(
        self,
        msg_type: type[_MessageT],
        topic: str,
        callback: Callable[[bytes], object] | Callable[[bytes, Mapping[str, int]], object],
        qos_profile: QoSProfile | int,
        *,
        callback_group: CallbackGroup | None = None,
        qos_overriding_options: QoSOverridingOptions | None = None,
        raw: Literal[True],
    ) -> Subscription: ...
    def create_client(
        self,
        srv_type: type[ServiceType[_RequestT, _ResponseT]],
        srv_name: str,
        *,
        callback_group: CallbackGroup | None = None,
    ) -> Client[_RequestT, _ResponseT]: ...
    def create_service(
        self,
        srv_type: type[ServiceType[_RequestT, _ResponseT]],
        srv_name: str,
        callback: Callable[[_RequestT, _ResponseT], _ResponseT],
        *,
        callback_group: CallbackGroup | None = None,
    ) -> Service[_RequestT, _ResponseT]: ...
    def create_timer(
        self,
        timer_period_sec: float,
        callback: Callable[[], object],
        callback_group: CallbackGroup | None = None,
        clock: Clock | None = None,
    ) -> Timer: ...
    def create_guard_condition(
        self, callback: Callable[[], object], callback_group: CallbackGroup | None = None
    ) -> GuardCondition: ...
    def destroy_node(self) -> None: ...
    def destroy_subscription(self, subscription: Subscription) -> bool: ...
    def destroy_guard_condition(self, guard: GuardCondition) -> bool: ...
    def resolve_topic_name(self, topic: str) -> str: ...
    def get_publishers_info_by_topic(self, topic_name: str) -> list[TopicEndpointInfo]: ...
    def get_subscriptions_info_by_topic(self, topic_name: str) -> list[TopicEndpointInfo]: ...
