"""Authority: who is behind a turn, what that allows, and whose words taint."""

import pytest

from opencrab.domain.access.authority import (
    Authority,
    Scope,
    Source,
    authority,
    authority_permits,
    does_authority_taint_reader,
)
from opencrab.domain.access.impact import Impact

KEYED = (Source.REST, Source.WEBSOCKET, Source.CLI)


@pytest.mark.parametrize("source", KEYED)
@pytest.mark.parametrize(
    ("scope", "who"),
    [
        (Scope.OWNER, Authority.OWNER),
        (Scope.CHAT, Authority.USER),
        (Scope.READ, Authority.PUBLIC),
        (None, Authority.PUBLIC),
    ],
)
def test_at_a_keyed_door_the_key_says_who_it_is(
    source: Source, scope: Scope | None, who: Authority
) -> None:
    assert authority(source, scope) is who


@pytest.mark.parametrize("scope", [*Scope, None])
@pytest.mark.parametrize(
    ("source", "who"),
    [
        (Source.WEBHOOK, Authority.PUBLIC),
        (Source.DISCORD, Authority.PUBLIC),
        (Source.WORLD, Authority.PUBLIC),
        (Source.PEER, Authority.PEER),
        (Source.SCHEDULE, Authority.SELF),
        (Source.HEARTBEAT, Authority.SELF),
    ],
)
def test_at_any_other_door_no_key_helps(
    source: Source, scope: Scope | None, who: Authority
) -> None:
    assert authority(source, scope) is who


def test_nobody_is_the_owner_without_an_owners_key() -> None:
    owners = {source for source in Source if authority(source, None) is Authority.OWNER}
    assert owners == set()


@pytest.mark.parametrize("who", [Authority.OWNER, Authority.USER, Authority.SELF])
@pytest.mark.parametrize("impact", Impact)
def test_owner_user_and_the_agent_itself_may_use_every_action(
    who: Authority, impact: Impact
) -> None:
    assert authority_permits(who, impact)


@pytest.mark.parametrize("who", [Authority.PEER, Authority.PUBLIC])
@pytest.mark.parametrize("impact", Impact)
def test_peers_and_the_public_may_speak_and_read_only(who: Authority, impact: Impact) -> None:
    assert authority_permits(who, impact) is (impact in {Impact.SPEECH, Impact.READ})


def test_only_words_of_peers_and_the_public_taint() -> None:
    assert {who for who in Authority if does_authority_taint_reader(who)} == {
        Authority.PEER,
        Authority.PUBLIC,
    }
