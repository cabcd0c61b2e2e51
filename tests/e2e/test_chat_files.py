"""Files on chat services: what people attach reaches the agent once, or is named with a reason."""

import json
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.conversation.attachment import PICTURE_BYTES, TEXT_FILE_BYTES, UPLOADS
from opencrab.domain.conversation.message import Line, LineKind
from opencrab.domain.conversation.upload_record import UPLOADED, UploadRecord
from opencrab.domain.erasure.request import ErasureRequest, ErasureScope
from opencrab.domain.value import Language
from opencrab.engine.attachments import received_files
from opencrab.engine.chat.sentences import chat_sentence
from opencrab.engine.conversation.uploads import OTHERS_BYTES
from opencrab.engine.erasure.erase import erase_data
from opencrab.ports.models.model import ChatMessage
from tests.contract.homes import HOMES
from tests.crash.outside import Reply
from tests.e2e.chat_house import ChatHouse
from tests.e2e.email_house import EmailHouse
from tests.e2e.line_house import LineHouse
from tests.e2e.slack_house import SlackHouse
from tests.e2e.telegram_house import TelegramHouse
from tests.e2e.test_discord_files import NAMES, seeing
from tests.unit.adapters.web.net import PUBLIC, moved, reply

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
NOTE = "蟹は横に歩く\nCrabs walk sideways\n".encode()
FILE_HOSTS = ("api-data.line.example.org", "files.slack.example.org", "telegram.example.org")


@dataclass
class Shore:
    """A house on a service, whose agent sees pictures, and people who write to it."""

    house: ChatHouse

    def lives(self, language: Language = Language.JA) -> None:
        """An agent moves in; its owner and a user are known."""
        self.owner, self.place = self.house.person_and_room(1, group=False)
        self.user, self.user_place = self.house.person_and_room(2, group=False)
        self.stranger, self.strange_place = self.house.person_and_room(3, group=False)
        self.house.provider.wrap = seeing
        self.house.agent("kani", (Reply(text="見ました"),), language)
        known = {"owner_ids": (self.owner,), "user_ids": (self.user,)}
        self.house.people = self.house.people.replaced(**known)
        self.house.begin()

    def says(self, text: str, name: str, content: bytes, by: str | None = None) -> None:
        """Somebody sends a file, with words or without, and it is answered."""
        self.house.ask(text, by or self.owner, None, (name, content))
        self.house.rest()

    @property
    def line(self) -> Line:
        """What somebody said last."""
        found = [
            each
            for session in self.house.home.sessions.page(limit=10, after=None)
            for each in self.house.home.journal.lines(session.id, limit=50)
            if each.kind is LineKind.SPEECH and not each.from_agent
        ]
        return max(found, key=lambda each: each.at)

    @property
    def messages(self) -> list[ChatMessage]:
        """What the model was shown last."""
        turns = self.house.provider.seen[-1].turns
        return [each for each in turns if isinstance(each, ChatMessage)]

    @property
    def pictures(self) -> list[str]:
        """The pictures among that."""
        return [image.data for each in self.messages for image in each.images]

    @property
    def uploads(self) -> list[str]:
        """The names of the files that people sent, in the agent's workspace."""
        listed = self.house.home.files.list("kani", UPLOADS)
        return [each.path.rpartition("/")[2] for each in listed]


WEB = (LineHouse, SlackHouse, TelegramHouse)
"""The services that keep files on servers of their own."""


def opened(house: ChatHouse) -> Iterator[Shore]:
    yield Shore(house)
    house.close()
    assert house.vendor.complaints == []
    assert house.problems == []


@pytest.fixture(params=[EmailHouse, *WEB], ids=lambda house: house.kind)
def shore(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shore]:
    yield from opened(request.param(HOMES[0], tmp_path))


@pytest.fixture(params=WEB, ids=lambda house: house.kind)
def web_shore(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shore]:
    yield from opened(request.param(HOMES[0], tmp_path))


def is_noted(shore: Shore, language: Language, name: str, why: str) -> bool:
    """Whether the last message has its words, if it can have any, and says what became of a file.

    A mail of which the end was not read says that, too.
    """
    words = ["見て"] if shore.house.has_words_with_files else []
    note = _note(shore, language, name, why)
    cut = chat_sentence("email_cut", language)
    said = [each for each in shore.line.text.splitlines() if each not in {"", cut}]
    return said == [*words, note]


def _note(shore: Shore, language: Language, name: str, why: str) -> str:
    beside = Path(received_files.__file__).with_suffix(".json")
    texts = json.loads(beside.read_text(encoding="utf-8"))
    kind = shore.house.kind
    service = texts[f"service_{kind}"][language]
    said = texts.get(f"{why}_{kind}", texts[why])[language].format(service=service, kind=kind)
    return str(texts["note"][language]).format(name=name, why=said)


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("text", ["見て", ""], ids=["with words", "alone"])
def test_a_picture_and_a_text_reach_the_model(shore: Shore, language: Language, text: str) -> None:
    shore.lives(language)
    picture, written = NAMES[language]
    shore.says(text, picture, PNG, shore.user)
    assert shore.pictures == [b64encode(PNG).decode()]
    shore.says(text, written, NOTE, shore.user)
    assert any("蟹は横に歩く" in str(each.text) for each in shore.messages)
    assert sorted(shore.uploads) == sorted(["-".join(picture.split()), written])
    assert shore.house.vendor.texts(shore.user_place) == ["見ました"] * 2
    assert shore.line.text.startswith(text if shore.house.has_words_with_files else "[file")
    turns = [shore.house.turn(each.turn_id) for each in shore.house.utterances()]
    assert [each.taint for each in turns] == [True, True]


def test_a_message_that_comes_again_is_one_turn_and_one_file(shore: Shore) -> None:
    shore.lives()
    shore.says("見て", "a.png", PNG)
    shore.house.vendor.send_again()
    shore.house.again()
    shore.house.rest()
    assert shore.uploads == ["a.png"]
    assert shore.house.vendor.texts(shore.place) == ["見ました"]
    assert len(shore.house.utterances()) == 1


@dataclass(frozen=True)
class Refused:
    """A file that is not taken: its name, its content, what the server answers, and why."""

    why: str
    name: str = "a.png"
    content: bytes = PNG
    answers: tuple[list[bytes], ...] = ()


UNFETCHED = (
    Refused("too_large", answers=(reply(PNG + bytes(PICTURE_BYTES)),)),
    Refused("gone", answers=(reply(status=404),)),
    Refused("unreachable", answers=(reply(status=503),) * 2),
    Refused("unreachable", answers=([], [])),
)
REFUSED = (
    Refused("too_large", content=PNG + bytes(PICTURE_BYTES)),
    Refused("too_large", "a.txt", b"a" * (TEXT_FILE_BYTES + 1)),
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
    shore.says("見て", refused.name, refused.content)
    assert is_noted(shore, language, refused.name, refused.why)
    assert shore.uploads == []
    assert shore.house.vendor.texts(shore.place) == ["見ました"]


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("refused", UNFETCHED, ids=lambda each: each.why)
def test_a_file_that_its_server_does_not_give_is_named_with_the_reason(
    web_shore: Shore, language: Language, refused: Refused
) -> None:
    shore = web_shore
    shore.lives(language)
    shore.house.vendor.file_faults[:] = refused.answers
    shore.says("見て", refused.name, refused.content)
    assert is_noted(shore, language, refused.name, refused.why)
    assert shore.uploads == []
    assert shore.house.vendor.texts(shore.place) == ["見ました"]


def test_a_file_is_tried_once_more(web_shore: Shore) -> None:
    shore = web_shore
    shore.lives()
    shore.house.vendor.file_faults[:] = [reply(status=503)]
    shore.says("見て", "a.png", PNG)
    assert shore.uploads == ["a.png"]


@pytest.mark.parametrize("where", ["https://example.com/", "http://169.254.169.254/"])
def test_nothing_is_fetched_from_where_a_server_redirects(web_shore: Shore, where: str) -> None:
    shore = web_shore
    shore.lives()
    shore.house.vendor.file_faults[:] = [moved(where)]
    shore.says("見て", "a.png", PNG)
    assert "受け取れていません" in shore.line.text
    net: Any = shore.house.net  # type: ignore[attr-defined]
    assert len(set(net.looked_up)) == 1
    assert len(net.requests) == 1


def test_nothing_is_fetched_from_a_private_network(web_shore: Shore) -> None:
    shore = web_shore
    shore.lives()
    net: Any = shore.house.net  # type: ignore[attr-defined]
    net.numbers = dict.fromkeys(FILE_HOSTS, (PUBLIC, "10.0.0.7"))
    shore.says("見て", "a.png", PNG)
    assert "受け取れていません" in shore.line.text
    assert net.dialled == []


def test_files_of_strangers_are_named_and_not_fetched(shore: Shore) -> None:
    shore.lives()
    shore.says("見て", "a.png", PNG, shore.stranger)
    assert is_noted(shore, Language.JA, "a.png", "stranger")
    assert shore.uploads == []
    assert shore.house.vendor.texts(shore.strange_place) == ["見ました"]


def test_a_user_does_not_fill_the_workspace_and_the_owner_still_may(shore: Shore) -> None:
    shore.lives()
    for number in range(10):
        size = OTHERS_BYTES // 10 - 1
        shore.house.home.files.write("kani", f"{UPLOADS}/{number}/old.txt", bytes(size))
    shore.says("見て", "a.png", PNG, shore.user)
    assert is_noted(shore, Language.JA, "a.png", "full")
    shore.says("見て", "a.png", PNG)
    assert "a.png" in shore.uploads


def test_a_persons_files_are_theirs_and_forgotten_with_them(shore: Shore) -> None:
    shore.lives()
    shore.says("見て", "秘密.md", NOTE, shore.user)
    shore.says("見て", "海.png", PNG)
    sessions = shore.house.home.sessions.page(limit=10, after=None)
    records = [each for x in sessions for each in shore.house.home.facts.page(x.id, UPLOADED)]
    people = {each.read(UploadRecord).principal_id for each in records}
    kind = shore.house.kind
    assert people == {f"{kind}-{shore.user}", f"{kind}-{shore.owner}"}
    wish = ErasureRequest(scope=ErasureScope.PERSON, id=f"{kind}-{shore.user}")
    assert erase_data(shore.house.runtime, "kani", wish).done
    assert shore.uploads == ["海.png"]
