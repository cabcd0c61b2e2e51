"""Signed links: made here, whole, in the name of a key that still opens something."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencrab.adapters.local_files.secrets import FileSecrets
from opencrab.domain.access.authority import Scope
from opencrab.domain.access.principal import ApiKey
from opencrab.domain.errors import Refused, Unavailable
from opencrab.engine.access.api_keys import create_api_key
from opencrab.engine.approvals.signed_links import (
    SECRET,
    create_approval_link,
    decider_of_approval_link,
    read_approval_link,
)
from opencrab.engine.runtime import Runtime
from tests.soak import examples
from tests.unit.engine.known_world import NOW, World, opened

UNTIL = NOW + timedelta(hours=1)
PARTS = "approval", "key", "until", "signature"


@dataclass
class Shelf:
    """Secrets that two processes share, each with what it read last."""

    kept: dict[str, str]
    read: dict[str, str] = field(default_factory=dict)

    def get(self, name: str) -> str | None:
        return self.read.get(name)

    def put(self, name: str, value: str) -> None:
        self.kept[name] = value
        self.read = dict(self.kept)

    def forget(self) -> None:
        self.read = dict(self.kept)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("links")) as world:
        world.runtime = replace(world.runtime, secrets=Shelf({}))
        yield world


def key(runtime: Runtime, scope: Scope) -> ApiKey:
    return create_api_key(runtime, name=f"{scope.value} 鍵", scope=scope)[1]


def test_a_link_says_what_it_was_made_for(shared: World) -> None:
    token = create_approval_link(shared.runtime, "a1", key_id="k1", until=UNTIL)
    link = read_approval_link(shared.runtime.secrets, token)
    assert (link.approval_id, link.key_id, link.until) == ("a1", "k1", UNTIL)
    assert create_approval_link(shared.runtime, "a1", key_id="k1", until=UNTIL) == token


def test_no_part_of_a_link_can_be_exchanged(shared: World) -> None:
    one = create_approval_link(shared.runtime, "a1", key_id="k1", until=UNTIL).split(".")
    other = create_approval_link(
        shared.runtime, "a2", key_id="k2", until=UNTIL + timedelta(1)
    ).split(".")
    for place, name in enumerate(PARTS):
        mixed = ".".join([*one[:place], other[place], *one[place + 1 :]])
        with pytest.raises(Refused):
            read_approval_link(shared.runtime.secrets, mixed)
        assert one[place] != other[place], name


@settings(max_examples=examples(100))
@given(st.data())
def test_no_changed_character_is_let_through(shared: World, data: st.DataObject) -> None:
    token = create_approval_link(shared.runtime, "a1", key_id="k1", until=UNTIL)
    place = data.draw(st.integers(0, len(token) - 1))
    letter = data.draw(st.characters(codec="utf-8").filter(lambda found: found != token[place]))
    with pytest.raises(Refused):
        read_approval_link(shared.runtime.secrets, f"{token[:place]}{letter}{token[place + 1 :]}")


@pytest.mark.parametrize("token", ["", ".", "a.b.1.c", "a" * 10_000, "海.k.1.x", "a.k.\u0661.x\n"])
def test_what_is_no_link_is_refused(shared: World, token: str) -> None:
    with pytest.raises(Refused):
        read_approval_link(shared.runtime.secrets, token)


def test_another_installation_made_other_links(shared: World, world: World) -> None:
    token = create_approval_link(shared.runtime, "a1", key_id="k1", until=UNTIL)
    elsewhere = replace(world.runtime, secrets=Shelf({}))
    with pytest.raises(Refused):
        read_approval_link(elsewhere.secrets, token)
    world.clock.secret()  # the fake clock's first one is the same for all
    create_approval_link(elsewhere, "a1", key_id="k1", until=UNTIL)
    with pytest.raises(Refused):
        read_approval_link(elsewhere.secrets, token)
    with pytest.raises(Refused):
        read_approval_link(None, token)


def test_the_secret_is_made_once_and_kept_where_others_find_it(
    world: World, tmp_path: Path
) -> None:
    kept: dict[str, str] = {}
    first, second = (replace(world.runtime, secrets=Shelf(kept)) for _ in range(2))
    token = create_approval_link(first, "a1", key_id="k1", until=UNTIL)
    assert read_approval_link(second.secrets, token).approval_id == "a1"
    assert create_approval_link(second, "a1", key_id="k1", until=UNTIL) == token
    assert len(kept[SECRET]) >= 32
    in_a_file = replace(world.runtime, secrets=FileSecrets(tmp_path / "secrets"))
    token = create_approval_link(in_a_file, "a1", key_id="k1", until=UNTIL)
    assert kept[SECRET] not in token
    assert read_approval_link(in_a_file.secrets, token).key_id == "k1"


def test_without_a_place_for_secrets_there_are_no_links(world: World) -> None:
    with pytest.raises(Unavailable, match="no secret store") as missing:
        create_approval_link(world.runtime, "a1", key_id="k1", until=UNTIL)
    assert missing.value.cure == "use the API or the terminal"


@pytest.mark.parametrize("scope", [Scope.OWNER, Scope.CHAT])
def test_a_link_decides_as_its_maker_could_until_their_key_ends(
    shared: World, scope: Scope
) -> None:
    made = key(shared.runtime, scope)
    token = create_approval_link(shared.runtime, "a1", key_id=made.id, until=UNTIL)
    link = read_approval_link(shared.runtime.secrets, token)
    who = decider_of_approval_link(shared.runtime.home.keys, link)
    assert (who.id, who.is_owner) == (made.id, scope is Scope.OWNER)
    assert who.recorded_name == f"link:{made.id[:8]}"
    shared.runtime.home.keys.revoke(made.id, NOW, keep_last_owner=False)
    with pytest.raises(Refused):
        decider_of_approval_link(shared.runtime.home.keys, link)


def test_a_key_that_only_reads_decides_nothing_by_a_link(shared: World) -> None:
    made = key(shared.runtime, Scope.READ)
    token = create_approval_link(shared.runtime, "a1", key_id=made.id, until=UNTIL)
    with pytest.raises(Refused):
        decider_of_approval_link(
            shared.runtime.home.keys, read_approval_link(shared.runtime.secrets, token)
        )
