"""Refusals: the errors that Discord answers, with its codes."""

from typing import Any

TEXTS = {
    10003: "Unknown Channel",
    10004: "Unknown Guild",
    10008: "Unknown Message",
    10015: "Unknown Webhook",
    10062: "Unknown interaction",
    20012: "You are not authorized to perform this action on this application",
    30034: "Max number of daily application command creates has been reached (200)",
    40005: "Request entity too large",
    40060: "Interaction has already been acknowledged.",
    40094: "This interaction has hit the maximum number of follow up messages",
    40333: "internal network error",
    50001: "Missing Access",
    50005: "Cannot edit a message authored by another user",
    50006: "Cannot send an empty message",
    50013: "Missing Permissions",
    50027: "Invalid Webhook Token",
    50035: "Invalid Form Body",
}


class Refusal(Exception):
    """A request that Discord refuses.

    `complaint` is what the fake holds against whoever sent it: such a request is a mistake of its
    sender and never a matter of time, chance or permission.
    """

    def __init__(
        self, status: int, code: int, *, errors: Any = None, complaint: str | None = None
    ) -> None:
        super().__init__(complaint or TEXTS.get(code, str(code)))
        self.status = status
        self.code = code
        self.errors = errors
        self.complaint = complaint

    @property
    def body(self) -> dict[str, Any]:
        """What Discord answers."""
        body = {"message": TEXTS.get(self.code, "401: Unauthorized"), "code": self.code}
        return body if self.errors is None else {**body, "errors": self.errors}


def not_found(code: int) -> Refusal:
    """Something that is not there."""
    return Refusal(404, code)


def invalid(where: str, code: str, message: str) -> Refusal:
    """A body that breaks a rule, at a place such as `embeds.0.title`."""
    errors: Any = {"_errors": [{"code": code, "message": message}]}
    for name in reversed([part for part in where.split(".") if part]):
        errors = {name: errors}
    told = f"{where or 'body'}: {message} ({code})"
    return Refusal(400, 50035, errors=errors, complaint=told)
