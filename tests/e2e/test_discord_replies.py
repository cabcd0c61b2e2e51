"""Answers in a channel of a server show which message they are for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.conversation.message import Message as Told
from opencrab.domain.conversation.message import Sender, TextPart
from opencrab.domain.discord.community import DISCORD_PRINCIPAL, Presence, Spot
from opencrab.domain.errors import Conflict, Unavailable
from opencrab.domain.peers.talk import MESSAGE_ITEM
from opencrab.domain.turn.due_item import DueItem
from opencrab.domain.value import Language
from opencrab.engine.autonomy.due_items import admit_due_item
from opencrab.engine.discord.presence import set_agent_discord_presence
from tests.contract.homes import DISTINCT_HOMES
from tests.crash.outside import Reply
from tests.discord.fake import OWNER, PRIVATE, SERVER_CHANNEL
from tests.discord.state import Message, Person, Place
from tests.e2e.discord_house import USER, DiscordHouse, opened


@pytest.fixture(params=DISTINCT_HOMES, ids=lambda opens: opens.__name__)
def reef(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DiscordHouse]:
    yield from opened(request.param, tmp_path)


def lives(house: DiscordHouse, *replies: Reply, language: Language = Language.JA) -> None:
    """An agent that listens to the channel moves in."""
    house.agent("kani", replies, language)
    spot = Spot(channel_id=SERVER_CHANNEL.channel_id, mentions_only=False)
    set_agent_discord_presence(house.home, Presence(agent_id="kani", spots=(spot,)))


def says(
    house: DiscordHouse, text: str, by: Person = OWNER, place: Place = SERVER_CHANNEL
) -> Message:
    """Somebody writes, the relay brings it, and it is answered."""
    message = house.discord.say(text, by, place)
    house.hear(message, place)
    house.work()
    return message


def references(house: DiscordHouse) -> list[object]:
    """The ids of the messages to which the posts are replies."""
    posts = house.discord.requests("POST /channels")
    return [(post.request.json.get("message_reference") or {}).get("message_id") for post in posts]


@pytest.mark.parametrize(
    ("language", "text"), [(Language.JA, "灯台です"), (Language.EN, "The lighthouse")]
)
def test_a_plain_answer_is_a_reply_to_what_was_asked(
    reef: DiscordHouse, language: Language, text: str
) -> None:
    lives(reef, Reply(text=text), language=language)
    asked = says(reef, "鍵はどこ?")
    assert references(reef) == [asked.id]
    assert reef.seen(SERVER_CHANNEL)[-1] == text


def test_an_agent_chooses_the_message_to_which_it_replies(reef: DiscordHouse) -> None:
    to_yui = {"content": "ゆいさんへ", "reply_to": f"{DISCORD_PRINCIPAL}{USER.id}", "more": True}
    rest = {"content": "みなさんへ"}
    lives(reef, Reply(calls=(("send_speech", to_yui), ("send_speech", rest))))
    first = says(reef, "ひとつめ", by=USER)
    says(reef, "ふたつめ")
    (session,) = reef.home.sessions.page(limit=10, after=None)
    lines = reef.home.journal.lines(session.id, limit=20)
    assert [line.reply_to for line in lines if line.text == "ゆいさんへ"] == [1, 1]
    assert references(reef) == [first.id, None, first.id, None]


def test_alone_with_somebody_nothing_refers_to_anything(reef: DiscordHouse) -> None:
    lives(reef, Reply(text="はい"))
    says(reef, "鍵はどこ?", place=PRIVATE)
    assert references(reef) == [None]


@pytest.mark.parametrize("text", ["満潮です", "High tide"])
def test_what_is_told_from_elsewhere_is_posted_once(reef: DiscordHouse, text: str) -> None:
    lives(reef, Reply(text="はい"))
    says(reef, "やあ")
    (session,) = reef.home.sessions.page(limit=10, after=None)
    item = DueItem(
        id=f"{MESSAGE_ITEM}1",
        at=reef.clock.now(),
        session_id=session.id,
        message=Told(
            source=Source.PEER,
            source_id="message#1",
            principal_id="kani",
            sender=Sender(id="kani", name="Kani"),
            authority=Authority.SELF,
            parts=(TextPart(text=text),),
        ),
    )
    reef.home.switches.set("kani", frozen=True)
    with pytest.raises(Unavailable, match="frozen"):
        admit_due_item(reef.runtime, item)
    reef.home.switches.set("kani", frozen=False)
    for _ in range(3):
        admit_due_item(reef.runtime, item)
        reef.work()
    assert reef.seen(SERVER_CHANNEL) == ["やあ", "はい", text]
    reef.home.sessions.end(session.id, reef.clock.now())
    with pytest.raises(Conflict, match="has ended"):
        admit_due_item(reef.runtime, item.replaced(id=f"{MESSAGE_ITEM}2"))
