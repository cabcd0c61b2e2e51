"""Files on Discord: what people attach reaches the agent once, or is named with the reason."""

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.conversation.attachment import PICTURE_BYTES, TEXT_FILE_BYTES, UPLOADS
from opencrab.domain.conversation.message import Line, LineKind
from opencrab.domain.discord.community import Presence, Spot
from opencrab.domain.erasure.request import ErasureRequest, ErasureScope
from opencrab.domain.value import Language
from opencrab.engine.attachments import received_files
from opencrab.engine.conversation.uploads import OTHERS_BYTES
from opencrab.engine.discord.presence import set_agent_discord_presence
from opencrab.engine.erasure.erase import erase_data
from opencrab.ports.models.model import ChatMessage
from tests.contract.homes import ENGINE_HOMES, HOMES
from tests.crash.outside import Reply
from tests.crash.scheduling import Killed
from tests.discord.fake import OWNER, SERVER_CHANNEL, STRANGER
from tests.discord.state import File, Person
from tests.e2e.discord_house import USER, DiscordHouse, opened_as
from tests.unit.adapters.web.net import reply

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
NOTE = "蟹は横に歩く\nCrabs walk sideways\n".encode()
NAMES = {
    Language.JA: ("海の 写真.png", "メモ.md"),
    Language.EN: ("a crab.png", "notes.md"),
}


class Shore(DiscordHouse):
    """A house whose agent sees pictures and listens to the channel."""

    def lives(self, language: Language = Language.JA) -> None:
        """An agent moves in."""
        self.provider.wrap = seeing
        self.agent("kani", (Reply(text="見ました"),), language)
        spot = Spot(channel_id=SERVER_CHANNEL.channel_id, mentions_only=False)
        set_agent_discord_presence(self.home, Presence(agent_id="kani", spots=(spot,)))

    def says(self, text: str, *files: File, by: Person = OWNER) -> None:
        """Somebody writes in the channel, the relay brings it, and it is answered."""
        self.hear(self.discord.say(text, by, SERVER_CHANNEL, *files))
        self.work()

    @property
    def line(self) -> Line:
        """What somebody said last."""
        (session,) = self.home.sessions.page(limit=10, after=None)
        lines = self.home.journal.lines(session.id, limit=50)
        return [each for each in lines if each.kind is LineKind.SPEECH and not each.from_agent][-1]

    @property
    def shown(self) -> str:
        """The text that the model was shown last."""
        return "\n".join(str(each.text) for each in self._messages)

    @property
    def pictures(self) -> list[str]:
        """The pictures that the model was shown last."""
        return [image.data for each in self._messages for image in each.images]

    @property
    def _messages(self) -> list[ChatMessage]:
        turns = self.provider.seen[-1].turns
        return [each for each in turns if isinstance(each, ChatMessage)]

    @property
    def uploads(self) -> list[str]:
        """The names of the files that people sent, in the agent's workspace."""
        return [each.path.rpartition("/")[2] for each in self.home.files.list("kani", UPLOADS)]


def seeing(model: Any) -> Any:
    """A model that sees pictures."""
    model.info = replace(model.info, vision=True, image_tokens=700)
    return model


@pytest.fixture(params=ENGINE_HOMES, ids=lambda opens: opens.__name__)
def any_shore(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shore]:
    yield from opened_as(Shore, request.param, tmp_path)


@pytest.fixture
def shore(tmp_path: Path) -> Iterator[Shore]:
    yield from opened_as(Shore, HOMES[0], tmp_path)


@pytest.mark.parametrize("language", Language)
def test_a_picture_and_a_text_in_a_channel_reach_the_model(
    any_shore: Shore, language: Language
) -> None:
    shore = any_shore
    shore.lives(language)
    picture, note = NAMES[language]
    shore.says("見て", shore.cdn.file(picture, PNG), shore.cdn.file(note, NOTE), by=USER)
    assert shore.pictures == [b64encode(PNG).decode()]
    assert "蟹は横に歩く" in shore.shown
    assert sorted(shore.uploads) == sorted(["-".join(picture.split()), note])
    assert shore.seen(SERVER_CHANNEL)[-1] == "見ました"
    assert shore.cdn.net.requests[0].startswith("GET /attachments/")
    assert "?ex=" in shore.cdn.net.requests[0]


def test_a_message_of_nothing_but_a_picture_is_answered(shore: Shore) -> None:
    shore.lives()
    shore.says("", shore.cdn.file("crab.png", PNG))
    assert shore.pictures == [b64encode(PNG).decode()]
    assert shore.seen(SERVER_CHANNEL)[-1] == "見ました"


@pytest.mark.parametrize("count", [1, 2])
def test_a_message_that_comes_twice_is_one_turn_and_one_file(any_shore: Shore, count: int) -> None:
    shore = any_shore
    shore.lives()
    message = shore.discord.say("見て", OWNER, SERVER_CHANNEL, shore.cdn.file("a.png", PNG))
    first = shore.hear(message)
    if count == 1:
        shore.work()
    shore.cdn.files.clear()
    assert [x.id for x in shore.hear(message).turns] == [x.id for x in first.turns]
    shore.work()
    assert shore.uploads == ["a.png"]
    assert shore.seen(SERVER_CHANNEL)[1:] == ["見ました"]
    assert len(shore.cdn.net.requests) == 1


def test_a_process_that_dies_at_any_point_before_the_turn_loses_and_doubles_nothing(
    shore: Shore,
) -> None:
    shore.lives()
    at, points = 0, 1
    while at < points:
        at += 1
        points = dies_at(shore, at)
        assert shore.uploads == ["a.png"] * at
        assert shore.seen(SERVER_CHANNEL).count("見ました") == at
        assert shore.pictures == [b64encode(PNG).decode()]
    assert points > 20


def dies_at(shore: Shore, at: int) -> int:
    """Let the process that takes a message die at a point; return how many there were."""
    message = shore.discord.say("見て", USER, SERVER_CHANNEL, shore.cdn.file("a.png", PNG))
    shore.trouble.seen.clear()
    shore.trouble.at = {at: died}
    try:
        shore.hear(message)
    except Killed:
        shore.begin()
        shore.hear(message)
    points = len(shore.trouble.seen)
    shore.trouble.at = {}
    shore.rest()
    return points


def died(point: str) -> None:
    raise Killed(point)


@dataclass(frozen=True)
class Refused:
    """A file that is not taken: what Discord tells of it, what its server answers, and why."""

    why: str
    name: str = "a.png"
    content: bytes = PNG
    told: Mapping[str, Any] = field(default_factory=dict)
    answers: tuple[list[bytes], ...] = ()


REFUSED = (
    Refused("too_large", told={"size": PICTURE_BYTES + 1}),
    Refused("too_large", content=PNG + bytes(PICTURE_BYTES), told={"size": 1}),
    Refused("too_large", "a.txt", b"a" * (TEXT_FILE_BYTES + 1)),
    Refused("gone", answers=(reply(status=404),)),
    Refused("unreachable", answers=(reply(status=503),) * 2),
    Refused("unreachable", answers=([], [])),
    Refused("elsewhere", answers=(reply(status=302, location="https://example.com/"),)),
    Refused("elsewhere", told={"url": "http://169.254.169.254/latest/meta-data/"}),
    Refused("elsewhere", told={"url": "https://example.com/a.png"}),
    Refused("elsewhere", told={"url": "https://cdn.discordapp.com.example.com/a.png"}),
    Refused("elsewhere", told={"url": "http://cdn.discordapp.com/attachments/1/2/a.png"}),
    Refused("elsewhere", told={"url": "file:///etc/passwd"}),
    Refused("not_text", "議事録.pdf", b"%PDF-1.7\n\xff\xfe"),
    Refused("empty", "空.txt", b""),
    Refused("no_picture", content=NOTE),
    Refused("is_picture", "a.txt"),
)


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("refused", REFUSED, ids=lambda each: each.why)
def test_a_file_that_is_not_taken_is_named_with_the_reason_and_its_message_answered(
    shore: Shore, language: Language, refused: Refused
) -> None:
    shore.lives(language)
    file = shore.cdn.file(refused.name, refused.content, **refused.told)
    shore.cdn.answers[file.id] = [*refused.answers]
    shore.says("見て", file, shore.cdn.file("b.png", PNG))
    assert shore.line.text.splitlines()[:2] == ["見て", note(language, refused.name, refused.why)]
    assert note(language, refused.name, refused.why) in shore.shown
    assert shore.pictures == [b64encode(PNG).decode()]
    assert shore.uploads == ["b.png"]
    assert shore.seen(SERVER_CHANNEL)[-1] == "見ました"
    assert set(shore.cdn.net.looked_up) == {"cdn.discordapp.com"}


def note(language: Language, name: str, why: str) -> str:
    """What stands in a message in place of a file that was not taken."""
    beside = Path(received_files.__file__).with_suffix(".json")
    texts = json.loads(beside.read_text(encoding="utf-8"))
    return str(texts["note"][language]).format(
        name=name, why=texts[why][language].format(service="Discord")
    )


def test_a_file_is_tried_once_more(shore: Shore) -> None:
    shore.lives()
    file = shore.cdn.file("a.png", PNG)
    shore.cdn.answers[file.id] = [reply(status=503)]
    shore.says("見て", file)
    assert shore.uploads == ["a.png"]


def test_files_of_strangers_are_named_and_not_fetched(shore: Shore) -> None:
    shore.lives()
    shore.says("見て", shore.cdn.file("a.png", PNG), by=STRANGER)
    assert shore.line.text == f"見て\n{note(Language.JA, 'a.png', 'stranger')}"
    assert shore.cdn.net.looked_up == []
    assert shore.uploads == []


def test_a_user_does_not_fill_the_workspace_and_the_owner_still_may(shore: Shore) -> None:
    shore.lives()
    for number in range(10):
        size = OTHERS_BYTES // 10 - 1
        shore.home.files.write("kani", f"{UPLOADS}/{number}/old.txt", bytes(size))
    shore.says("見て", shore.cdn.file("a.png", PNG), by=USER)
    assert shore.line.text == f"見て\n{note(Language.JA, 'a.png', 'full')}"
    shore.says("見て", shore.cdn.file("a.png", PNG))
    assert "a.png" in shore.uploads


@pytest.mark.parametrize(("by", "uploads"), [(USER, 10), (OWNER, 11)], ids=["kani's", "all"])
def test_an_agents_owner_fills_no_other_agents_workspace(
    shore: Shore, by: Person, uploads: int
) -> None:
    shore.lives()
    shore.agent("mika", (Reply(text="はい"),), Language.JA)
    spots = (Spot(channel_id=SERVER_CHANNEL.channel_id, mentions_only=False),)
    for agent_id, owner_ids in (("kani", (USER.id,)), ("mika", ())):
        presence = Presence(agent_id=agent_id, spots=spots, owner_ids=owner_ids)
        set_agent_discord_presence(shore.home, presence)
    shore.says("こんにちは")
    for number in range(10):
        shore.home.files.write("mika", f"{UPLOADS}/{number}/old.txt", bytes(OTHERS_BYTES // 10))
    options = {"agent": "kani", "text": "これは?", "file": shore.cdn.file("a.png", PNG)}
    shore.discord.command("ask", options, by=by)
    shore.work()
    assert len(shore.home.files.list("mika", UPLOADS)) == uploads


@pytest.mark.parametrize("language", Language)
def test_a_file_comes_with_a_command(any_shore: Shore, language: Language) -> None:
    shore = any_shore
    shore.lives(language)
    name = NAMES[language][0]
    file = shore.cdn.file(name, PNG)
    options = {"agent": "kani", "text": "これは?", "file": file}
    interaction = shore.discord.command("ask", options, by=USER)
    assert shore.cdn.net.requests == []  # the door has three seconds: the worker fetches
    shore.work()
    shore.again()
    shore.work()
    assert shore.pictures == [b64encode(PNG).decode()]
    assert shore.uploads == ["-".join(name.split())]
    assert interaction.text == "見ました"
    assert len(shore.cdn.net.requests) == 1


def test_a_file_of_a_command_that_is_not_taken_is_named(shore: Shore) -> None:
    shore.lives(Language.EN)
    file = shore.cdn.file("a.png", PNG)
    shore.cdn.answers[file.id] = [reply(status=404)]
    options = {"agent": "kani", "text": "What is it?", "file": file}
    interaction = shore.discord.command("ask", options, locale="en-US")
    shore.work()
    assert note(Language.EN, "a.png", "gone") in shore.shown
    assert interaction.text == "見ました"


def test_a_picture_of_somebody_else_is_asked_about_and_stays_untrusted(shore: Shore) -> None:
    shore.lives()
    said = shore.discord.say("", STRANGER, SERVER_CHANNEL, shore.cdn.file("a.png", PNG))
    shore.discord.menu("Ask about this", said)
    shore.work()
    assert shore.pictures == [b64encode(PNG).decode()]
    turn = shore.turn(shore.utterances()[0].turn_id)
    assert turn.taint
    forget(shore, STRANGER)
    assert shore.uploads == []


def test_a_turn_that_was_shown_a_file_of_a_user_is_tainted(shore: Shore) -> None:
    shore.lives()
    shore.says("見て", by=USER)
    clean = shore.turn(shore.utterances()[-1].turn_id)
    shore.says("見て", shore.cdn.file("メモ.md", NOTE), by=USER)
    shown = shore.turn(shore.utterances()[-1].turn_id)
    assert (clean.taint, shown.taint) == (False, True)


def test_a_persons_files_are_forgotten_with_them(any_shore: Shore) -> None:
    shore = any_shore
    shore.lives()
    shore.says("見て", shore.cdn.file("秘密.md", NOTE), by=USER)
    shore.says("見て", shore.cdn.file("海.png", PNG))
    forget(shore, USER)
    assert shore.uploads == ["海.png"]
    shore.says("続けて")
    assert "秘密" not in shore.shown


def forget(shore: Shore, person: Person) -> None:
    wish = ErasureRequest(scope=ErasureScope.PERSON, id=f"discord-{person.id}")
    assert erase_data(shore.runtime, "kani", wish).done


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("why", ["elsewhere", "gone", "not_text", "no_picture", "is_picture"])
def test_a_reason_says_what_its_sender_can_do(language: Language, why: str) -> None:
    again = {Language.EN: "send it again", Language.JA: "送り直して"}[language]
    if why == "gone" and language is Language.JA:
        again = "もう一度送って"
    assert again in note(language, "a.png", why)


@pytest.mark.parametrize("language", Language)
def test_nobody_shrinks_a_video_in_vain(language: Language) -> None:
    assert {"PNG", "UTF-8"} <= set(re.findall("PNG|UTF-8", note(language, "a.mp4", "too_large")))
