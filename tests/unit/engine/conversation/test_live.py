"""Following live: each line once and in order, from the past into the present, and no more."""

import json
from dataclasses import replace
from typing import Any

import pytest

from opencrab.adapters.answer_hub import AnswerHub
from opencrab.domain.conversation.message import Audience, LineKind
from opencrab.domain.errors import Invalid, NotFound, Refused, Unavailable
from opencrab.engine.conversation import live
from opencrab.engine.conversation.live import (
    LiveFollower,
    VisibleKinds,
    WatchTarget,
    visible_conversation_line_kinds,
)
from opencrab.ports.conversation.answers import AnswerPart, CallProgress
from opencrab.ports.conversation.feed import ChangeFeed, FeedEntry
from tests.unit.engine.known_world import World

S1 = WatchTarget(kind="session", id="s1")
MIKA = WatchTarget(kind="agent", id="mika")
EVERYTHING = visible_conversation_line_kinds(LineKind, is_owner=True)
TEXTS = ["おはよう。海へ行きますか", "Good morning", "三つ目"]


def follow(world: World, most: int = 50) -> LiveFollower:
    feed = world.runtime.home.feed
    assert feed is not None
    return LiveFollower(world.runtime, feed, most)


def texts(events: Any) -> list[str]:
    return [event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CHUNK"]


class Filling:
    """A feed in which something happens between two looks."""

    def __init__(self, feed: ChangeFeed, world: World) -> None:
        self._feed, self._world = feed, world
        self.ahead = 0

    def read(self, *, after: int, limit: int) -> tuple[FeedEntry, ...]:
        return self._feed.read(after=after, limit=min(limit, 1))

    def wait(self, *, after: int, seconds: float) -> bool:
        return self._feed.wait(after=after, seconds=seconds)

    def position(self) -> int:
        return self._feed.position() + self.ahead


def test_the_past_and_the_present_meet_without_gap_and_without_double(world: World) -> None:
    world.say(TEXTS[0])
    following = follow(world)
    world.say(TEXTS[1])
    begun = following.begin(S1, VisibleKinds(), 0)
    assert (begun.place, begun.gap) == (0, None)
    past = following.past(S1)
    world.say(TEXTS[2])
    assert texts(past) == TEXTS[:2], "a slow reader's past does not grow while it is read"
    assert texts(following.new_events()) == TEXTS[2:]
    world.say("四つ目")
    assert texts(following.new_events()) == ["四つ目"]
    assert texts(following.new_events()) == []


def test_whoever_names_no_place_is_told_what_comes_next(world: World) -> None:
    world.say(TEXTS[0])
    following = follow(world)
    assert following.begin(S1, VisibleKinds(), None).place == 1
    world.say(TEXTS[1])
    assert texts(following.past(S1)) == []
    assert texts(following.new_events()) == [TEXTS[1]]


def test_a_place_beyond_the_end_is_the_end(world: World) -> None:
    world.say(TEXTS[0])
    following = follow(world)
    assert following.begin(S1, VisibleKinds(), 900).place == 1


def test_a_long_past_is_cut_and_the_gap_is_told(
    world: World,
) -> None:
    for number in range(live.HISTORY + 20):
        world.say(f"m{number}")
    following = follow(world)
    begun = following.begin(S1, VisibleKinds(), 10)
    assert begun.gap is not None
    assert begun.gap["value"] == {"after": 10, "before": 21}
    assert len(texts(following.past(S1))) == live.HISTORY


def test_nothing_is_told_of_what_is_not_watched(world: World) -> None:
    following = follow(world)
    world.say(TEXTS[0])
    assert list(following.new_events()) == []
    following.begin(S1, VisibleKinds(), None)
    world.say(TEXTS[1])
    assert following.end(S1)
    assert list(following.new_events()) == []
    assert not following.end(S1)


@pytest.mark.parametrize("audience", Audience)
@pytest.mark.parametrize("kind", LineKind)
def test_what_is_private_is_told_to_an_owner_who_asks_and_to_nobody_else(
    world: World, kind: LineKind, audience: Audience
) -> None:
    (turn, *_) = world.say(TEXTS[0])
    owner, other, asking = follow(world), follow(world), follow(world)
    owner.begin(S1, EVERYTHING, None)
    other.begin(S1, VisibleKinds(), None)
    public = visible_conversation_line_kinds(
        [LineKind.SPEECH, LineKind.SYSTEM, LineKind.APPROVAL], is_owner=False
    )
    asking.begin(S1, public, 0)
    world.spoken(turn, "何か", kind=kind, audience=audience)
    assert "何か" in json.dumps(list(owner.new_events()), ensure_ascii=False)
    may_see = kind in live.PUBLIC and audience is Audience.ALL
    for each in (other, asking):
        told = json.dumps(list(each.new_events()), ensure_ascii=False)
        assert ("何か" in told) is may_see


def test_only_an_owner_may_ask_for_private_kinds() -> None:
    with pytest.raises(Refused):
        visible_conversation_line_kinds([LineKind.SPEECH, LineKind.ACTION], is_owner=False)
    assert visible_conversation_line_kinds(None, is_owner=True) == VisibleKinds(), (
        "an owner has to ask, too"
    )


def test_an_agent_is_told_of_by_what_it_does_itself(world: World) -> None:
    following = follow(world)
    following.begin(MIKA, VisibleKinds(), None)
    mika, ken = world.say(TEXTS[0])
    world.spoken(mika, "美香です")
    world.spoken(ken, "I am Ken")
    assert texts(following.new_events()) == ["美香です"]


def test_a_line_is_told_once_to_whoever_watches_its_session_and_its_agent(world: World) -> None:
    (mika, _) = world.say(TEXTS[0])
    following = follow(world)
    following.begin(MIKA, EVERYTHING, None)
    following.begin(S1, VisibleKinds(), None)
    world.spoken(mika, "一度")
    world.spoken(mika, "考え", kind=LineKind.INNER_VOICE, audience=Audience.SELF)
    told = list(following.new_events())
    assert texts(told) == ["一度"]
    assert [event["delta"] for event in told if "delta" in event] == ["一度", "考え"]
    world.say(TEXTS[1])
    assert texts(following.new_events()) == [TEXTS[1]]


def test_turns_are_told_by_session_and_by_agent(world: World) -> None:
    by_session, by_agent, neither = follow(world), follow(world), follow(world)
    by_session.begin(S1, VisibleKinds(), None)
    by_agent.begin(MIKA, VisibleKinds(), None)
    neither.begin(WatchTarget(kind="agent", id="ken"), VisibleKinds(), None)
    mika, _ = world.say(TEXTS[0])
    world.claimed(mika)
    for following in (by_session, by_agent):
        runs = [event for event in following.new_events() if event["type"] == "RUN_STARTED"]
        assert [event["runId"] for event in runs] == [mika.id]
    assert not [event for event in neither.new_events() if event["type"] == "RUN_STARTED"]


def test_a_turn_that_another_worker_takes_up_runs_as_before(world: World) -> None:
    following = follow(world)
    following.begin(S1, VisibleKinds(), None)
    mika, _ = world.say(TEXTS[0])
    for _ in range(2):
        world.claimed(mika)
    assert [event["type"] for event in following.new_events()] == [
        "TEXT_MESSAGE_CHUNK",
        "RUN_STARTED",
    ]


def test_one_client_watches_no_more_than_so_many(world: World) -> None:
    following = follow(world, most=2)
    following.begin(S1, VisibleKinds(), None)
    following.begin(MIKA, VisibleKinds(), None)
    with pytest.raises(Refused, match="at most 2"):
        following.begin(WatchTarget(kind="agent", id="ken"), VisibleKinds(), None)
    following.begin(MIKA, EVERYTHING, None)


def test_what_does_not_exist_is_not_watched(world: World) -> None:
    following = follow(world)
    for nothing in (WatchTarget(kind="session", id="x"), WatchTarget(kind="agent", id="x")):
        with pytest.raises(NotFound):
            following.begin(nothing, VisibleKinds(), None)
    with pytest.raises(Invalid):
        following.begin(MIKA, VisibleKinds(), 0)
    assert not following.watches


def test_whoever_is_too_far_behind_has_to_come_again(world: World) -> None:
    feed = world.runtime.home.feed
    assert feed is not None
    slow = Filling(feed, world)
    following = LiveFollower(world.runtime, slow, 50)
    following.begin(S1, VisibleKinds(), None)
    world.say(TEXTS[0])
    assert texts(following.new_events()) == [TEXTS[0]]
    slow.ahead = live.FAR_BEHIND + 1
    with pytest.raises(Unavailable, match="too slow"):
        list(following.new_events())


def _say(hub: AnswerHub, text: str, turn: str = "t1") -> None:
    hub.publish(AnswerPart("s1", "mika", turn, 1, text))


def test_words_of_an_answer_are_told_to_who_watches_its_session_or_its_agent(world: World) -> None:
    hub = AnswerHub()
    world.runtime = replace(world.runtime, answers=hub)
    for watched in (S1, MIKA):
        following, turn = follow(world), f"t-{watched.kind}"
        _say(hub, "おは", turn)
        following.begin(watched, VisibleKinds(), None)
        _say(hub, "よう", turn)
        told = list(following.new_events())
        assert "おはよう" in "".join(event.get("delta", "") for event in told)
        following.end(watched)
        _say(hub, "ございます", turn)
        assert list(following.new_events()) == []


def test_words_are_not_told_to_who_asked_for_other_kinds_of_lines(world: World) -> None:
    hub = AnswerHub()
    world.runtime = replace(world.runtime, answers=hub)
    following = follow(world)
    following.begin(S1, VisibleKinds(kinds=frozenset({LineKind.APPROVAL})), None)
    assert not hub.is_watched("s1", "mika")
    _say(hub, "secret")
    assert list(following.new_events()) == []


@pytest.mark.parametrize(
    ("visible", "is_told"),
    [
        (VisibleKinds(kinds=frozenset({LineKind.ACTION, LineKind.SPEECH}), private=True), True),
        (VisibleKinds(kinds=frozenset({LineKind.ACTION, LineKind.SPEECH})), False),
        (VisibleKinds(kinds=frozenset({LineKind.SPEECH}), private=True), False),
        (VisibleKinds(), False),
    ],
)
@pytest.mark.parametrize("watched", [S1, MIKA])
def test_how_far_a_call_has_come_is_told_to_owners_who_ask_for_calls(
    world: World, visible: VisibleKinds, watched: WatchTarget, *, is_told: bool
) -> None:
    hub = AnswerHub()
    world.runtime = replace(world.runtime, answers=hub)
    following = follow(world)
    following.begin(watched, visible, None)
    for done in (1, 2):
        progress = CallProgress("mcp__crab__dig", done, None, "掘る🦀")
        hub.publish(AnswerPart("s1", "mika", "t1", 0, progress=progress))
    told = [event["value"] for event in following.new_events() if event["type"] == "CUSTOM"]
    newest = {"toolCallName": "mcp__crab__dig", "progress": 2, "text": "掘る🦀"}
    assert told == ([newest] if is_told else [])
    # Whoever comes later is not told of what is over.
    later = follow(world)
    later.begin(watched, visible, None)
    assert list(later.new_events()) == []
