"""Access: what is known of a caller, and what of it may be seen or compared."""

from opencrab.domain.access.authority import Scope, Source
from opencrab.domain.access.principal import Principal
from opencrab.gateways.rest.http.access import Caller

HANAKO = Principal(id="hanako", name="花子", scope=Scope.CHAT)


def test_a_caller_that_is_shown_does_not_show_its_secret() -> None:
    caller = Caller(HANAKO, Source.REST, headers=[(b"authorization", b"Bearer oc_secret")])
    assert "hanako" in repr(caller)
    assert "oc_secret" not in repr(caller)


def test_the_same_caller_in_another_request_is_the_same() -> None:
    sent = [(b"accept-language", b"ja")]
    assert {Caller(HANAKO, Source.REST), Caller(HANAKO, Source.REST, headers=sent)} == {
        Caller(HANAKO, Source.REST)
    }
