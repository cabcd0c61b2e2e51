"""A client's conversation goes on in one session, whatever dies in between."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.conversation.client_transcript import (
    ClientTranscript,
    TranscriptLine,
    TranscriptSpeaker,
)
from opencrab.domain.conversation.message import Message, Sender, TextPart
from opencrab.domain.conversation.session import Session
from opencrab.domain.errors import Conflict, TooLarge, Unavailable
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.engine.conversation.client_conversation import ClientConversation
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.ports.turn.journal import TurnChange
from tests.unit.engine.known_world import World


def transcript(*texts: str, instructions: str = "") -> ClientTranscript:
    """Texts of the user and the assistant by turns."""
    roles = (TranscriptSpeaker.USER, TranscriptSpeaker.ASSISTANT)
    lines = (TranscriptLine(role=roles[place % 2], text=text) for place, text in enumerate(texts))
    return ClientTranscript(lines=tuple(lines), instructions=instructions)


def message_of(_session: Session, source_id: str, text: str) -> Message:
    return Message(
        source=Source.REST,
        source_id=source_id,
        principal_id="owner",
        sender=Sender(id="owner", name="太郎"),
        authority=Authority.OWNER,
        parts=(TextPart(text=text),),
    )


def conversations(world: World) -> ClientConversation:
    profile = world.runtime.home.agents.get("mika")
    return ClientConversation(world.runtime, "owner", Source.REST, profile, "messages")


def ask(world: World, *texts: str, key: str | None = None, instructions: str = "") -> Turn:
    made = transcript(*texts, instructions=instructions)
    (turn,) = conversations(world).admit(made, message_of, key=key)
    return turn


def end(world: World, turn: Turn) -> None:
    held = world.claimed(turn)
    ended = held.replaced(status=TurnStatus.COMPLETED, ended_at=world.clock.now())
    world.runtime.home.journal.commit(TurnChange(turn=ended, expected=held.sequence))


def told(world: World, turn: Turn) -> list[str]:
    return [line.text for line in world.runtime.home.journal.lines(turn.session_id)]


@pytest.mark.parametrize(
    ("first", "answer", "then"), [("潮は?", "満潮です", "次は?"), ("a", "b", "c")]
)
def test_it_goes_on_and_branches_where_the_client_went_back(
    world: World, first: str, answer: str, then: str
) -> None:
    opened = ask(world, first)
    second = ask(world, first, answer, then)
    assert second.session_id == opened.session_id
    assert told(world, second) == [first, then]
    other = ask(world, first, answer, "別")
    assert other.session_id != opened.session_id
    (quoted,) = told(world, other)
    assert quoted.endswith("別")
    assert first in quoted
    assert answer in quoted


def test_a_session_that_ended_or_is_unknown_is_not_gone_on_with(world: World) -> None:
    opened = ask(world, "a")
    world.runtime.home.sessions.end(opened.session_id, world.clock.now())
    assert ask(world, "a", "b", "c").session_id != opened.session_id
    assert len(told(world, ask(world, "x", "y", "z"))) == 1


def test_a_repeat_joins_the_turn_that_runs_and_asks_anew_after_it(world: World) -> None:
    first = ask(world, "a")
    assert ask(world, "a").id == first.id
    end(world, first)
    anew = ask(world, "a")
    assert anew.id != first.id
    # Whoever was told to ask again gets the answer, once.
    conversations(world).expect_repeat(transcript("a"))
    end(world, anew)
    assert ask(world, "a").id == anew.id
    assert ask(world, "a").id != anew.id


def test_a_key_stands_for_one_request(world: World) -> None:
    first = ask(world, "a", key="k")
    end(world, first)
    assert ask(world, "a", key="k").id == first.id
    assert ask(world, "a", key="l").id != first.id
    with pytest.raises(Conflict):
        ask(world, "b", key="k")


def test_instructions_that_leave_no_room_are_refused(world: World) -> None:
    with pytest.raises(TooLarge, match="system message"):
        ask(world, "a", instructions="x" * 65_000)
    assert told(world, ask(world, "a", instructions="短く"))[0].startswith("[")


@dataclass
class Dying:
    """A store whose n-th call fails, after it was done or before."""

    inner: Any
    left: list[int]
    after: bool

    def __getattr__(self, name: str) -> Callable[..., Any]:
        found = getattr(self.inner, name)
        if not callable(found):
            return found  # type: ignore[no-any-return]

        def call(*arguments: Any, **named: Any) -> Any:
            self.left[0] -= 1
            if self.left[0] == 0 and not self.after:
                raise Unavailable("died")
            result = found(*arguments, **named)
            if self.left[0] == 0:
                raise Unavailable("died")
            return result

        return call


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_death_at_any_call_of_a_store_admits_the_message_once(world: World, after: bool) -> None:  # noqa: FBT001
    home, deaths = world.runtime.home, 0
    for place in range(1, 40):
        text = f"海 {place}"
        left = [place]
        parts: dict[str, Any] = {
            name: Dying(getattr(home, name), left, after)
            for name in ("facts", "sessions", "journal")
        }
        broken = replace(world, runtime=replace(world.runtime, home=replace(home, **parts)))
        try:
            ask(broken, text)
        except Unavailable:
            deaths += 1
        turn = ask(world, text)
        assert told(world, turn) == [text]
        assert ask(world, text).id == turn.id
        if left[0] > 0:
            break
    assert deaths > 3
    sessions = home.sessions.page(after=None, limit=200)
    assert sum(len(home.journal.lines(each.id)) for each in sessions) == place


def answered(world: World, text: str) -> Turn:
    """A turn whose message nobody answered in words: the agent chose silence."""
    turn = ask(world, text)
    end(world, turn)
    return turn


@pytest.mark.parametrize(("first", "then"), [("静かに", "次は?"), ("be silent", "and now?")])
def test_what_was_met_with_silence_is_not_said_anew(world: World, first: str, then: str) -> None:
    turn = answered(world, first)
    made = conversations(world).transcript_after(turn, transcript(then))
    assert [line.text for line in made.said] == [then]
    (again,) = conversations(world).admit(made, message_of, after=turn)
    assert again.session_id == turn.session_id
    assert told(world, again) == [first, then]


def test_the_same_continuation_is_one_request(world: World) -> None:
    turn = answered(world, "潮は?")
    made = conversations(world).transcript_after(turn, transcript("次は?"))
    turns = [conversations(world).admit(made, message_of, after=turn) for _ in range(2)]
    assert turns[0] == turns[1]


def test_another_persons_turn_is_quoted_and_not_continued(world: World) -> None:
    turn = answered(world, "潮は?")
    others = replace(conversations(world), principal_id="guest")
    made = others.transcript_after(turn, transcript("次は?"))
    (branch,) = others.admit(made, message_of, after=turn)
    assert branch.session_id != turn.session_id
    assert "潮は?" in told(world, branch)[0]


@pytest.mark.parametrize(("secret", "then"), [("読んだ言葉", "次は?"), ("words read", "and now?")])
def test_a_quotation_taints_as_what_it_quotes_does(world: World, secret: str, then: str) -> None:
    turn, journal = ask(world, "a"), world.runtime.home.journal
    held = world.claimed(turn)
    (asked,) = journal.lines(turn.session_id)
    by_agent = {"speaker_id": "mika", "from_agent": True, "turn_id": turn.id}
    said = asked.replaced(**by_agent, sequence=0, text=secret, taint=True, message_id=None)
    ended = held.replaced(status=TurnStatus.COMPLETED, ended_at=world.clock.now())
    journal.commit(TurnChange(turn=ended, expected=held.sequence, lines=(said,)))
    others = replace(conversations(world), principal_id="guest")
    made = others.transcript_after(turn, transcript(then))
    (branch,) = others.admit(made, message_of, after=turn)
    (quoted,) = journal.lines(branch.session_id)
    assert secret in quoted.text
    assert branch.taint
    assert quoted.taint
    # So that whoever forgets the person or the conversation finds it.
    assert quoted.quotes == (turn.session_id, "owner")
    # A client's own words are its own: nothing is quoted for it.
    own = ask(world, "x", secret, then)
    assert not own.taint
    assert journal.lines(own.session_id)[0].quotes == ()


def test_a_key_stands_for_one_response_before_it(world: World) -> None:
    def after(turn: Turn, key: str | None = "k") -> Turn:
        made = conversations(world).transcript_after(turn, transcript("go on"))
        return conversations(world).admit(made, message_of, key=key, after=turn)[0]

    first, other = answered(world, "潮は?"), answered(world, "tide?")
    turn = after(first)
    end(world, turn)
    assert after(first).id == turn.id
    with pytest.raises(Conflict):
        after(other)


def test_a_repeat_after_a_response_that_went_on_is_the_same_request(world: World) -> None:
    turn, journal = ask(world, "a"), world.runtime.home.journal

    def go_on() -> Turn:
        made = conversations(world).transcript_after(turn, transcript("次は?"))
        return conversations(world).admit(made, message_of, after=turn)[0]

    asked = go_on()
    held = world.claimed(turn)
    (first, *_) = journal.lines(turn.session_id)
    by_agent = {"speaker_id": "mika", "from_agent": True, "turn_id": turn.id}
    said = first.replaced(**by_agent, sequence=0, text="遅れた返事", message_id=None)
    ended = held.replaced(status=TurnStatus.COMPLETED, ended_at=world.clock.now())
    journal.commit(TurnChange(turn=ended, expected=held.sequence, lines=(said,)))
    assert go_on().id == asked.id


def test_a_quotation_names_all_whom_it_quotes(world: World) -> None:
    opened = turn = answered(world, "始め")
    for place in range(60):
        person = f"person-{place}-{'x' * 50}"
        said = message_of(world.runtime.home.sessions.get(opened.session_id), f"s{place}", "うん")
        said = said.replaced(principal_id=person, sender=Sender(id=person, name="人"))
        (turn,) = admit_turns_of_message(world.runtime, opened.session_id, said)
    made = conversations(world).transcript_after(turn, transcript("次は?"))
    assert len(made.earlier) == 51
    (branch,) = conversations(world).admit(made, message_of, after=turn)
    (line,) = world.runtime.home.journal.lines(branch.session_id)
    assert line.quotes == made.sources
    assert len(line.quotes) == 51
    assert line.text.count("うん") == 50
