"""A discussion: it always ends, nobody answers themselves, and who speaks next is no chance."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencrab.domain.agents.soul import Drives, Personality, SocialStyle, Soul
from opencrab.domain.autonomy.settings import Autonomy
from opencrab.domain.conversation.loop_guard import minhash_of_conversation_message
from opencrab.domain.conversation.session import (
    Ending,
    Mode,
    Participant,
    Phase,
    Session,
    SessionChange,
    SessionStatus,
)
from opencrab.domain.discussion.turn_taking import (
    Contender,
    discussion_fairness_index,
    discussion_floor_ready_at,
    discussion_seat_offset,
    discussion_speaking_hazard,
    first_discussion_floor_contender,
    is_discussion_participant_named,
    scaled_discussion_hop_limit,
)
from tests.soak import examples

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
NAMES = ("kai", "nami", "umi")


def discussion(count: int = 3, **fields: object) -> Session:
    people = tuple(Participant(agent_id=name) for name in NAMES[:count])
    return Session(
        id="s1",
        mode=Mode.AUTONOMOUS,
        hop_limit=6,
        participants=people,
        created_by="owner",
        created_at=NOW,
        updated_at=NOW,
    ).replaced(**fields)


def said(
    agent_id: str,
    text: str = "",
    *,
    heard: str | None = None,
    floor: int | None = None,
    done: bool = False,
    phase: Phase | None = None,
    spent: int = 0,
) -> SessionChange:
    return SessionChange(
        agent_id=agent_id,
        spoke_at=NOW if text else None,
        declared_done=done,
        heard=heard,
        floor=floor,
        speeches=bool(text),
        characters=len(text),
        marks=minhash_of_conversation_message(text) if text else (),
        spent_micro_usd=spent,
        phase=phase,
    )


MOVES = st.sampled_from(["潮", "波", "砂", "貝", "岩", "風", "", "done"])


@settings(max_examples=examples(50), deadline=None)
@given(
    count=st.integers(2, 3),
    limit=st.integers(1, 6),
    moves=st.lists(MOVES, min_size=12, max_size=12),
    pick=st.lists(st.integers(0, 2), min_size=12, max_size=12),
)
def test_it_ends_within_its_hops_and_nobody_answers_themselves(
    count: int, limit: int, moves: list[str], pick: list[int]
) -> None:
    session = discussion(count, hop_limit=limit)
    for name in NAMES[:count]:
        session = session.after_turn(said(name, f"{name}の意見", heard="m1"), NOW)
    for hop, (move, choice) in enumerate(zip(moves, pick, strict=True), 1):
        if session.status is SessionStatus.ENDED:
            break
        assert session.candidates
        speaker = session.candidates[choice % len(session.candidates)]
        before = session
        words = "" if move == "done" else move * hop
        session = session.after_turn(
            said(speaker.agent_id, words, floor=hop, done=move == "done"), NOW
        )
        declared = sum(part.done_declared for part in session.participants)
        assert (session.hops, session.floor) == (hop - declared, hop)
        assert session.hops <= limit
        if speaker.agent_id == before.speaker_id:
            others = [p for p in before.participants if p.agent_id != speaker.agent_id]
            assert all(other.done_declared for other in others)
            assert before.spoken_turn < before.turn_number
    assert session.status is SessionStatus.ENDED
    assert session.phase is Phase.CONCLUDED
    assert session.ended_by is not None


def test_each_reason_ends_it_and_is_told() -> None:
    every = discussion(2).after_turn(said("kai", "潮", heard="m1"), NOW)
    every = every.after_turn(said("nami", "波", heard="m1"), NOW)
    ends = {
        Ending.QUIET: every.after_turn(said("kai", floor=1), NOW),
        Ending.MAX_TURNS: every.replaced(max_turns=3).after_turn(said("kai", "砂", floor=1), NOW),
        Ending.BUDGET: every.replaced(budget_micro_usd=5).after_turn(
            said("kai", "砂", floor=1, spent=5), NOW
        ),
        Ending.QUORUM: every.replaced(quorum=1).after_turn(said("kai", floor=1, done=True), NOW),
        Ending.CONCLUDED: every.after_turn(said("kai", "砂", floor=1, phase=Phase.CONCLUDED), NOW),
        Ending.HOPS: every.replaced(hop_limit=1).after_turn(said("kai", "砂", floor=1), NOW),
        Ending.BY_HAND: every.with_end(NOW),
    }
    assert {reason: session.ended_by for reason, session in ends.items()} == {x: x for x in ends}
    again = ends[Ending.HOPS].after_turn(said("nami", done=True), NOW)
    assert again.ended_by is Ending.HOPS


def test_observers_are_not_counted_among_those_who_must_be_done() -> None:
    people = (Participant(agent_id="kai"), Participant(agent_id="umi", role="observer"))
    session = discussion(participants=people)
    assert [each.agent_id for each in session.candidates] == ["kai"]
    over = session.after_turn(said("kai", floor=1, done=True), NOW)
    assert (over.ended_by, over.done_count) == (Ending.DONE, 1)


def test_greetings_that_are_alike_end_nothing_until_agents_repeat_them() -> None:
    session = discussion()
    for name in NAMES:
        session = session.after_turn(said(name, "こんにちは", heard="m1"), NOW)
    assert session.status is SessionStatus.ACTIVE
    assert session.after_turn(said("kai", "こんにちは", floor=1), NOW).ended_by is Ending.NO_NOVELTY
    assert session.after_turn(said("kai", "海へ行こう", floor=1), NOW).ended_by is None


def test_a_human_word_begins_anew_and_a_late_turn_of_before_takes_no_place() -> None:
    session = discussion(2).after_turn(said("kai", "潮", heard="m1"), NOW)
    session = session.after_turn(said("nami", "波", floor=1), NOW)
    assert (session.hops, session.floor, session.round) == (1, 1, "m1")
    session = session.after_turn(said("kai", "砂", heard="m2"), NOW)
    assert (session.hops, session.floor, session.awaited) == (0, 0, True)
    session = session.after_turn(said("nami", "貝", floor=2), NOW)
    assert (session.hops, session.floor) == (1, 0)


def test_half_of_its_hops_make_it_convergent_unless_the_facilitator_says_otherwise() -> None:
    session = discussion(2, hops=2, floor=2).after_turn(said("kai", "潮", floor=3), NOW)
    assert session.phase is Phase.CONVERGENT
    back = session.after_turn(said("nami", "波", floor=4, phase=Phase.DIVERGENT), NOW)
    assert back.phase is Phase.DIVERGENT
    assert back.after_turn(said("kai", "砂", floor=5), NOW).phase is Phase.DIVERGENT


def test_what_is_no_discussion_counts_and_keeps_no_marks() -> None:
    alone = discussion(1).after_turn(said("kai", "潮", heard="m1"), NOW)
    old = discussion(2, hop_limit=None).after_turn(said("kai", "潮", floor=1), NOW)
    assert (alone.recent, alone.round, old.recent, old.hops) == ((), "", (), 0)
    assert old.participants[0].characters == 1


def test_a_session_stored_before_is_read_as_one_that_does_not_discuss() -> None:
    stored = discussion(2, hop_limit=None).model_dump(mode="json", exclude_defaults=True)
    for part in stored["participants"]:
        assert set(part) == {"agent_id"}
    read = Session.model_validate(stored)
    assert not read.discusses
    assert read.ended_by is None


def test_seats_have_primes_and_personality_makes_one_wait_less() -> None:
    assert [discussion_seat_offset(seat) for seat in range(5)] == [29, 31, 37, 41, 43]
    loud = Soul(
        persona_name="x",
        personality=Personality(extraversion=1),
        social_style=SocialStyle(assertiveness=1),
        drives=Drives(collaboration=1),
    )
    quiet = Soul(
        persona_name="x",
        personality=Personality(extraversion=0),
        social_style=SocialStyle(assertiveness=-1),
        drives=Drives(collaboration=0),
    )
    assert discussion_speaking_hazard(loud, named=True) == pytest.approx(0.9)
    assert discussion_speaking_hazard(quiet, named=False) == 0
    seated = [Contender(agent_id="a", seat=0), Contender(agent_id="b", seat=1, hazard=0.5)]
    assert first_discussion_floor_contender(seated) == "b"
    assert first_discussion_floor_contender([seated[0], seated[1].replaced(ready=False)]) == "a"
    assert first_discussion_floor_contender([seated[0].replaced(leads=True), seated[1]]) == "a"
    assert first_discussion_floor_contender([]) is None


def test_nobody_speaks_again_before_their_time_unless_others_spoke() -> None:
    rules = Autonomy(own_speech_seconds=30, others_speeches=2)
    part = Participant(agent_id="kai", last_speech_at=NOW, last_speech=3)
    session = discussion(speeches=4)
    assert discussion_floor_ready_at(session, part, rules) == NOW + timedelta(seconds=30)
    assert discussion_floor_ready_at(session.replaced(speeches=5), part, rules) is None
    assert discussion_floor_ready_at(session.replaced(facilitator_id="kai"), part, rules) is None
    assert discussion_floor_ready_at(session, Participant(agent_id="umi"), rules) is None


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("Kai", "What about kai?", True),
        ("Kai", "kaiさんはどう?", True),
        ("Kai", "kaizen is a word", False),
        ("凪", "凪さんに聞きたい", True),
        ("ナギ", "ﾅｷﾞはどう?", True),
        ("a.b", "axb", False),
    ],
)
def test_names_are_found_in_both_languages(name: str, text: str, *, expected: bool) -> None:
    assert is_discussion_participant_named(name, text) is expected


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=20))
def test_evenness_is_1_for_equal_parts_and_least_where_one_has_all(amounts: list[int]) -> None:
    index = discussion_fairness_index(amounts)
    assert 1 / len(amounts) - 1e-9 <= index <= 1 + 1e-9
    assert discussion_fairness_index([amounts[0]] * len(amounts)) == pytest.approx(1)
    assert discussion_fairness_index([*([0] * len(amounts)), 7]) == pytest.approx(
        1 / (len(amounts) + 1)
    )


@pytest.mark.parametrize(
    ("speakers", "limit"), [(1, 6), (2, 6), (3, 9), (4, 12), (8, 24), (16, 48), (20, 50)]
)
def test_the_hop_limit_grows_with_the_number_of_those_who_speak(speakers: int, limit: int) -> None:
    assert scaled_discussion_hop_limit(6, speakers) == limit
