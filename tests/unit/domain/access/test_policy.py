"""The policy: who sees what, and what is refused rather than hidden."""

import pytest

from opencrab.domain.access.authority import Scope
from opencrab.domain.access.policy import AccessDecision, Area, Resource, Verb, decide_access
from opencrab.domain.access.principal import Principal

SESSION = Resource(
    Area.SESSION,
    agent_ids=frozenset({"a1"}),
    session_id="s1",
    people=frozenset({"mika", "ken"}),
    keepers=frozenset({"mika"}),
)
ALLOWED, REFUSED, HIDDEN = AccessDecision.ALLOWED, AccessDecision.REFUSED, AccessDecision.HIDDEN


def person(name: str, scope: Scope = Scope.CHAT, *grants: str) -> Principal:
    return Principal(id=name, name=name, scope=scope, grants=grants)


def decided(who: Principal, what: Resource) -> list[AccessDecision]:
    return [decide_access(who, verb, what) for verb in Verb]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mika", [ALLOWED, ALLOWED, ALLOWED]),
        ("ken", [ALLOWED, ALLOWED, REFUSED]),
        ("ren", [HIDDEN, HIDDEN, HIDDEN]),
    ],
)
def test_a_session_is_its_creators_and_its_members(
    name: str, expected: list[AccessDecision]
) -> None:
    assert decided(person(name), SESSION) == expected


def test_an_owner_may_do_everything_anywhere() -> None:
    for area in Area:
        assert decided(person("x", Scope.OWNER), Resource(area)) == [ALLOWED] * 3


@pytest.mark.parametrize(
    ("grant", "expected"),
    [
        ("sessions:s1", ALLOWED),
        ("sessions:s2", HIDDEN),
        ("agent:a1", ALLOWED),
        ("agent:a2", HIDDEN),
        ("metrics", HIDDEN),
        ("all", ALLOWED),
        ("legacy", ALLOWED),
    ],
)
def test_a_read_key_sees_what_its_grants_say_and_changes_nothing(
    grant: str, expected: AccessDecision
) -> None:
    reader = person("mika", Scope.READ, grant)
    assert decide_access(reader, Verb.READ, SESSION) is expected
    changed = REFUSED if expected is ALLOWED else HIDDEN
    assert decide_access(reader, Verb.CHANGE, SESSION) is changed
    assert decide_access(reader, Verb.TAKE_PART, SESSION) is changed


def test_membership_gives_a_read_key_nothing_without_a_grant() -> None:
    assert decided(person("mika", Scope.READ), SESSION) == [HIDDEN] * 3


def test_metrics_are_refused_to_those_who_may_not_see_them_and_to_old_read_keys() -> None:
    metrics = Resource(Area.METRICS, agent_ids=frozenset({"a1"}))
    for who in (person("mika"), person("r", Scope.READ, "legacy")):
        assert decide_access(who, Verb.READ, metrics) is REFUSED
    for grant in ("metrics", "all", "agent:a1"):
        assert decide_access(person("r", Scope.READ, grant), Verb.READ, metrics) is ALLOWED


def test_what_an_agent_keeps_is_refused_to_who_knows_the_agent_and_hidden_from_others() -> None:
    kept = Resource(Area.AGENT, agent_ids=frozenset({"a1"}))
    assert decide_access(person("mika"), Verb.READ, kept) is REFUSED
    assert decide_access(person("r", Scope.READ, "agent:a2"), Verb.READ, kept) is HIDDEN


def test_a_file_is_hidden_unless_it_is_published() -> None:
    file = Resource(Area.FILE, agent_ids=frozenset({"a1"}))
    assert decide_access(person("mika"), Verb.READ, file) is HIDDEN
    published = Resource(Area.FILE, agent_ids=frozenset({"a1"}), published=True)
    assert decide_access(person("mika"), Verb.READ, published) is ALLOWED
