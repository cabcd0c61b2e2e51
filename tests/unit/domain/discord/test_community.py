"""Who is who on Discord, where an agent may be asked, and how long it can answer."""

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from opencrab.domain.access.authority import Authority
from opencrab.domain.discord.community import (
    KIND,
    TOKEN_LIVES,
    Community,
    InteractionReply,
    Person,
    Presence,
    Spot,
    discord_address,
    discord_authority,
    discord_channel,
    time_of_discord_snowflake,
)

TARO = Person(id="11", name="太郎", role_ids=("21", "22"))
HERE, THERE, GUILD = "31", "32", "41"
AGENT = Presence(agent_id="crab")


def reply(**changes: object) -> InteractionReply:
    told: dict[str, object] = {
        "id": "175928847299117063", "application_id": "51", "token": "aW50ZXJh.Y3Rp-b24_=",
        "channel_id": HERE,
    }  # fmt: skip
    return InteractionReply.model_validate({**told, **changes})


def test_an_id_tells_when_it_was_made() -> None:
    expected = datetime(2016, 4, 30, 11, 18, 25, 796_000, tzinfo=UTC)
    assert time_of_discord_snowflake("175928847299117063") == expected


def test_a_reply_is_open_for_fifteen_minutes_after_the_interaction() -> None:
    made = time_of_discord_snowflake(reply().id)
    assert reply().is_open(made + TOKEN_LIVES - timedelta(milliseconds=1))
    assert not reply().is_open(made + TOKEN_LIVES)


@pytest.mark.parametrize("wrong", ["", "0", "01", "-1", "1e5", "\uff11", "1" * 21, "1\n", "a"])
def test_what_is_no_id_is_refused(wrong: str) -> None:
    with pytest.raises(ValidationError):
        reply(channel_id=wrong)


@pytest.mark.parametrize("wrong", ["", "a b", "a?b", "a#b", "a\r\nX: y", "あ", "a" * 2_001])
def test_a_token_that_could_change_an_address_is_refused(wrong: str) -> None:
    with pytest.raises(ValidationError):
        reply(token=wrong)


@pytest.mark.parametrize("interaction_id", [None, "61"])
@pytest.mark.parametrize("awaited", [True, False])
def test_an_address_names_the_channel_and_the_interaction(
    interaction_id: str | None, *, awaited: bool
) -> None:
    channel = discord_channel(HERE, interaction_id, awaited=awaited)
    assert (channel.kind, channel.awaited) == (KIND, awaited)
    assert discord_address(channel) == (HERE, interaction_id)


def test_by_default_nobody_is_the_owner() -> None:
    assert discord_authority(TARO, Community(), None) is Authority.PUBLIC
    assert discord_authority(TARO, Community(), AGENT) is Authority.PUBLIC


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ({"owner_ids": ("11",)}, Authority.OWNER),
        ({"user_ids": ("11",)}, Authority.USER),
        ({"role_ids": ("22",)}, Authority.USER),
        ({"owner_ids": ("11",), "user_ids": ("11",)}, Authority.OWNER),
        ({"owner_ids": ("12",), "user_ids": ("13",), "role_ids": ("23",)}, Authority.PUBLIC),
    ],
)
def test_the_lists_of_installation_and_agent_say_what_somebody_is(
    lists: dict[str, tuple[str, ...]], expected: Authority
) -> None:
    by_installation = Community.model_validate(lists)
    by_agent = Presence.model_validate({"agent_id": "crab", **lists})
    assert discord_authority(TARO, by_installation, None) is expected
    assert discord_authority(TARO, by_installation, AGENT) is expected
    assert discord_authority(TARO, Community(), by_agent) is expected


def test_a_role_never_makes_an_owner_and_an_agents_list_is_its_own() -> None:
    owners_role = Community(owner_ids=("21",))
    assert discord_authority(TARO, owners_role, None) is Authority.PUBLIC
    other = Presence(agent_id="shrimp", owner_ids=("11",))
    assert discord_authority(TARO, Community(), AGENT) is Authority.PUBLIC
    assert discord_authority(TARO, Community(), other) is Authority.OWNER


def test_without_spots_an_agent_can_be_asked_anywhere_else_there_and_in_private() -> None:
    assert AGENT.may_be_asked(HERE, GUILD)
    placed = AGENT.replaced(spots=(Spot(channel_id=HERE),))
    assert placed.may_be_asked(HERE, GUILD)
    assert not placed.may_be_asked(THERE, GUILD)
    assert placed.may_be_asked(THERE, None)
    assert placed.spot(HERE) == Spot(channel_id=HERE)
    assert placed.spot(THERE) is None


def test_the_servers_that_are_heard_are_all_or_those_listed() -> None:
    assert Community().admits(GUILD)
    listed = Community(guild_ids=(GUILD,))
    assert (listed.admits(GUILD), listed.admits("42")) == (True, False)
    assert not listed.admits("42", Authority.OWNER)


@pytest.mark.parametrize("by", Authority)
def test_where_servers_are_listed_only_owners_and_users_are_heard_in_private(by: Authority) -> None:
    assert Community().admits(None, by)
    is_trusted = by in {Authority.OWNER, Authority.USER}
    assert Community(guild_ids=(GUILD,)).admits(None, by) is is_trusted


def test_among_others_who_was_placed_elsewhere_is_reached_by_owners_and_users_only() -> None:
    placed = AGENT.replaced(spots=(Spot(channel_id=HERE),))
    assert placed.may_be_asked(HERE, None, among_others=True)
    assert AGENT.may_be_asked(THERE, None, among_others=True)
    reached = [by for by in Authority if placed.may_be_asked(THERE, None, by=by, among_others=True)]
    assert set(reached) == {Authority.OWNER, Authority.USER}
    assert not placed.may_be_asked(THERE, GUILD, by=Authority.OWNER)


def test_a_person_is_one_of_our_principals() -> None:
    assert TARO.principal_id == "discord-11"
