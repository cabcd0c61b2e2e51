"""Faults: why a model call brought no answer, what it may have cost, and what to do next."""

from enum import StrEnum

from opencrab.domain.errors import OpenCrabError
from opencrab.domain.money.budget import Usage


class FaultResponse(StrEnum):
    """What to do after a fault: ask the same model again, ask another one, or give up."""

    RETRY = "retry"
    NEXT = "next"
    STOP = "stop"


class Fault(StrEnum):
    """Why a model call failed, independent of the vendor's status code."""

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
    def course(self) -> FaultResponse:
        """What to do next."""
        if self is Fault.RATE_LIMITED:
            return FaultResponse.RETRY
        return FaultResponse.STOP if self in _FINAL else FaultResponse.NEXT

    @property
    def may_be_billed(self) -> bool:
        """Whether a vendor may have worked on the request before it failed."""
        return self in _PERHAPS_BILLED

    @property
    def is_illness(self) -> bool:
        """Whether it speaks against the provider as a whole, for all its callers."""
        return self in _ILLNESSES

    @property
    def may_pass(self) -> bool:
        """Whether the same request to the same model may succeed a moment later."""
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
    """A model call brought no answer; `fault` says why, and with it what to do.

    `billed` overrules what the fault says of the bill, for who knows better: an overload in the
    middle of an answer was billed, an error before anything was sent was not. `usage` is what the
    vendor says that it counted all the same.
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
