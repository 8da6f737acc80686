# Known to the type checker only: base classes that name the messages of services and actions, and the
# messages in which the result and the feedback of an action arrive.

from typing import Generic, Protocol, TypeVar

_RequestT = TypeVar("_RequestT")
_ResponseT = TypeVar("_ResponseT")
_GoalT = TypeVar("_GoalT")
_ResultT = TypeVar("_ResultT")
_FeedbackT = TypeVar("_FeedbackT")
_ResultT_co = TypeVar("_ResultT_co", covariant=True)
_FeedbackT_co = TypeVar("_FeedbackT_co", covariant=True)

class ServiceType(Generic[_RequestT, _ResponseT]): ...
class ActionType(Generic[_GoalT, _ResultT, _FeedbackT]): ...

class GetResultResponse(Protocol[_ResultT_co]):
    @property
    def status(self) -> int: ...
    @property
    def result(self) -> _ResultT_co: ...

class FeedbackMessage(Protocol[_FeedbackT_co]):
    @property
    def feedback(self) -> _FeedbackT_co: ...
