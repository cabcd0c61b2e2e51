"""Principals: a key does what its scope includes, and no more."""

import pytest

from opencrab.domain.access.authority import Scope
from opencrab.domain.access.principal import Principal
from opencrab.domain.errors import Refused

INCLUDED = {
    (Scope.OWNER, Scope.OWNER),
    (Scope.OWNER, Scope.CHAT),
    (Scope.OWNER, Scope.READ),
    (Scope.CHAT, Scope.CHAT),
    (Scope.CHAT, Scope.READ),
    (Scope.READ, Scope.READ),
}


@pytest.mark.parametrize("held", Scope)
@pytest.mark.parametrize("needed", Scope)
def test_owner_includes_chat_and_chat_includes_read(held: Scope, needed: Scope) -> None:
    principal = Principal(id="k1", name="太郎", scope=held)
    if (held, needed) in INCLUDED:
        principal.require(needed)
        return
    with pytest.raises(Refused) as refused:
        principal.require(needed)
    assert refused.value.message == (f"this needs a key with scope '{needed}'; yours has '{held}'")
    made = f"`opencrab admin keys create --name NAME --scope {needed}`"
    assert refused.value.cure == f"ask an owner for one, who makes it with {made}"
