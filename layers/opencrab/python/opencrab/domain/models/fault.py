"""Faults: why a model call brought no answer, what it may have cost, and what to do next."""

from enum import StrEnum

from opencrab.domain.errors import OpenCrabError
from opencrab.domain.money.budget import Usage


class FaultResponse(StrEnum):
    """The action after a fault: ask the same model again, ask another one, or stop."""

    RETRY = "retry"
    NEXT = "next"
    STOP = "stop"


class Fault(StrEnum):
    """The reason why a model call failed, independent of the vendor's status code."""

    RATE_LIMITED = "rate_limited"
    QUOTA_SPENT = "quota_spent"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server_error"
    TIMEOUT = "timeout"
    BROKEN_OFF = "broken_off"
    UNREACHABLE = "unreachable"
    NONSENSE = "nonsense"
    MODEL_GONE = "model_gone"
    BAD_REQUEST = "bad_request"
    TOO_LONG = "too_long"
    AUTH = "auth"
    BLOCKED = "blocked"

    @property
    def response(self) -> FaultResponse:
        """The action to take next."""
        if self is Fault.RATE_LIMITED:
            return FaultResponse.RETRY
        return FaultResponse.STOP if self in _FINAL else FaultResponse.NEXT

    @property
    def may_be_billed(self) -> bool:
        """True if a vendor may have processed the request before it failed."""
        return self in _PERHAPS_BILLED

    @property
    def is_provider_fault(self) -> bool:
        """True if the provider as a whole is affected, for all its callers."""
        return self in _ILLNESSES

    @property
    def may_pass(self) -> bool:
        """True if the same request to the same model may succeed a moment later."""
        return self is Fault.RATE_LIMITED or self in _PASSING


_FINAL = {Fault.BAD_REQUEST, Fault.TOO_LONG, Fault.AUTH, Fault.BLOCKED}
_PERHAPS_BILLED = {
    Fault.SERVER_ERROR,
    Fault.TIMEOUT,
    Fault.BROKEN_OFF,
    Fault.NONSENSE,
    Fault.BLOCKED,
}
_PASSING = {
    Fault.OVERLOADED,
    Fault.SERVER_ERROR,
    Fault.TIMEOUT,
    Fault.BROKEN_OFF,
    Fault.UNREACHABLE,
    Fault.NONSENSE,
}
_ILLNESSES = (_PASSING - {Fault.NONSENSE}) | {Fault.QUOTA_SPENT}


class ModelCallFailed(OpenCrabError):
    """A model call without an answer; `fault` is the reason, and with it what to do.

    `billed` overrides what the fault says of billing, for callers that know better: an overload in
    the middle of an answer was billed, an error before anything was sent was not. `usage` is what
    the vendor counted nevertheless; `provider_call_id` is the vendor's own id of the call, under
    which it may tell the cost later, "" if it gave none.
    """

    code = "unanswered"

    def __init__(
        self,
        message: str,
        fault: Fault,
        *,
        cure: str | None = None,
        billed: bool | None = None,
        retry_after_seconds: float | None = None,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(message, cure=cure)
        self.fault = fault
        self.may_be_billed = fault.may_be_billed if billed is None else billed
        self.retry_after_seconds = retry_after_seconds
        self.usage = usage
        self.provider_call_id = ""
