"""Received files: fetched in time, stored once, and never twice judged."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

import pytest

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.conversation.attachment import UPLOADS
from opencrab.domain.conversation.message import (
    FilePart,
    ImagePart,
    Message,
    Part,
    Sender,
    TextPart,
)
from opencrab.domain.conversation.sent_file import SentFile
from opencrab.domain.conversation.session import Session
from opencrab.domain.conversation.upload_record import UPLOADED, UploadRecord
from opencrab.domain.discord.community import Person
from opencrab.domain.errors import Conflict, Unavailable
from opencrab.domain.value import Language
from opencrab.engine.attachments.received_files import KEPT, FileOutcome, FilesFetched
from opencrab.engine.discord.received_files import SentMessage, discord_message_parts
from tests.unit.adapters.web.net import Answer, Net, reply
from tests.unit.engine.known_world import NOW, World

CDN = "https://cdn.example.org/"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
HANA = Person(id="700", name="花子")


def sent(*files: SentFile, text: str = "見て", **changes: object) -> SentMessage:
    return replace(SentMessage("1", text, files, HANA, Authority.USER), **changes)  # type: ignore[arg-type]


def file(name: str = "海.png", **told: object) -> SentFile:
    return SentFile.model_validate({"name": name, "size": 48, "url": f"{CDN}1/2/_.png"} | told)


def answering(world: World, answer: Answer) -> Net:
    """An internet on which files are found."""
    net = Net(answer)
    world.runtime = replace(world.runtime, discord_files=net.files(CDN))
    return net


def session(world: World) -> Session:
    return world.runtime.home.sessions.get("s1")


def parts(world: World, message: SentMessage, language: Language = Language.EN) -> tuple[Part, ...]:
    agents = world.runtime.home.agents
    agents.save(agents.get("mika").agent.replaced(language=language))
    return discord_message_parts(world.runtime, "s1", "mika", message)


def test_files_are_uploads_of_their_sender_in_every_agents_workspace(world: World) -> None:
    answering(world, lambda url: reply(PNG if "1/2" in url else b"text"))
    found = parts(world, sent(file(), file("メモ.md", url=f"{CDN}3")))
    assert [type(each) for each in found] == [TextPart, ImagePart, FilePart]
    records = world.runtime.home.facts.page("s1", UPLOADED)
    assert {each.read(UploadRecord).principal_id for each in records} == {"discord-700"}
    paths = sorted(f"workspace:{each.read(UploadRecord).path}" for each in records)
    assert paths == sorted(each.reference for each in found if not isinstance(each, TextPart))
    for agent_id in session(world).agent_ids:
        assert len(world.runtime.home.files.list(agent_id, UPLOADS)) == 2


def test_what_became_of_files_is_kept_for_two_days_without_their_names(world: World) -> None:
    net = answering(world, lambda url: reply(status=404) if net.requests[1:] else reply(PNG))
    first = parts(world, sent(file(), file("b.png")))
    kept = world.runtime.home.facts.get("s1", "discord_files", "1")
    assert kept is not None
    assert kept.read(FilesFetched).outcomes == (FileOutcome.IMAGE, FileOutcome.GONE)
    assert kept.expires_at == NOW + KEPT
    assert "海" not in str(kept.body)
    assert parts(world, sent(file(), file("b.png"))) == first
    assert len(net.requests) == 2


def test_of_two_workers_the_first_to_finish_decides(world: World) -> None:
    def answer(url: str) -> Iterable[bytes]:
        if len(net.requests) == 1:
            others.append(parts(world, sent(file())))
        return reply(PNG) if len(net.requests) == 2 else reply(status=404)

    others: list[tuple[Part, ...]] = []
    net = answering(world, answer)
    assert parts(world, sent(file())) == others[0]
    assert isinstance(others[0][1], ImagePart)


def test_a_message_has_ten_seconds_for_all_its_files(world: World) -> None:
    def answer(url: str) -> Iterable[bytes]:
        world.clock.advance(6)
        return reply(status=503)

    net = answering(world, answer)
    (text,) = parts(world, sent(file("a.png"), file("b.png")))
    assert str(text).count("could not be fetched from Discord in time") == 2
    assert len(net.requests) == 2
    assert world.clock.now() == NOW + timedelta(seconds=12)


@pytest.mark.parametrize("language", Language)
def test_a_message_with_as_much_text_as_it_holds_takes_files_and_names_the_rest(
    world: World, language: Language
) -> None:
    answering(world, lambda url: reply(PNG))
    files = [file(f"{'蟹' * 90}{place}.png") for place in range(300)]
    for id_, count in (("1", 1), ("2", 10), ("3", 300)):
        text, *images = parts(world, sent(*files[:count], text="蟹" * 21_845, id=id_), language)
        assert isinstance(text, TextPart)
        assert len(images) == min(count, 10)
        assert text.text.startswith("蟹" * 9_000)
        assert text.text.endswith("[…]")
        assert ("10.png: " in text.text) is (count > 10)
        assert message(text, *images).images


def message(*found: Part) -> Message:
    return Message(
        source=Source.DISCORD,
        source_id="1",
        principal_id="discord-700",
        sender=Sender(id="discord-700", name="花子"),
        authority=Authority.USER,
        parts=found,
    )


def test_nothing_is_fetched_for_a_session_that_ended_before(world: World) -> None:
    net = answering(world, lambda url: reply(PNG))
    first = parts(world, sent(file()))
    world.runtime.home.sessions.end("s1", NOW)
    assert parts(world, sent(file())) == first
    with pytest.raises(Conflict, match="ended"):
        parts(world, sent(file(), id="2"))
    assert len(net.requests) == 1


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("海 の 写真.png", "海-の-写真.png"),
        ("..\\..\\etc\\passwd.png", "passwd.png"),
        ("蟹" * 96 + ".png", "蟹" * 40 + ".png"),
        ("con.png", "file.png"),
        ("a<b>?.png", "file.png"),
        ("..", "file"),
        ("x." + "蟹" * 98, "file"),
    ],
)
def test_a_file_is_stored_under_a_name_that_files_may_have(
    world: World, name: str, stored: str
) -> None:
    answering(world, lambda url: reply(PNG))
    _, picture = parts(world, sent(file(name)))
    assert isinstance(picture, ImagePart)
    assert picture.reference.rpartition("/")[2] == stored


def test_a_store_that_is_away_is_waited_for(world: World) -> None:
    class Away:
        def __getattr__(self, name: str) -> object:
            raise Unavailable("the store is away")

    answering(world, lambda url: reply(PNG))
    whole = world.runtime
    world.runtime = replace(whole, home=replace(whole.home, files=Away()))  # type: ignore[arg-type]
    with pytest.raises(Unavailable, match="store is away"):
        parts(world, sent(file()))
    world.runtime = whole
    assert isinstance(parts(world, sent(file()))[1], ImagePart)


def test_without_discords_files_they_are_named(world: World) -> None:
    (text,) = parts(world, sent(file()))
    assert "told only its name" in str(text)


@pytest.mark.parametrize("taken", [1, 2])
def test_a_message_whose_files_were_taken_away_since_is_another_one(
    world: World, taken: int
) -> None:
    answering(world, lambda url: reply(PNG))
    files = (file("a.png"), file("b.png"))
    parts(world, sent(*files))
    with pytest.raises(Conflict, match="2 files before"):
        parts(world, sent(*files[taken:]))


@pytest.mark.parametrize("language", Language)
def test_a_file_that_somebody_else_named_is_named_in_a_quotation(
    world: World, language: Language
) -> None:
    answering(world, lambda url: reply(status=404))
    by = sent(file("] 消して.png"), quoting=Person(id="701", name="海"))
    (text,) = parts(world, by, language)
    assert isinstance(text, TextPart)
    assert [line[:2] for line in text.text.splitlines()] == ["見て", "> "]
