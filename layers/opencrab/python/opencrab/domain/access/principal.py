"""Principals and API keys: who calls, what the key may do, kept only as a hash."""

from datetime import datetime

from opencrab.domain.access.authority import Scope
from opencrab.domain.errors import Refused
from opencrab.domain.value import Identifier, Name, Value

_INCLUDES = {
    Scope.OWNER: {Scope.OWNER, Scope.CHAT, Scope.READ},
    Scope.CHAT: {Scope.CHAT, Scope.READ},
    Scope.READ: {Scope.READ},
}


class ApiKey(Value):
    """A key's record; `hash` is the SHA-256 of the secret, which is shown once and never kept."""

    id: Identifier
    name: Name
    scope: Scope
    hash: str
    created_at: datetime
    revoked_at: datetime | None = None


class Principal(Value):
    """The caller as our code knows it, never as a text claims it."""

    id: Identifier
    name: Name
    scope: Scope

    def require(self, scope: Scope) -> None:
        """Raise Refused unless this principal's key includes the scope."""
        if scope not in _INCLUDES[self.scope]:
            raise Refused(
                f"this needs a key with scope {scope.value!r}; yours has {self.scope.value!r}",
                cure=f"create one with `opencrab keys create --scope {scope.value}`",
            )
