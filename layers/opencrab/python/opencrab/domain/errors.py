"""Errors that every layer may raise, sorted by what the caller must do about them.

A gateway or an adapter derives its own from these.

OpenCrabError
 ├── Refused        403  do not retry: the rules forbid it
 │    ├── NoRoom         as many as there may be are kept already
 │    └── Stopped        a turn was asked to stop before this could start
 ├── Unauthenticated 401 send a valid key
 ├── NotFound       404  name something that exists
 ├── Invalid        422  correct the input
 │    └── TooLarge  413  send less
 ├── Conflict       409  reload, then try again
 │    ├── Superseded     another worker owns the turn now: stand back
 │    └── Changed        a fact is stored in another version: read it again and repeat the change
 ├── Unavailable    503  wait, then try again
 │    ├── NeverSent      nobody worked on the request: nothing was billed
 │    └── UnreadableValue a stored value of another release: nothing of it was changed
 ├── Exhausted      429  a budget is used up
 └── ModelCallFailed  502  a model call brought no answer; its fault says what to do (fault.py)
"""


class OpenCrabError(Exception):
    """The root of all errors that OpenCrab raises on purpose."""

    code = "error"

    def __init__(self, message: str, *, field: str | None = None, cure: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.cure = cure


class Refused(OpenCrabError):
    """An operation that a rule forbids; a retry fails in the same way."""

    code = "refused"


class NoRoom(Refused):
    """A limit on stored items that is reached."""

    code = "no_room"


class Stopped(Refused):
    """An operation that did not start because its turn was asked to stop."""

    code = "stopped"


class Unauthenticated(OpenCrabError):
    """A caller without a valid key."""

    code = "unauthenticated"


class NotFound(OpenCrabError):
    """A named thing that does not exist."""

    code = "not-found"


class Invalid(OpenCrabError):
    """Input that breaks a rule; the message names the field, `cure` says what to do."""

    code = "invalid"


class TooLarge(Invalid):
    """Input that exceeds a size limit."""

    code = "too-large"


class Conflict(OpenCrabError):
    """A change that another writer made first, or a key that was used for something else."""

    code = "conflict"


class Superseded(Conflict):
    """A turn whose epoch has moved on: this worker no longer owns it."""

    code = "superseded"


class Changed(Conflict):
    """A document that was changed since it was read."""

    code = "changed"


class Unavailable(OpenCrabError):
    """An external service that does not answer now."""

    code = "unavailable"


class NeverSent(Unavailable):
    """A request that was certainly not processed, so that it cost nothing.

    `retry_after` is for how many seconds it would be rejected again; 0 if nobody said.
    """

    code = "never-sent"

    def __init__(
        self,
        message: str,
        *,
        field: str | None = None,
        cure: str | None = None,
        retry_after: float = 0,
    ) -> None:
        super().__init__(message, field=field, cure=cure)
        self.retry_after = retry_after


class UnreadableValue(Unavailable):
    """A stored value that this release cannot read; nothing of it was changed."""

    code = "unreadable"


class Exhausted(OpenCrabError):
    """A budget that is used up; `drawn_micro_usd` is what was drawn from it, None if unknown."""

    code = "exhausted"

    def __init__(
        self,
        message: str,
        *,
        field: str | None = None,
        cure: str | None = None,
        drawn_micro_usd: int | None = None,
    ) -> None:
        super().__init__(message, field=field, cure=cure)
        self.drawn_micro_usd = drawn_micro_usd
