"""Every error of OpenCrab, sorted by what the caller must do about it.

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
 │    └── NeverSent      nobody worked on the request: nothing was billed
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
    """The rules forbid it; trying again changes nothing."""

    code = "refused"


class NoRoom(Refused):
    """As many as there may be are kept already."""

    code = "no_room"


class Stopped(Refused):
    """The turn was asked to stop before the next thing could start."""

    code = "stopped"


class Unauthenticated(OpenCrabError):
    """The caller is unknown."""

    code = "unauthenticated"


class NotFound(OpenCrabError):
    """The named thing does not exist."""

    code = "not-found"


class Invalid(OpenCrabError):
    """The input breaks a rule; the message names the field and the cure."""

    code = "invalid"


class TooLarge(Invalid):
    """The input exceeds a size limit."""

    code = "too-large"


class Conflict(OpenCrabError):
    """Somebody else changed it first, or the same key was used for something else."""

    code = "conflict"


class Superseded(Conflict):
    """The turn's epoch has moved on: this worker no longer owns it."""

    code = "superseded"


class Changed(Conflict):
    """A fact was changed meanwhile."""

    code = "changed"


class Unavailable(OpenCrabError):
    """Something outside does not answer now."""

    code = "unavailable"


class NeverSent(Unavailable):
    """Nobody can have worked on the request, so it cost nothing."""

    code = "never-sent"


class Exhausted(OpenCrabError):
    """A budget is used up; `drawn_micro_usd` is what was drawn from it, where that is known."""

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
