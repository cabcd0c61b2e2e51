"""Evidence is what trusted people and deeds say of turns, and names nothing forgotten."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencrab.actions import GROUPS, Registry
from opencrab.adapters.sqlite.database import sqlite_milliseconds
from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.conversation.message import Sender
from opencrab.domain.document import new_fact
from opencrab.domain.erasure.request import ErasureRequest, ErasureScope
from opencrab.domain.errors import NotFound
from opencrab.domain.learning.evidence import EVIDENCE, STANDING, Evidence
from opencrab.domain.learning.signals import SIGNALS, TurnSignals
from opencrab.domain.memory.memory import EXPERIENCE, MEMORY, Experience
from opencrab.domain.outcome import Outcome
from opencrab.domain.usage.ledger import Judgement
from opencrab.engine.erasure.erase import erase_data
from opencrab.engine.insight import measures
from opencrab.engine.learning import feedback
from opencrab.engine.learning.nightly.run import review_agent_now
from opencrab.engine.learning.signals import LOOKING_INWARD
from tests.crash.outside import Reply
from tests.e2e.forgotten import ENGLISH, HANAKO, SAID, Life, saving
from tests.e2e.house import House
from tests.e2e.nights import APPLY, learner, lived, mind, served, told
from tests.e2e.thinking import HELLO, crab, done
from tests.saved_evidence import saved_evidence

DAY = 86_400.0
WISH = ErasureRequest(scope=ErasureScope.PERSON, id=HANAKO)
OUTWARD = {"workspace", "vault", "web", "world"}
ASKED, WRONG = "蟹の茹で方を詳しく教えて", "違う、全然違うよ"


def evidence(house: House) -> Evidence:
    """What is known of the agent after one more night."""
    house.clock.advance(DAY)
    review_agent_now(house.runtime, "crab", "daily")
    return saved_evidence(house.home.facts, "crab")


def signals(house: House) -> list[TurnSignals]:
    """What the turns of the agent told, oldest first."""
    return [each.read(TurnSignals) for each in house.home.facts.page("crab", SIGNALS, limit=1_000)]


def stored(house: House, *kinds: str) -> str:
    """All that is stored of some kinds."""
    return str([each.body for kind in kinds for each in house.home.facts.page("crab", kind)])


def someone(name: str, authority: Authority, source: Source) -> dict[str, Any]:
    """Who sends a message."""
    who = Sender(id=name, name=name)
    return {"principal_id": name, "sender": who, "authority": authority, "source": source}


STRANGER = someone("discord-666", Authority.PUBLIC, Source.DISCORD)


def with_all_actions(house: House) -> None:
    """Let the agents of a house do everything that there is."""
    house.runtime = replace(house.runtime, actions=Registry(GROUPS))


def complains(house: House, times: int, who: dict[str, Any]) -> None:
    """Somebody asks, and says each time that the answer was wrong."""
    for number in range(times * 2):
        house.clock.advance(20)
        text = WRONG if number % 2 else ASKED
        done(house, *house.say(text, f"{who.get('principal_id')}-{number}", **who))


def test_an_agent_that_writes_grades_and_remembers_has_done_nothing_yet(home: House) -> None:
    with_all_actions(home)
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("save_memory", {"category": "fact", "content": "I answer very well"}),
        ("reflect_and_learn", {"reflection": "That went well", "lesson": "Go on like this"}),
        (
            "evaluate_response",
            {"quality_score": 1, "task_success": True, "evaluation": "perfect"},
        ),
        ("search_my_history", {"query": "what I did well"}),
    )
    crab(home, (Reply(calls=calls), Reply("done")))
    done(home, *home.say("hello"))
    (each,) = signals(home)
    assert (each.done, each.undone) == (0, 0)
    known = evidence(home)
    assert (known.turns, known.judged) == (1, 0)
    assert {bins.worth.n for all_bins in known.grades.values() for bins in all_bins} == {0}


def test_of_every_group_of_actions_it_is_known_whether_it_tells_how_a_turn_went() -> None:
    assert {group.name for group in GROUPS} == LOOKING_INWARD | OUTWARD


@pytest.mark.parametrize(
    ("who", "judged"),
    [
        (STRANGER, 0),
        (someone("kai", Authority.PEER, Source.PEER), 0),
        (someone("taro", Authority.USER, Source.REST), 3),
    ],
)
def test_only_who_is_trusted_lowers_what_turns_are_worth(
    home: House, who: dict[str, Any], judged: int
) -> None:
    crab(home, HELLO)
    complains(home, 3, who)
    assert {each.outsider for each in signals(home)} == {judged == 0}
    known = evidence(home)
    assert (known.turns, known.judged) == (6, judged)
    (model,) = known.models.values()
    assert (model.turns, model.quality.n, model.cost.n) == (6, judged, 6)


def test_a_stranger_neither_rolls_back_a_mix_nor_makes_a_model_fail(home: House) -> None:
    agent = learner(home, **APPLY)
    home.scripts["cheap"] = home.scripts["dear"] = (Reply("はい。"),)
    home.session(agent)
    for model, good in (("cheap", True), ("dear", False)):
        calls = served(model, task_type="conversation")
        lived(home, 60, good=good, model=model, served=(calls,))
    evidence(home)
    assert [each.weights for each in mind(home).mixes] == [{"cheap": 1.0}]
    complains(home, 22, STRANGER)
    lost = served("cheap", task_type="conversation", calls=2, failed=2)
    lived(home, 40, good=None, model="cheap", served=(lost,), outsider=True, name="lost")
    known = evidence(home)
    assert [each.weights for each in mind(home).mixes] == [{"cheap": 1.0}]
    cheap = known.models["conversation/conversation/fake:cheap"]
    assert (cheap.value_sums.n, cheap.value_sums.mean, cheap.cost.n) == (60, 1.0, 104)


def test_where_an_owner_has_an_opinion_nobody_elses_counts(home: House) -> None:
    crab(home, HELLO)
    (turn,) = done(home, *home.say("hello"))
    for number in range(3):
        who = f"sock-{number}"
        feedback.give_feedback(home.runtime, turn.id, by=who, thumbs="down", remark="", key="k")
    assert evidence(home).models.popitem()[1].quality.mean == 0.0
    feedback.give_feedback(
        home.runtime, turn.id, by="owner", thumbs="up", remark="", key="k", by_owner=True
    )
    assert evidence(home).models.popitem()[1].quality.mean == 1.0


def test_notes_of_its_own_are_nobodys_opinion_by_day_or_by_night(home: House) -> None:
    learner(home)
    lived(home, 1, good=False, name="bad")
    (turn,) = signals(home)
    note = Experience(
        id="01KE00000000000000000000AA",
        experience="Kai watched me",
        outcome=Outcome.SUCCESS,
        lesson="Go on",
        about_turn=turn.turn_id,
        turn_id=turn.turn_id,
        from_person="kai",
        at=home.clock.now(),
    )
    home.home.facts.commit(new_fact("crab", EXPERIENCE, note.id, note))
    home.clock.advance(10)
    recent = measures.recent_learning_signals(home.runtime, "crab")
    shown = [
        each.worth
        for each in measures.judge_turns_for_learning(home.runtime.home.facts, "crab", recent)
    ]
    assert shown == [0.0]
    assert [each.quality.mean for each in evidence(home).models.values()] == shown


def test_ids_of_a_forgotten_memory_go_from_signals_evidence_and_reports(
    home: House, tmp_path: Path
) -> None:
    house, life = home, Life(home, tmp_path)
    life.say("覚えておいて", (saving("花子さんは抹茶と羊羹が好き"), Reply("はい。")), HANAKO)
    life.say("覚えておいて", (saving("太郎さんは煎餅が好き"), Reply("はい。")), "taro")
    hers, his = (each.id for each in house.home.facts.page("crab", MEMORY))
    looks = Reply(calls=(("search_my_history", {"query": "花子さんと太郎さんの好きなもの"}),))
    for _ in range(4):
        life.say("誰かに何を出そう?", (looks, Reply("わかりません。")), "jiro")
    period = review_agent_now(house.runtime, "crab", "daily").period
    for _ in range(4):
        evidence(house)
        life.say("誰かに何を出そう?", (looks, Reply("わかりません。")), "jiro")
    kept = {each.id for each in house.home.facts.page("crab", EVIDENCE)}
    assert STANDING in kept
    assert len(kept) > 1
    assert hers not in told(house, period.partition("-")[2])
    assert all(each in stored(house, kind) for each in (hers, his) for kind in (SIGNALS, EVIDENCE))
    before = saved_evidence(house.home.facts, "crab")
    assert erase_data(house.runtime, "crab", WISH).done
    assert hers not in stored(house, SIGNALS, EVIDENCE)
    after = saved_evidence(house.home.facts, "crab")
    assert after == before.without({hers})
    assert after.recalled[his].found > 1
    assert hers not in evidence(house).recalled


def test_an_open_day_whose_turns_are_all_forgotten_counts_no_more(
    home: House, tmp_path: Path
) -> None:
    life = Life(home, tmp_path)
    life.say("hello", (Reply("Yes."),), HANAKO)
    assert evidence(home).turns == 1
    life.say("hello", (Reply("Yes."),), "jiro")
    assert erase_data(home.runtime, "crab", WISH).done
    assert evidence(home).turns == 1
    for _ in range(4):
        assert evidence(home).turns == 1


def graded(house: House, tmp_path: Path) -> None:
    """Two people talk with an agent, which judges what it answered."""
    life = Life(house, tmp_path)
    life.say(ENGLISH, (Reply("Yes."),), HANAKO)
    life.say("散歩は楽しい", (Reply("はい。"),), "jiro")
    his, hers = house.home.usage.rows("crab")
    for row, words in ((hers, SAID), (his, "よくできた")):
        grade = Judgement(quality_score=0.9, self_evaluation=words)
        house.home.usage.judge("crab", row.id, grade)


def judgements(house: House) -> list[tuple[float | None, str | None]]:
    """What the ledger says of how good answers were, oldest first."""
    rows = house.home.usage.rows("crab", oldest_first=True)
    return [(row.quality_score, row.self_evaluation) for row in rows]


def test_the_words_of_a_judgement_go_with_the_turn_that_they_are_about(
    house: House, tmp_path: Path
) -> None:
    graded(house, tmp_path)
    assert erase_data(house.runtime, "crab", WISH).done
    assert judgements(house) == [(0.9, None), (0.9, "よくできた")]


def test_they_go_too_where_the_turn_has_expired_and_only_its_lines_are_left(
    home: House, tmp_path: Path
) -> None:
    graded(home, tmp_path)
    home.clock.advance(50 * DAY)
    usage: Any = home.home.usage
    usage._database.purge(sqlite_milliseconds(home.clock.now()), 0)
    with pytest.raises(NotFound):
        home.turn(home.home.usage.rows("crab")[0].turn_id)
    assert erase_data(home.runtime, "crab", WISH).done
    assert judgements(home) == [(0.9, None), (0.9, "よくできた")]


def test_the_words_by_which_a_forgotten_turn_judged_another_go_too(
    home: House, tmp_path: Path
) -> None:
    with_all_actions(home)
    life = Life(home, tmp_path)
    life.say("散歩は楽しい", (Reply("はい。"),), "jiro")
    (his,) = home.home.usage.rows("crab")
    grade = {"metrics_id": his.id, "quality_score": 0.4, "evaluation": SAID, "task_success": True}
    life.say(SAID, (Reply(calls=(("evaluate_response", grade),)), Reply("はい。")), HANAKO)
    assert home.home.usage.row("crab", his.id).self_evaluation == SAID
    assert erase_data(home.runtime, "crab", WISH).done
    judged = home.home.usage.row("crab", his.id)
    assert (judged.quality_score, judged.self_evaluation) == (0.4, None)
