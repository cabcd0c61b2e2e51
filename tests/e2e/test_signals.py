"""What a turn tells of its models, skills and memories: once, with its end, in nobody's words."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.conversation.message import Sender
from opencrab.domain.document import Document, new_fact
from opencrab.domain.erasure.request import ErasureRequest, ErasureScope
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.learning.signals import KEPT_DAYS, SIGNALS, TurnSignals
from opencrab.domain.memory.memory import MEMORY, Memory
from opencrab.domain.models.fault import Fault
from opencrab.domain.models.routing import Use
from opencrab.domain.models.traffic_split import Mix
from opencrab.domain.skills.skill import IndexedSkill
from opencrab.domain.turn.record import CallState, ModelIntent
from opencrab.domain.turn.transcript import Transcript
from opencrab.domain.turn.turn import Trigger, TurnStatus
from opencrab.domain.value import Value
from opencrab.engine.consequence import ExtraWrites
from opencrab.engine.erasure.erase import erase_data
from opencrab.engine.insight.experiments import stop_experiment
from opencrab.engine.learning.nightly.run import review_agent_now
from opencrab.engine.turn import control
from opencrab.engine.turn.observe import load_turn_work
from opencrab.engine.turn.work import ITEMS
from tests.contract.homes import HOMES
from tests.crash.errand import RICH
from tests.crash.outside import Reply
from tests.e2e.forgotten import HANAKO, Life, saving
from tests.e2e.house import START, House
from tests.e2e.instructed import carried, instruct
from tests.e2e.instructed import crab as instructed
from tests.e2e.thinking import HELLO, crab, done, failing, rows

MIX = Mix(purpose=Use.CONVERSATION, task_type="conversation", weights={"fast": 0.5, "smart": 0.5})
TEA = "太郎さんは抹茶と羊羹が好き"


def told(house: House) -> list[TurnSignals]:
    """All signals of the agent `crab`, oldest first."""
    return [fact.read(TurnSignals) for fact in house.home.facts.page("crab", SIGNALS, limit=1_000)]


def knows(house: House, mind: AgentState) -> None:
    """Give the agent this mind."""
    house.home.facts.commit(new_fact("crab", MIND, MIND, mind).replaced(version=0))


def test_the_turns_of_a_mix_are_shared_out_and_each_says_how_likely_its_model_was(
    house: House,
) -> None:
    crab(house, HELLO)
    lore = IndexedSkill(name="lore", description="crabs", situation_pattern="蟹座", on_trial=True)
    knows(house, AgentState(mixes=(MIX,), skills=(lore,)))
    for n in range(5):
        done(house, *house.say("蟹座の話をして", f"m{n}"))
        house.clock.advance(3_600)
    signals = told(house)
    assert [each.turn_id for each in signals] == [row.turn_id for row in rows(house)]
    assert {each.served[0].model for each in signals} == {"third:quick", "other:backup"}
    for each, row in zip(signals, rows(house), strict=True):
        (served,) = each.served
        assert (served.chosen_by, served.probability) == ("learned", 0.5)
        assert (served.last_row, served.cost, served.calls) == (row.id, row.cost, 1)
        assert (each.trigger, each.status, each.spoke) == (
            Trigger.MESSAGE,
            TurnStatus.COMPLETED,
            True,
        )
        assert each.task_success is None
        assert (each.given, each.held) in {(("lore",), ()), ((), ("lore",))}
        stored = house.home.journal.load(each.turn_id).records[0]
        assert isinstance(stored, ModelIntent)
        assert stored.probability == 0.5
        assert stored.basis is not None
        assert stored.basis.lots[0].model in {"fast", "smart"}
    (fact, *_) = house.home.facts.page("crab", SIGNALS)
    assert fact.expires_at == signals[0].at + timedelta(days=KEPT_DAYS)
    assert "蟹" not in str(fact.body)


def test_who_stood_in_and_what_was_lost_are_told_with_the_rest(home: House) -> None:
    crab(home, failing(Fault.SERVER_ERROR))
    done(home, *home.say("hello"))
    (each,) = told(home)
    first, second = each.served
    assert (first.model, first.failed, first.last_row) == ("fake:crab", 1, "")
    assert (second.model, second.chosen_by, second.failed) == ("other:backup", "fallback", 0)
    assert second.last_row == rows(home)[-1].id
    assert [row.state for row in rows(home)] == [CallState.FAILED, CallState.COMPLETED]


def test_deeds_are_counted_and_talking_planning_and_nonsense_are_none(home: House) -> None:
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("send_speech", {"content": "やります", "more": True}),
        ("ws_write", {"path": "a.md", "content": "a"}),
        ("ws_read", {"path": "nowhere.md"}),
        ("no_such_action", {}),
        ("ring_bell", {}),
    )
    crab(home, (Reply(calls=calls), Reply("done")))
    done(home, *home.say("go"))
    (each,) = told(home)
    assert (each.done, each.undone, each.repairs) == (2, 1, 1)
    assert [served.purpose for served in each.served] == [Use.CONVERSATION]


@pytest.mark.parametrize(
    ("asked", "thanks"),
    [
        ("去年の売上の合計を教えて", "ありがとうございます。次は予算をお願いします"),
        ("Please add up the sales of the last year", "Thanks, that helped. Now the budget, please"),
    ],
)
def test_thanks_name_the_turn_before(home: House, asked: str, thanks: str) -> None:
    home.session(home.agent("crab", (Reply("120"),) * 9))
    turns = list[str]()
    for text in (asked, thanks, thanks):
        home.clock.advance(60)
        turns += [turn.id for turn in done(home, *home.say(text, f"m{len(turns)}"))]
    assert [each.thanks for each in told(home)] == ["", turns[0], ""], "twice the same asks again"


@pytest.mark.parametrize(
    ("asked", "wrong"),
    [
        ("去年の売上の合計を教えて", "違う、去年じゃなくて今年だよ"),
        ("Please add up the sales of the last year", "No, I asked for this year"),
    ],
)
def test_a_message_that_corrects_or_asks_again_names_the_turn_before(
    home: House, asked: str, wrong: str
) -> None:
    crab(home, HELLO)
    kani: dict[str, Any] = {"principal_id": "kani", "sender": Sender(id="kani", name="Kani")}
    turns: list[str] = []
    himself = dict[str, Any]()
    for minutes, text, who in (
        (1, asked, himself),
        (1, wrong, himself),
        (1, asked, himself),
        (1, asked, himself),
        (31, asked, himself),
        (1, wrong, kani),
        (1, wrong, himself),
    ):
        home.clock.advance(minutes * 60)
        turns += [turn.id for turn in done(home, *home.say(text, f"m{len(turns)}", **who))]
    signals = told(home)
    assert [each.turn_id for each in signals] == turns
    assert [each.corrects for each in signals] == ["", turns[0], "", "", "", "", turns[4]]
    assert [each.repeats for each in signals] == ["", "", "", turns[2], "", "", ""]


def test_a_task_is_a_success_where_it_was_confirmed_and_none_where_it_failed(home: House) -> None:
    says = Reply(calls=(("ws_write", {"path": "5.md", "content": "5"}),))
    instructed(home, G1_T4=(Reply("できません"),), G1_T5=(says, Reply("書きました")))
    instruct(home)
    carried(home)
    served = [(home.turn(each.turn_id).task, each.task_success) for each in told(home)]
    assert served == [
        ("G1", None),
        ("G1-T1", True),
        ("G1-T2", True),
        ("G1-T3", False),
        ("G1-T4", None),
        ("G1-T5", True),
        ("G1", None),
    ], "the plan, the tasks, and a report that claims what nothing confirms"


@pytest.fixture
def half(tmp_path: Path) -> Iterator[Life]:
    """A life in which the coin keeps memories from half of all searches."""
    house = House(HOMES[0], tmp_path, replace(RICH, trials=TrialSettings(memory_percent=50)))
    yield Life(house, tmp_path)
    house.close()


def test_the_coin_keeps_memories_from_a_share_of_turns_and_both_sides_are_told(half: Life) -> None:
    half.say("覚えておいて", (saving(TEA), Reply("はい。")))
    (memory,) = (f.read(Memory) for f in half.house.home.facts.page("crab", MEMORY))
    looks = Reply(calls=(("search_my_history", {"query": "太郎さんの好きなもの"}),))
    for n in range(8):
        # Words of the message or of the query say nothing of a memory that has them too.
        vain = ("わかりません。", "太郎さんの好きなものですか。")
        answer = "抹茶をどうぞ。" if n % 2 else vain[n // 2 % 2]
        half.say("太郎さんに何を出そう?", (looks, Reply(answer)), "jiro")
    searched = told(half.house)[1:]
    assert {each.hidden for each in searched} == {True, False}
    assert {bool(each.useful) for each in searched if not each.hidden} == {True, False}
    for n, each in enumerate(searched):
        assert each.could_hide
        assert each.found == (() if each.hidden else (memory.id,))
        assert each.useful == (each.found if n % 2 else ())


def test_where_the_owner_ended_the_trial_of_memories_no_search_hides_any_and_nothing_is_asked_more(
    half: Life,
) -> None:
    half.say("覚えておいて", (saving(TEA), Reply("はい。")))
    looks = Reply(calls=(("search_my_history", {"query": "太郎さんの好きなもの"}),))
    script = (looks, Reply("抹茶をどうぞ。"))
    half.say("太郎さんに何を出そう?", script, "jiro")
    house, requests = half.house, dict[bool, list[int]]()
    for ended in (False, True):
        if ended:
            stop_experiment(house.runtime, "crab", "memories", "owner")
        for _ in range(5):
            before = house.calls.total()
            half.say("太郎さんに何を出そう?", script, "jiro")
            requests.setdefault(ended, []).append(house.calls.total() - before)
    assert set(requests[True]) <= set(requests[False])
    tried, shown = told(house)[2:7], told(house)[7:]
    assert {(each.could_hide, each.hidden) for each in tried} == {(True, False), (True, True)}
    assert {(each.could_hide, each.hidden) for each in shown} == {(False, False)}
    assert all(each.found for each in shown)
    house.clock.advance(86_400)
    (report, japanese) = review_agent_now(house.runtime, "crab", "daily").report
    for path, words in (
        (
            report,
            "memories in searches: withheld in 50 % of turns → withheld in 0 % of turns (applied)",
        ),
        (japanese, "検索で見せる記憶: 50 % のターンで隠す → 0 % のターンで隠す(実施済み)"),
    ):
        assert words in house.home.files.read("crab", path)[1].decode()


def test_what_a_turn_told_is_forgotten_with_it_and_nothing_else_is(half: Life) -> None:
    (hers,) = half.say("こんにちは", (Reply("はい。"),), HANAKO)
    (his,) = half.say("hello", (Reply("Yes?"),), "jiro")
    assert [each.turn_id for each in told(half.house)] == [hers.id, his.id]
    for wish, left in (
        (ErasureRequest(scope=ErasureScope.PERSON, id=HANAKO), [his.id]),
        (ErasureRequest(scope=ErasureScope.SESSION, id="kais"), [his.id]),
        (ErasureRequest(scope=ErasureScope.SESSION, id="direct"), []),
    ):
        agent_id = "kai" if wish.id == "kais" else "crab"
        assert erase_data(half.house.runtime, agent_id, wish).done
        assert [each.turn_id for each in told(half.house)] == left


def test_measuring_is_left_out_where_the_transaction_has_no_room_for_it(home: House) -> None:
    crab(home, HELLO)
    (turn,) = home.say("hello")
    claimed = home.home.journal.claim(
        turn.id, lease_until=START + timedelta(minutes=5), receipt=None
    )
    assert claimed is not None
    work = load_turn_work(home.runtime, claimed.turn, Transcript())
    spare = new_fact("crab", SIGNALS, "spare", Value())
    for facts, kept in ((ITEMS - 1, []), (ITEMS - 2, ["spare"])):
        many = tuple(_fact(f"{facts}-{n}") for n in range(facts))
        work.save(work.turn, beside=ExtraWrites(facts=many, optional_fact=spare))
        assert [fact.id for fact in home.home.facts.page("crab", SIGNALS)] == kept
    assert home.transactions[-2:] == [ITEMS, ITEMS]


def test_a_turn_that_asked_no_model_tells_nothing(home: House) -> None:
    crab(home, HELLO)
    turns = home.say("hello")
    control.stop_turn(home.runtime, turns[0].id, by="owner")
    home.work()
    assert home.statuses(turns) == [TurnStatus.STOPPED]
    assert told(home) == []


def _fact(name: str) -> Document:
    return new_fact("crab", "note", name, Value())
