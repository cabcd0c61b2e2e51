"""Experiences by night: what is never of use, or told twice, goes at its owner's word, and back."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.document import new_fact
from opencrab.domain.erasure.request import ErasureRequest, ErasureScope
from opencrab.domain.errors import Conflict, Invalid, NotFound, Unavailable
from opencrab.domain.identifier import new_ulid
from opencrab.domain.learning.change import ADJUSTMENT, Adjustment, AdjustmentState
from opencrab.domain.learning.evidence import EVIDENCE
from opencrab.domain.learning.signals import SIGNALS, TurnSignals
from opencrab.domain.memory.memory import EXPERIENCE, LIVED, Experience
from opencrab.domain.outcome import Outcome
from opencrab.engine.erasure.erase import erase_data
from opencrab.engine.learning import changes as learned
from opencrab.engine.learning import experiments, feedback, undo
from opencrab.engine.learning.nightly.experiences import A_NIGHT
from opencrab.engine.learning.nightly.run import review_agent_now
from opencrab.engine.learning.proposals import (
    find_followed_learning_proposal,
    follow_learning_proposal,
)
from tests.crash.outside import Reply
from tests.e2e.experiencing import (
    DAY,
    TWICE,
    TWICE_EN,
    WORDS,
    asks,
    changes,
    experience,
    found,
    keeps,
    learns,
    night,
    qualities,
    says,
    shown,
    useless,
)
from tests.e2e.forgotten import HANAKO, Life, occurrences
from tests.e2e.house import House
from tests.e2e.nights import breaking, learner, mind, told
from tests.saved_evidence import saved_evidence

APPLIED, PROPOSED = AdjustmentState.APPLIED, AdjustmentState.PROPOSED


@pytest.mark.parametrize("language", ["ja", "en"])
def test_what_real_turns_found_and_never_used_is_proposed_to_go_in_nobodys_words(
    home: House, tmp_path: Path, language: str
) -> None:
    happened, lesson, asked = WORDS[language]
    name = learns(home, tmp_path, language)
    assert [asks(home, asked) for _ in range(3)] == [[name]] * 3
    told_of = home.home.facts.page("crab", SIGNALS)[-1].read(TurnSignals)
    assert (told_of.found, told_of.useful) == ((f"{LIVED}{name}",), ())
    (made,) = night(home)
    assert (made.subject, made.state, made.after) == (name, PROPOSED, {"remark": "retire"})
    assert (made.reason, made.evidence) == ("never_of_use", {"found": 3, "useful": 0})
    english, japanese = told(home, "2026-01-05"), told(home, "2026-01-05.ja")
    assert "an experience: recalled → stop recalling it (proposed)" in english
    assert "last 30 days: 1. Found three times or more, without a gap of 30 days, and" in english
    assert "一度も役立っていない経験: 1 件" in japanese
    assert "経験: 思い出す → 今後は思い出さないことを提案(提案)" in japanese
    assert "検索で 3 回見つかり、役立ったのは 0 回" in japanese
    assert not any(word in english + japanese for word in (happened, lesson, name))
    assert asks(home, asked) == [name]
    follow_learning_proposal(home.runtime, "crab", made.id, "owner")
    assert asks(home, asked) == []


def test_what_its_owner_let_go_is_found_no_more_and_comes_back_whole(
    house: House, tmp_path: Path
) -> None:
    asked = WORDS["ja"][2]
    name = learns(house, tmp_path, "ja")
    shown(house, name)
    assert found(house, asked) == [name]
    (made,) = night(house)
    before = experience(house, name)
    done = follow_learning_proposal(house.runtime, "crab", made.id, "owner")
    assert (done.state, done.after) == (APPLIED, {"status": "archived"})
    assert experience(house, name).retired_at == done.at
    assert (asks(house, asked), found(house, asked)) == ([], [])
    assert find_followed_learning_proposal(house.runtime, "crab", made.id, "owner") == done
    house.clock.advance(DAY)
    keeps(house, "別の経験", "別の教訓")
    assert found(house, asked) == []
    undone = undo.undo_adjustment(house.runtime, "crab", made.id, "owner")
    back = experience(house, name)
    assert (back.retired_at, back.restored_at) == (None, undone.ended_at)
    assert back.replaced(restored_at=None) == before
    assert asks(house, asked) == found(house, asked) == [name]
    shown(house, name)
    assert night(house) == ()


@pytest.mark.parametrize("language", ["ja", "en"])
def test_one_whose_words_came_back_in_an_answer_stays(
    home: House, tmp_path: Path, language: str
) -> None:
    _, lesson, asked = WORDS[language]
    name = learns(home, tmp_path, language)
    for answer in ("…", "…", lesson, "…"):
        asks(home, asked, answer)
    assert night(home) == ()
    evidence = saved_evidence(home.home.facts, "crab")
    (counted,) = evidence.experiences_recalled.items()
    assert (counted[0], counted[1].found, counted[1].useful) == (name, 4, 1)
    assert evidence.memories_recalled == {}


@pytest.mark.parametrize("words", [TWICE, TWICE_EN])
def test_of_two_that_say_the_same_the_less_useful_goes_and_other_pairs_stay(
    home: House, words: tuple[tuple[str, str], ...]
) -> None:
    learner(home)
    first, second = (keeps(home, *each) for each in words)
    failed = keeps(home, *words[0], outcome=Outcome.FAILURE)
    his = keeps(home, *words[0], person_id="taro")
    thumbs = {"about_turn": "t", "from_person": "owner"}
    said = [keeps(home, *words[0], **thumbs) for _ in range(2)]
    keeps(home, "港で道を聞かれた", "地図を見せる")
    keeps(home, "駅で道を聞かれた", "本を見せる")
    shown(home, second, times=2, useful=(second,))
    (made,) = night(home)
    assert (made.subject, made.after) == (first, {"remark": "merge", "other": second})
    assert made.evidence.pop("alike") >= 0.75
    assert made.evidence == {"found": 0, "useful": 0, "other_found": 2, "other_useful": 2}
    assert "of the words match" in told(home, "2026-01-05")
    assert "同じ内容の別の経験だけを残す" in told(home, "2026-01-05.ja")
    done = follow_learning_proposal(home.runtime, "crab", made.id, "owner")
    assert done.after == {"status": "archived", "other": second}
    gone = {
        each for each in (first, second, failed, his, *said) if experience(home, each).retired_at
    }
    assert gone == {first}
    assert night(home) == ()
    assert "an experience: recalled → no longer recalled (applied)" in told(home, "2026-01-06")
    assert "経験: 思い出す → 思い出さない(実施済み)" in told(home, "2026-01-06.ja")


def test_a_strangers_words_never_displace_the_agents_own(home: House) -> None:
    learner(home)
    own = keeps(home, *TWICE[0])
    foreign = keeps(home, *TWICE[1], tainted=True)
    shown(home, foreign, times=2, useful=(foreign,))
    (made,) = night(home)
    assert (made.subject, made.after["other"]) == (foreign, own)


def test_a_retired_opinion_counts_as_before(home: House, tmp_path: Path) -> None:
    Life(home, tmp_path)
    turn = says(home, "灯台の話", Reply("灯台は岬にあります。"))
    thumbs = feedback.give_feedback(
        home.runtime, turn.id, by="owner", thumbs="down", remark="", key="k", by_owner=True
    )
    for _ in range(3):
        assert asks(home, "灯台") == [thumbs.id]
    (made,) = night(home)
    assert made.subject == thumbs.id

    before = qualities(home)
    follow_learning_proposal(home.runtime, "crab", made.id, "owner")
    assert found(home, "灯台") == []
    says(home, "こんにちは", Reply("…"))
    night(home)
    assert [each.n for each in before] == [1]
    assert qualities(home) == before


def test_what_is_pinned_is_neither_proposed_nor_followed_until_it_is_let_go(home: House) -> None:
    learner(home)
    name, made = useless(home)
    pin = f"experience:{name}"
    experiments.pin_learned_subject(home.runtime, "crab", pin)
    assert mind(home).pinned == (pin,)
    with pytest.raises(Conflict, match="is pinned"):
        follow_learning_proposal(home.runtime, "crab", made.id, "owner")
    with pytest.raises(Conflict, match="has no experiment to stop"):
        experiments.end_experiment(home.runtime, "crab", pin, "owner")
    for wrong in (NotFound, Invalid):
        with pytest.raises(wrong):
            experiments.pin_learned_subject(
                home.runtime, "crab", "experience:" + "x" * (wrong is NotFound)
            )
    home.clock.advance(31 * DAY)
    shown(home, name)
    assert night(home) == ()
    experiments.unpin_learned_subject(home.runtime, "crab", pin)
    shown(home, name)
    (again,) = night(home)
    assert learned.find_adjustment(home.home.facts, "crab", made.id).ended_by == again.id
    follow_learning_proposal(home.runtime, "crab", again.id, "owner")


def test_nothing_is_proposed_again_for_thirty_days(home: House) -> None:
    """Neither what was let be, nor what was followed long after and then taken back."""
    learner(home)
    name, made = useless(home)

    def proposes(days: int) -> bool:
        home.clock.advance((days - 1) * DAY)
        shown(home, name)
        return bool(night(home))

    assert not proposes(28)
    follow_learning_proposal(home.runtime, "crab", made.id, "owner")
    home.clock.advance(40 * DAY)
    undo.undo_adjustment(home.runtime, "crab", made.id, "owner")
    assert [proposes(1), proposes(28), proposes(3)] == [False, False, True]


def test_a_night_proposes_a_few_and_the_next_one_goes_on(home: House) -> None:
    learner(home)
    names = [keeps(home, f"lighthouse {n}", f"lesson number {n}") for n in range(A_NIGHT + 2)]
    shown(home, *names)
    asked_about = keeps(home, "the model answered slowly", "ask another", model="fake:dear")
    shown(home, asked_about, times=9)
    first = night(home)
    shown(home, names[0])
    second = night(home)
    assert (len(first), len(second)) == (A_NIGHT, 2)
    assert {each.subject for each in (*first, *second)} == set(names)


def test_a_large_memory_is_not_read_whole(home: House) -> None:
    learner(home)
    old = keeps(home, *WORDS["en"][:2])
    for place in range(0, 400, 20):
        now = home.clock.now() + timedelta(seconds=1)
        facts = []
        for n in range(place, place + 20):
            each = new_ulid(int(now.timestamp() * 1_000), n.to_bytes(10))
            body = Experience(
                id=each, experience=f"e{n}", outcome=Outcome.SUCCESS, lesson=f"l{n}", at=now
            )
            facts.append(new_fact("crab", EXPERIENCE, each, body))
        home.home.facts.commit(*facts)
    home.clock.advance(500)
    shown(home, old)
    home.calls.clear()
    (made,) = night(home)
    assert made.subject == old
    calls = home.calls.copy()
    home.clock.advance(DAY)
    home.calls.clear()
    review_agent_now(home.runtime, "crab", "daily")
    assert calls["facts.get"] - home.calls["facts.get"] <= 5
    assert calls["facts.page"] <= 25


@pytest.mark.parametrize("act", ["follow", "undo"])
def test_whoever_dies_while_writing_leaves_all_of_it_or_nothing(home: House, act: str) -> None:
    learner(home)
    name, made = useless(home)
    does: dict[str, Callable[[Any], Adjustment]] = {
        "follow": lambda runtime: find_followed_learning_proposal(
            runtime, "crab", made.id, "owner"
        ),
        "undo": lambda runtime: undo.undo_adjustment(runtime, "crab", made.id, "owner"),
    }
    if act == "undo":
        does["follow"](home.runtime)
    before = (experience(home, name), changes(home))
    crash = Unavailable("a crash")
    with pytest.raises(Unavailable):
        does[act](breaking(home, "facts", "commit", crash))
    assert (experience(home, name), changes(home)) == before
    with pytest.raises(Unavailable):
        does[act](breaking(home, "facts", "commit", crash, after=1))
    done = (experience(home, name), changes(home))
    assert bool(done[0].retired_at) is (act == "follow")
    does[act](home.runtime)
    assert (experience(home, name), changes(home)) == done


def test_a_night_that_dies_after_each_write_proposes_the_same(home: House) -> None:
    learner(home)
    names = [keeps(home, f"lighthouse {n}", f"lesson number {n}") for n in range(A_NIGHT + 2)]
    shown(home, *names)
    home.clock.advance(DAY)
    foreseen = review_agent_now(home.runtime, "crab", "daily", dry_run=True).adjustments
    crash = Unavailable("a crash")
    for _ in range(20):
        try:
            review_agent_now(breaking(home, "facts", "commit", crash, after=1), "crab", "daily")
            break
        except Unavailable:
            continue
    assert {each.subject for each in changes(home)} == {each.subject for each in foreseen}
    assert len(changes(home)) == A_NIGHT


def test_what_fits_the_present_no_more_is_neither_followed_nor_taken_back(home: House) -> None:
    learner(home)
    first, second = (keeps(home, *each) for each in TWICE)
    (made,) = night(home)
    assert (made.subject, made.after["other"]) == (second, first)
    stored = home.home.facts.get("crab", EXPERIENCE, first)
    assert stored is not None
    home.home.facts.commit(stored.with_body(experience(home, first).replaced(retired_at=made.at)))
    with pytest.raises(Conflict, match="says the same, was retired"):
        follow_learning_proposal(home.runtime, "crab", made.id, "owner")
    home.home.facts.commit(stored.replaced(version=0))
    follow_learning_proposal(home.runtime, "crab", made.id, "owner")
    gone = home.home.facts.get("crab", EXPERIENCE, second)
    assert gone is not None
    home.home.facts.commit(gone.with_body(experience(home, second).replaced(retired_at=None)))
    with pytest.raises(Conflict, match="restored concurrently"):
        undo.undo_adjustment(home.runtime, "crab", made.id, "owner")
    home.home.facts.commit(gone.removed().replaced(version=0))
    with pytest.raises(Conflict, match="erased concurrently"):
        undo.undo_adjustment(home.runtime, "crab", made.id, "owner")


def test_forgetting_reaches_retired_experiences_and_all_that_names_them(
    house: House, tmp_path: Path
) -> None:
    Life(house, tmp_path)
    hers = keeps(house, "合言葉は夕凪七号と聞いた", "花束を贈る", person_id=HANAKO)
    alone = keeps(house, "山田さんは夕凪の歌が好き", "歌を歌う", person_id=HANAKO)
    his = [keeps(house, *each, person_id="taro") for each in TWICE]
    shown(house, hers, alone, his[0], useful=(his[0],))
    made = {each.subject: each for each in night(house)}
    assert set(made) == {hers, alone, his[1]}
    follow_learning_proposal(house.runtime, "crab", made[hers].id, "owner")
    follow_learning_proposal(house.runtime, "crab", made[his[1]].id, "owner")
    assert erase_data(
        house.runtime, "crab", ErasureRequest(scope=ErasureScope.PERSON, id=HANAKO)
    ).done
    left = {fact.id for fact in house.home.facts.page("crab", EXPERIENCE)}
    assert left == set(his)
    assert occurrences(house, tmp_path, "夕凪") == []
    kinds = (SIGNALS, EVIDENCE, ADJUSTMENT)
    bodies = str([fact.body for kind in kinds for fact in house.home.facts.page("crab", kind)])
    assert hers not in bodies
    assert alone not in bodies
    assert [each.subject for each in changes(house)] == [his[1]]
    assert erase_data(
        house.runtime,
        "crab",
        ErasureRequest(scope=ErasureScope.PERIOD, since=experience(house, his[0]).at),
    ).done
    assert changes(house) == []
