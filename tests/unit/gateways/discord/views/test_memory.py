"""Showing memory: each is told what they may hear, and only an owner has something forgotten."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.conversation.message import LineKind
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.discord.community import KIND, Person
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Invalid, NotFound, Refused
from opencrab.domain.memory.memory import MEMORY, Memory
from opencrab.domain.value import Language
from opencrab.engine.conversation.channel_bindings import conversation_bound_to_channel
from opencrab.engine.memory.curation import MemoryCurator, NewMemory
from tests.crash.outside import Reply
from tests.discord.recording import CHANNEL, GUILD, HANA
from tests.e2e.house import START
from tests.searching import searching
from tests.unit.gateways.discord.showing import (
    OWNER,
    STRANGER,
    USER,
    answer,
    fields,
    told,
)
from tests.unit.gateways.discord.stage import USER_ROLE, Stage, staged

OTHER_GUILD, ELSEWHERE = "290926798626357998", "645027906669510668"
QUERY = "夕凪 otter"
HEARD = {
    Hearing.PRIVATE: "夕凪の非公開 private otter",
    Hearing.SESSION: "夕凪の会話 session otter",
    Hearing.GUILD: "夕凪の仲間 guild otter",
    Hearing.PUBLIC: "夕凪の公開 public otter",
}
SPOKEN = "合言葉は夕凪 the password is otter"


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A stage on which the past can be searched, and Hanako has told the crab something."""
    with staged(tmp_path) as made:
        search = searching(made.house.home, made.house.clock, tmp_path)
        made.house.runtime = replace(made.house.runtime, search=search)
        made.agent("crab", (Reply("わかりました"),))
        asks(made, SPOKEN)
        keeps(made)
        yield made
        search.close()


def asks(stage: Stage, text: str, **more: Any) -> None:
    of = {"user": HANA, "name": "山田花子", "roles": (USER_ROLE,)} | more
    stage.does(stage.door.command("ask", agent="crab", text=text, of=of))
    stage.works()


def keeps(stage: Stage) -> None:
    """A memory for each circle of people, of the channel's session."""
    session = stage.session()
    assert session is not None
    for hearing, text in HEARD.items():
        memory = Memory(
            id=f"m-{hearing.value}",
            category="fact",
            content=text,
            hearing=hearing,
            session_id=session.id,
            guild_id=GUILD,
            created_at=START,
            updated_at=START,
        )
        stage.house.home.facts.commit(new_fact("crab", MEMORY, memory.id, memory))


def found(stage: Stage, person: Person, query: str = QUERY, **where: Any) -> set[str]:
    """Which circles' memories, and whether what was spoken, somebody finds."""
    shown = told(answer(stage, "memory search", person, query=query, agent="crab", **where))
    circles = {hearing.value for hearing, text in HEARD.items() if text in shown}
    return circles | ({"spoken"} if SPOKEN in shown else set())


def test_the_owner_finds_everything_with_its_ids(stage: Stage) -> None:
    whole = {"private", "session", "guild", "public", "spoken"}
    assert found(stage, OWNER) == whole
    assert found(stage, OWNER, guild=None, channel=ELSEWHERE) == whole
    shown = told(answer(stage, "memory search", query=QUERY))
    assert "`m-private`" in shown
    assert "山田花子" in shown


def test_a_user_finds_what_is_not_private_of_what_they_could_hear(stage: Stage) -> None:
    assert found(stage, USER) == {"session", "guild", "public", "spoken"}
    assert found(stage, USER, guild=None, channel=ELSEWHERE) == found(stage, USER)


def test_a_user_who_never_spoke_finds_what_is_for_this_place(stage: Stage) -> None:
    somebody = USER.replaced(id="809850198683418696")
    assert found(stage, somebody) == {"session", "guild", "public", "spoken"}
    assert found(stage, somebody, channel=ELSEWHERE) == {"guild", "public"}
    assert found(stage, somebody, channel=ELSEWHERE, guild=OTHER_GUILD) == {"public"}


def test_an_outsider_finds_the_speech_of_this_place_and_what_its_guild_may_hear(
    stage: Stage,
) -> None:
    assert found(stage, STRANGER) == {"guild", "public", "spoken"}
    assert found(stage, STRANGER, channel=ELSEWHERE) == {"guild", "public"}
    assert found(stage, STRANGER, guild=OTHER_GUILD, channel=ELSEWHERE) == {"public"}
    assert found(stage, STRANGER, guild=None, channel=ELSEWHERE) == {"public"}


def test_what_an_agent_thought_to_itself_is_told_to_the_owner_only(stage: Stage) -> None:
    session = stage.session()
    assert session is not None
    lines = stage.house.home.journal.lines(session.id, limit=100)
    thoughts = [line for line in lines if line.kind is LineKind.INNER_VOICE]
    for person in (USER, STRANGER):
        shown = told(answer(stage, "memory search", person, query="わかりました otter"))
        assert all(line.text not in shown for line in thoughts if line.text)
        assert "thought" not in shown


def test_nothing_found_and_nothing_asked_are_told_in_both_languages(stage: Stage) -> None:
    for language, words in ((Language.EN, "No matches"), (Language.JA, "該当する")):
        assert words in told(
            answer(stage, "memory search", language=language, query="ズワイガニ zzz")
        )
        for blank in ("", "  \n"):
            with pytest.raises(Invalid):
                answer(stage, "memory search", language=language, query=blank)


@pytest.mark.parametrize("query", ["蟹" * 6_000, "**@everyone**", '"; DROP', "\u202e\u200d" * 50])
def test_any_question_is_answered_within_the_limits(stage: Stage, query: str) -> None:
    assert "@everyone" not in told(answer(stage, "memory search", query=query))


def test_a_memory_is_shown_before_it_is_forgotten(stage: Stage) -> None:
    shown = answer(stage, "memory forget", memory="memory:m-public", language=Language.JA)
    assert HEARD[Hearing.PUBLIC] in told(shown)
    assert "まだ何も忘れていません" in told(shown)
    assert "public" in found(stage, OWNER)


@pytest.mark.parametrize("language", list(Language))
def test_a_confirmed_memory_is_gone(stage: Stage, language: Language) -> None:
    shown = answer(stage, "memory forget", memory="m-public", confirm=True, language=language)
    title = shown["embeds"][0]["title"]
    assert title == {Language.EN: "crab has forgotten", Language.JA: "crab は忘れました"}[language]
    assert HEARD[Hearing.PUBLIC] not in told(shown)
    with pytest.raises(NotFound):
        MemoryCurator(stage.runtime, "crab").get("m-public")
    assert "public" not in found(stage, OWNER)
    assert "private" in found(stage, OWNER)


def test_everything_of_a_person_is_shown_and_then_forgotten(stage: Stage) -> None:
    shown = answer(stage, "memory forget", person=HANA)
    assert f"<@{HANA}>" in told(shown)
    assert int(fields(shown)["Lines"]) >= 1
    assert "spoken" in found(stage, OWNER)
    shown = answer(stage, "memory forget", person=HANA, confirm=True)
    assert "has forgotten" in told(shown)
    assert "spoken" not in found(stage, OWNER)
    session = conversation_bound_to_channel(stage.runtime.home, f"{KIND}.{CHANNEL}")
    assert session is not None
    lines = stage.house.home.journal.lines(session.id, limit=100)
    assert all("夕凪" not in line.text for line in lines)


@pytest.mark.parametrize("person", [USER, STRANGER])
def test_nobody_else_may_let_anything_be_forgotten(stage: Stage, person: Person) -> None:
    for options in ({"memory": "m-public"}, {"person": HANA}):
        for confirm in (True, False):
            with pytest.raises(Refused):
                answer(stage, "memory forget", person, confirm=confirm, **options)
    assert "public" in found(stage, OWNER)


@pytest.mark.parametrize(
    "options", [{}, {"memory": "m-public", "person": HANA}, {"memory": "../x"}, {"memory": "蟹"}]
)
def test_what_names_nothing_forgets_nothing(stage: Stage, options: dict[str, Any]) -> None:
    for language in Language:
        with pytest.raises(Invalid) as caught:
            answer(stage, "memory forget", confirm=True, language=language, **options)
        assert caught.value.cure


def test_an_unknown_memory_is_told_so(stage: Stage) -> None:
    for confirm in (True, False):
        with pytest.raises(NotFound):
            answer(stage, "memory forget", memory="nothing", confirm=confirm)


def test_a_new_memory_of_the_owner_is_found_at_once(stage: Stage) -> None:
    new = NewMemory(content="夕凪の港は七番にある。")
    MemoryCurator(stage.runtime, "crab", owner="owner").add(new)
    for person in (OWNER, USER, STRANGER):
        shown = told(answer(stage, "memory search", person, query="夕凪の港"))
        assert "夕凪の港は七番にある" in shown
