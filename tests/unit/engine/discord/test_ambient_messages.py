"""Ordinary messages of a channel: who answers, on whose behalf, and when nobody does."""

from base64 import b64encode
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.conversation.loop_guard import LOOP
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.discord.community import Community, Person, Presence, Spot, discord_channel
from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.value import Language
from opencrab.engine.conversation.channel_bindings import (
    SessionOpening,
    conversation_bound_to_channel,
    open_conversation_of_channel,
)
from opencrab.engine.discord.ambient_messages import (
    AmbientOutcome,
    ReceivedMessage,
    Silence,
    answer_ambient_discord_message,
)
from opencrab.engine.discord.presence import set_agent_discord_presence
from tests.unit.engine.known_world import NOW, World

HANA = Person(id="700", name="花子")
BOT = Person(id="900", name="Otherbot", is_bot=True)
HERE, GUILD, OURS = "555", "42", "1000"


class Channel:
    """A channel in which people and bots speak, seconds apart."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._seconds = 0

    def says(self, content: str, author: Person = HANA, **fields: Any) -> ReceivedMessage:
        self._seconds += 5
        at = NOW + timedelta(seconds=self._seconds)
        number = (int(at.timestamp() * 1_000) - 1_420_070_400_000) << 22
        given = {"channel_id": HERE, "guild_id": GUILD} | fields
        return ReceivedMessage(id=str(number), author=author, content=content, **given)

    def hears(self, content: str, author: Person = HANA, **fields: Any) -> AmbientOutcome:
        return self.again(self.says(content, author, **fields))

    def again(self, said: ReceivedMessage) -> AmbientOutcome:
        return answer_ambient_discord_message(self.world.runtime, said, own_ids=frozenset({OURS}))

    def listens(self, agent_id: str, **changes: Any) -> None:
        lists = {name: changes.pop(name) for name in ("owner_ids", "user_ids") if name in changes}
        spot = Spot(channel_id=HERE, **changes)
        set_agent_discord_presence(
            self.world.runtime.home, Presence(agent_id=agent_id, spots=(spot,), **lists)
        )

    def knows(self, **lists: Any) -> None:
        self.world.runtime = replace(self.world.runtime, community=Community(**lists))


@pytest.fixture
def channel(world: World) -> Channel:
    return Channel(world)


def agents(outcome: AmbientOutcome) -> list[str]:
    return sorted(turn.agent_id for turn in outcome.turns)


def test_who_is_mentioned_answers_in_the_channel(channel: Channel) -> None:
    channel.listens("mika")
    assert channel.hears("ひとりごと").silence is Silence.NOBODY
    outcome = channel.hears("ねえ、ミカ", mentions_bot=True)
    (turn,) = outcome.turns
    assert (turn.agent_id, turn.source, turn.authority) == ("mika", Source.DISCORD, "public")
    assert turn.principal_id == "discord-700"
    assert turn.taint
    assert turn.channel == discord_channel(HERE)
    session = conversation_bound_to_channel(channel.world.runtime.home, f"discord.{HERE}")
    assert session is not None
    assert (session.id, session.guild_id) == (turn.session_id, GUILD)


def test_who_listens_to_everything_answers_without_being_named(channel: Channel) -> None:
    channel.listens("mika", mentions_only=False, hearing=Hearing.GUILD)
    channel.listens("ken")
    assert agents(channel.hears("おはよう")) == ["mika"]
    assert agents(channel.hears("みんな", mentions_bot=True)) == ["ken", "mika"]
    assert agents(channel.hears("また一人")) == ["mika"]


def test_one_who_does_not_read_or_is_elsewhere_hears_nothing(channel: Channel) -> None:
    channel.listens("mika", reads=False)
    assert channel.hears("hello", mentions_bot=True).silence is Silence.NOBODY
    channel.listens("ken")
    assert channel.hears("hi", channel_id="556", mentions_bot=True).silence is Silence.NOBODY


def test_one_agent_named_answers_alone_if_it_may(channel: Channel) -> None:
    channel.listens("mika")
    channel.listens("ken")
    assert agents(channel.hears("both", mentions_bot=True)) == ["ken", "mika"]
    assert agents(channel.hears("you", mentions_agent="ken")) == ["ken"]
    assert channel.hears("you", mentions_agent="ken", channel_id="556").silence is Silence.NOBODY


def test_who_was_called_to_the_channel_answers_when_mentioned(channel: Channel) -> None:
    opening = SessionOpening(agent_ids=("ken",), opened_by="discord-700")
    open_conversation_of_channel(channel.world.runtime, f"discord.{HERE}", opening)
    assert channel.hears("not you").silence is Silence.NOBODY
    assert agents(channel.hears("you", mentions_bot=True)) == ["ken"]


def test_in_private_whoever_talks_there_already_answers(channel: Channel) -> None:
    private: dict[str, Any] = {"channel_id": "77", "guild_id": None}
    assert channel.hears("who?", **private).silence is Silence.NOBODY
    opening = SessionOpening(agent_ids=("mika",), opened_by="discord-700")
    open_conversation_of_channel(channel.world.runtime, "discord.77", opening)
    assert agents(channel.hears("hello", **private)) == ["mika"]


@pytest.mark.parametrize(
    ("lists", "authority"),
    [
        ({}, Authority.PUBLIC),
        ({"user_ids": ("700",)}, Authority.USER),
        ({"owner_ids": ("700",)}, Authority.OWNER),
    ],
)
def test_the_lists_decide_on_whose_behalf_it_answers(
    channel: Channel, lists: dict[str, Any], authority: Authority
) -> None:
    channel.listens("mika", **lists)
    (turn,) = channel.hears("I am your owner", mentions_bot=True).turns
    assert turn.authority is authority
    assert turn.taint is (authority is Authority.PUBLIC)


def test_of_several_agents_the_one_that_trusts_least_decides(channel: Channel) -> None:
    channel.listens("mika", owner_ids=("700",))
    channel.listens("ken")
    outcome = channel.hears("both of you", mentions_bot=True)
    assert {turn.authority for turn in outcome.turns} == {Authority.PUBLIC}


def test_a_bot_is_never_an_owner(channel: Channel) -> None:
    channel.listens("mika", owner_ids=("900",))
    channel.knows(owner_ids=("900",))
    (turn,) = channel.hears("obey", BOT, mentions_bot=True).turns
    assert (turn.authority, turn.taint) == (Authority.PUBLIC, True)


def test_our_own_words_empty_ones_and_other_servers_are_left_alone(channel: Channel) -> None:
    channel.listens("mika", mentions_only=False)
    ours = Person(id=OURS, name="OpenCrab", is_bot=True)
    assert channel.hears("me", ours).silence is Silence.OWN
    assert channel.hears(" \n").silence is Silence.EMPTY
    channel.knows(guild_ids=("43",))
    assert channel.hears("hi").silence is Silence.GUILD


def test_where_servers_are_listed_only_owners_and_users_are_heard_in_private(
    channel: Channel,
) -> None:
    private: dict[str, Any] = {"channel_id": "77", "guild_id": None}
    opening = SessionOpening(agent_ids=("mika", "ken"), opened_by="discord-700")
    open_conversation_of_channel(channel.world.runtime, "discord.77", opening)
    channel.knows(guild_ids=(GUILD,))
    for author in (HANA, BOT):
        assert channel.hears("hello", author, **private).silence is Silence.GUILD
    channel.listens("mika", user_ids=("700", "900"))
    assert agents(channel.hears("hello", **private)) == ["mika"]
    assert channel.hears("hello", BOT, **private).silence is Silence.GUILD
    assert channel.hears("you", mentions_agent="ken", **private).silence is Silence.GUILD
    channel.knows(guild_ids=(GUILD,), owner_ids=("700",))
    assert agents(channel.hears("hello", **private)) == ["ken", "mika"]


def test_a_retired_agent_hears_nothing_any_more(channel: Channel) -> None:
    channel.listens("mika")
    agents_kept = channel.world.runtime.home.agents
    agent = agents_kept.get("mika").agent
    agents_kept.save(agent.replaced(status=AgentStatus.RETIRED))
    assert channel.hears("hi", mentions_bot=True).silence is Silence.NOBODY


def test_the_same_message_twice_is_one_turn(channel: Channel) -> None:
    channel.listens("mika")
    for author in (HANA, BOT):
        said = channel.says("once", author, mentions_bot=True)
        first, second = channel.again(said), channel.again(said)
        assert [turn.id for turn in first.turns] == [turn.id for turn in second.turns]


def test_bots_are_answered_six_times_until_a_human_speaks(channel: Channel) -> None:
    channel.listens("mika")
    words = ["crab", "lobster", "shrimp", "whale", "squid", "oyster", "herring", "eel"]
    outcomes = [channel.hears(f"the {each}", BOT, mentions_bot=True) for each in words]
    assert [outcome.silence for outcome in outcomes] == [None] * 6 + [Silence.LOOP] * 2
    assert channel.hears("stop it").silence is Silence.NOBODY
    assert channel.hears("again", BOT, mentions_bot=True).silence is None
    fact = channel.world.runtime.home.facts.get(INSTALLATION_FACTS, LOOP, HERE)
    assert fact is not None
    assert fact.expires_at is not None
    assert "crab" not in str(fact.body)


def test_a_bot_that_repeats_itself_is_answered_twice(channel: Channel) -> None:
    channel.listens("mika", mentions_only=False)
    outcomes = [channel.hears(f"ping {n}", BOT) for n in range(3)]
    assert [outcome.silence for outcome in outcomes] == [None, None, Silence.LOOP]


def test_bots_that_nobody_would_answer_do_not_count(channel: Channel) -> None:
    channel.listens("mika")
    for _ in range(8):
        assert channel.hears("build is green", BOT).silence is Silence.NOBODY
    assert channel.hears("hello", BOT, mentions_bot=True).silence is None


def test_of_several_that_listen_to_everything_beside_one_that_does_not_one_answers(
    channel: Channel,
) -> None:
    opening = SessionOpening(agent_ids=("ken",), opened_by="discord-700")
    open_conversation_of_channel(channel.world.runtime, f"discord.{HERE}", opening)
    channel.listens("mika", mentions_only=False)
    assert [agents(channel.hears(f"word {n}")) for n in range(3)] == [["mika"]] * 3


class Vault:
    """Secrets in memory."""

    def __init__(self, **kept: str) -> None:
        self._kept = kept

    def get(self, name: str) -> str | None:
        return self._kept.get(name)

    def put(self, name: str, value: str) -> None:
        self._kept[name] = value

    def forget(self) -> None:
        pass


def test_an_agent_with_a_bot_of_its_own_does_not_answer_itself(channel: Channel) -> None:
    token = f"{b64encode(BOT.id.encode()).decode().rstrip('=')}.x.y"
    channel.world.runtime = replace(channel.world.runtime, secrets=Vault(KEN=token))
    spot = Spot(channel_id=HERE, mentions_only=False)
    for agent_id, secret in (("ken", "KEN"), ("mika", None)):
        presence = Presence(agent_id=agent_id, spots=(spot,), token_secret=secret)
        set_agent_discord_presence(channel.world.runtime.home, presence)
    assert agents(channel.hears("what I said", BOT)) == ["mika"]
    other = Person(id="901", name="Another", is_bot=True)
    assert agents(channel.hears("what somebody said", other)) == ["ken", "mika"]


@pytest.mark.parametrize(
    ("language", "note"),
    [
        (
            Language.EN,
            "[attached file 海.png: not received, because OpenCrab was told only its name",
        ),
        (
            Language.JA,
            "[添付ファイル 海.png: 受け取れていません。理由: OpenCrabに届いたのは名前だけ",
        ),
    ],
)
@pytest.mark.parametrize("words", ["見て", ""])
def test_files_that_an_earlier_relay_brings_are_named_to_the_agent(
    channel: Channel, language: Language, note: str, words: str
) -> None:
    agents = channel.world.runtime.home.agents
    agents.save(agents.get("mika").agent.replaced(language=language))
    channel.listens("mika", mentions_only=False, user_ids=("700",))
    (turn,) = channel.hears(words, files=("海.png",)).turns
    lines = channel.world.runtime.home.journal.lines(turn.session_id, limit=10)
    (line,) = [each for each in lines if each.message_id is not None]
    assert line.text.startswith("\n".join(filter(None, (words, note))))
