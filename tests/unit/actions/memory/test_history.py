"""browse_history: summaries and lines are read again by whom they concern, and by nobody else."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencrab.actions import Registry
from opencrab.actions.memory import history
from opencrab.domain.access.authority import Authority, Scope
from opencrab.domain.access.principal import ApiKey
from opencrab.domain.conversation.message import Audience, LineKind
from opencrab.domain.conversation.session import Hearing, Participant
from opencrab.domain.document import new_fact
from opencrab.domain.erasure.request import FORGOTTEN_PERSON
from opencrab.domain.memory.summary import (
    SUMMARY,
    Summary,
    SummarySource,
    SummarySpan,
    memory_summary_document_id,
)
from opencrab.domain.turn.action import ActionResult
from opencrab.domain.turn.record import ActionCall
from opencrab.domain.turn.transcript import Transcript
from opencrab.engine.turn.call import context_of_turn_call
from opencrab.engine.turn.observe import load_turn_work
from opencrab.ports.turn.action import PAGED_BYTES, ActionContext
from tests.e2e.house import House
from tests.unit.engine.compacting import grow, house

REGISTRY = Registry((history.group,))


@pytest.fixture
def made(tmp_path: Path) -> Iterator[House]:
    found, _ = house(tmp_path)
    key = ApiKey(id="k1", name="o", scope=Scope.OWNER, hash="0" * 64, created_at=found.clock.now())
    found.home.keys.put(key.replaced(principal_id="owner"))
    yield found
    found.close()


def context(made: House, authority: Authority = Authority.OWNER) -> ActionContext:
    """A turn of Mika's in session `s`, on whose behalf it may be."""
    (turn,) = made.say("続き", f"m{made.calls['asked']}", authority=authority)
    made.calls["asked"] += 1
    work = load_turn_work(made.runtime, turn, Transcript())
    return context_of_turn_call(work, ActionCall(id="c1", name="browse_history", arguments={}), {})


def browse(at: ActionContext, **arguments: Any) -> ActionResult:
    action = REGISTRY.find("browse_history")
    assert action is not None
    return action.run(action.arguments.model_validate(arguments), at)


def data(at: ActionContext, **arguments: Any) -> dict[str, Any]:
    result = browse(at, **arguments)
    assert result.success, result.error
    assert result.data is not None
    return result.data


def summarised(made: House, number: int, **changes: Any) -> Summary:
    """A summary of the first lines, stored as a turn of compaction does."""
    summary = Summary(
        id=f"S{number}",
        span=SummarySpan.TOPIC,
        title=f"題名{number}",
        text=f"本文{number}",
        sources=(SummarySource(session_id="s", first=1, last=8),),
        session_id="s",
        hearing=Hearing.SESSION,
        since=made.clock.now(),
        until=made.clock.now(),
        at=made.clock.now(),
    ).replaced(**changes)
    made.home.facts.commit(
        new_fact("mika", SUMMARY, memory_summary_document_id(summary.id), summary)
    )
    return summary


def other_session(made: House, *agents: str) -> None:
    session = made.home.sessions.get("s")
    participants = tuple(Participant(agent_id=name) for name in agents)
    made.home.sessions.create(session.replaced(id="other", participants=participants))
    grow(made, 8, lambda n: f"別の話{n}", session_id="other")


def test_summaries_are_listed_newest_first_in_pages(made: House) -> None:
    for number in range(1, 31):
        summarised(made, number)
    first = data(context(made))
    assert [each["id"] for each in first["summaries"]] == [f"S{n}" for n in range(30, 10, -1)]
    second = data(context(made), before=first["next_before"])
    assert [each["id"] for each in second["summaries"]] == [f"S{n}" for n in range(10, 0, -1)]
    assert "next_before" not in second


def test_a_summary_is_opened_with_the_lines_that_it_tells_of(made: House) -> None:
    summarised(made, 12)
    told = data(context(made), id="s12")
    assert (told["title"], told["text"]) == ("題名12", "本文12")
    assert told["sources"] == [{"session_id": "s", "first": 1, "last": 8}]


@pytest.mark.parametrize("tainted", [True, False])
def test_whoever_reads_tainted_words_is_tainted(tainted: bool, made: House) -> None:  # noqa: FBT001
    summarised(made, 1, tainted=tainted)
    assert browse(context(made), id="S1").taint is tainted
    assert browse(context(made)).taint is tainted


def test_a_range_of_lines_is_shown_as_it_was_said(made: House) -> None:
    grow(made, 12)
    told = data(context(made), first=3, last=5)
    assert [(row["id"], row["text"]) for row in told["lines"]] == [
        (f"s:{n}", f"{n}番目の話") for n in (3, 4, 5)
    ]
    assert told["next_first"] == 6


def test_a_line_is_shown_with_its_neighbours(made: House) -> None:
    grow(made, 12)
    assert [row["id"] for row in data(context(made), id="s:2")["lines"]] == [
        f"s:{n}" for n in range(1, 6)
    ]


def test_forgotten_lines_and_actions_are_not_shown(made: House) -> None:
    grow(made, 2)
    grow(made, 1, lambda _: "", speaker_id=FORGOTTEN_PERSON, speaker_name="")
    own: dict[str, Any] = {"speaker_id": "mika", "from_agent": True}
    grow(made, 1, lambda _: "ws_read", kind=LineKind.ACTION, audience=Audience.SELF, **own)
    assert [row["id"] for row in data(context(made), first=1, last=4)["lines"]] == ["s:1", "s:2"]


def test_large_lines_are_cut_and_paged(made: House) -> None:
    grow(made, 10, lambda n: "海" * 20_000)
    at, first, seen = context(made), 1, []
    for _ in range(20):
        told = data(at, first=first, last=10)
        assert len(str(told).encode()) < PAGED_BYTES
        seen += [row["id"] for row in told["lines"]]
        first = told["next_first"]
        if first > 10:
            break
    assert seen == [f"s:{n}" for n in range(1, 11)]


HARD = {"ja": "\u0001海", "en": '"\n\\'}
"""Texts of which JSON makes more than they have."""


def size(told: dict[str, Any]) -> int:
    return len(json.dumps(told, ensure_ascii=False).encode())


@pytest.mark.parametrize("words", HARD.values(), ids=HARD)
def test_lines_fit_whatever_json_makes_of_them(made: House, words: str) -> None:
    grow(made, 30, lambda _: words * 2_000)
    at, first, seen = context(made), 1, []
    while first <= 30:
        told = data(at, first=first, last=30)
        assert size(told) <= PAGED_BYTES
        seen += [row["id"] for row in told["lines"]]
        first = told["next_first"]
    assert seen == [f"s:{n}" for n in range(1, 31)]


@pytest.mark.parametrize("words", [*HARD.values(), "海"], ids=[*HARD, "plain"])
def test_a_long_summary_is_read_in_pages(made: House, words: str) -> None:
    text = (words * 8_000)[:8_000]
    many = tuple(SummarySource(session_id="s" * 64, first=10**8, last=10**8) for _ in range(100))
    parts = tuple(f"S{10**8 + n}" for n in range(1_000))
    summarised(made, 1, text=text, title='"' * 200, sources=many, parts=parts)
    at, first, read = context(made), 1, ""
    while first:
        told = data(at, id="S1", first=first)
        assert size(told) <= PAGED_BYTES
        read += told["text"]
        first = told.get("next_first", 0)
    assert read == text


def test_a_list_of_long_titles_fits(made: House) -> None:
    for number in range(1, 25):
        summarised(made, number, title="\u0001" * 200)
    told = data(context(made))
    assert (len(told["summaries"]), size(told) <= PAGED_BYTES) == (history.LISTED, True)


def test_nobody_learns_how_much_there_is_that_they_may_not_hear(made: House) -> None:
    other_session(made, "mika")
    for number in range(1, 150):
        summarised(made, number, session_id="other" if number > 5 else "s")
    at = context(made, Authority.PUBLIC)
    assert data(at, session_id="other", first=1, last=4) == {"session_id": "other", "lines": []}
    assert "next_first" in data(context(made), session_id="other", first=1, last=4)
    assert data(at) == {"summaries": []}
    listed = data(context(made, Authority.USER))
    assert [each["id"] for each in listed.pop("summaries")] == [f"S{n}" for n in range(5, 0, -1)]
    assert listed == {}


def test_thoughts_are_for_the_agent_and_its_owner_only(made: House) -> None:
    own: dict[str, Any] = {"speaker_id": "mika", "from_agent": True}
    grow(made, 1, lambda _: "内心", kind=LineKind.INNER_VOICE, audience=Audience.SELF, **own)
    assert [row["kind"] for row in data(context(made), first=1, last=1)["lines"]] == ["inner_voice"]
    for authority in (Authority.PUBLIC, Authority.PEER):
        assert data(context(made, authority), first=1, last=1)["lines"] == []


@pytest.mark.parametrize("authority", Authority)
def test_another_conversation_is_open_to_the_owner_and_the_agent_alone(
    authority: Authority, made: House
) -> None:
    other_session(made, "mika")
    summarised(made, 1, session_id="other")
    at, whole = context(made, authority), authority in {Authority.OWNER, Authority.SELF}
    assert bool(data(at, session_id="other", first=1)["lines"]) is whole
    assert bool(data(at, id="other:3")["lines"]) is whole
    assert bool(data(at)["summaries"]) is whole
    assert browse(at, id="S1").success is whole


@pytest.mark.parametrize("wanted", [{"id": "other:1"}, {"session_id": "other", "first": 1}])
def test_another_agents_conversation_is_as_one_that_is_not_there(
    wanted: dict[str, Any], made: House
) -> None:
    made.agent("ken", ())
    other_session(made, "ken")
    foreign = browse(context(made), **wanted).error
    absent = browse(
        context(made), **{k: str(v).replace("other", "absent") for k, v in wanted.items()}
    )
    assert foreign is not None
    assert foreign.replace("other", "absent") == absent.error


def test_without_sessions_only_the_present_one_is_open(made: House) -> None:
    other_session(made, "mika")
    at = context(made)
    at = replace(at, reach=replace(at.reach, sessions=None))
    assert not browse(at, session_id="other").success
    assert browse(at, session_id="s").success


@pytest.mark.parametrize(
    "wanted",
    [
        {"id": "S0"}, {"id": "S99"}, {"id": "x"}, {"id": "s:"}, {"id": "../a:1"}, {"id": "海:1"},
        {"id": "S" + "9" * 100}, {"session_id": "a b"}, {"session_id": "*"}, {"before": "*"},
        {"first": 5, "last": 2}, {"id": "memory:1:2"},
    ],
)  # fmt: skip
def test_bad_input_is_answered_with_what_helps(wanted: dict[str, Any], made: House) -> None:
    grow(made, 3)
    result = browse(context(made), **wanted)
    assert not result.success
    assert result.error
