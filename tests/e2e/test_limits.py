"""What a turn may cost: transactions, writes, reads, steps, deliveries and money."""

from contextlib import suppress

import pytest

from opencrab.domain.conversation.message import LineKind
from opencrab.domain.learning.signals import SIGNALS, TurnSignals
from opencrab.domain.models.routing import CallOptions
from opencrab.domain.money.budget import INSTALLATION, Limits, agent_budget_scope
from opencrab.domain.turn.transcript import Transcript
from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.runtime import Rules
from opencrab.engine.turn.observe import load_turn_work
from opencrab.engine.turn.prompt.request import build_turn_prompt_request
from opencrab.ports.turn.journal import StepState
from tests.contract.homes import DISTINCT_HOMES
from tests.crash.outside import Reply, Script
from tests.crash.scenarios import LONG, TEXT, WRITE
from tests.crash.scheduling import Killed
from tests.crash.watching import TRANSACTION_ITEMS
from tests.e2e.conftest import Build
from tests.e2e.house import House

IN_HOMES = DISTINCT_HOMES

ENDLESS: Script = (Reply(calls=(("ws_list", {}),)),)


def test_a_turn_of_sixty_steps_ends_and_no_transaction_is_large(build: Build) -> None:
    steps = tuple(
        Reply(
            calls=(
                ("ws_write", {"path": f"{n}.md", "content": str(n)}),
                ("ws_read", {"path": f"{n}.md"}),
            )
        )
        for n in range(59)
    )
    house = build(Rules(max_steps=60, limits=Limits(turn_micro_usd=900_000)))
    house.session(house.agent("crab", (*steps, Reply("done"))))
    turns = house.say("go")
    house.work()
    assert house.statuses(turns) == [TurnStatus.COMPLETED]
    assert len(house.home.files.list("crab")) == 59
    assert len(house.transactions) > 150
    assert max(house.transactions) <= TRANSACTION_ITEMS


def test_two_hundred_calls_in_one_step_all_run_and_no_transaction_is_large(house: House) -> None:
    kinds: tuple[tuple[str, dict[str, object]], ...] = (
        ("ws_list", {}),
        ("ws_write", {"path": "a.md", "content": "a"}),
        ("ws_read", {"path": "a.md"}),
        ("nonsense", {}),
        ("send_speech", {"content": "word", "more": True}),
    )
    calls = tuple(
        (name, arguments | {"content": f"word {n}"} if name == "send_speech" else arguments)
        for n in range(200)
        for name, arguments in (kinds[n % len(kinds)],)
    )
    house.session(house.agent("crab", (Reply(calls=calls), Reply("done"))))
    turns = house.say("go")
    house.work()
    assert house.statuses(turns) == [TurnStatus.COMPLETED]
    records = house.home.journal.load(turns[0].id).records
    results = [record.call_id for record in records if record.kind == "call_result"]
    assert results == [f"c1_{n}" for n in range(200)]
    assert len(house.lines(LineKind.SPEECH)) == 41
    assert max(house.transactions) <= TRANSACTION_ITEMS


@pytest.mark.parametrize("pure", [200, 7, 6, 5])
def test_pure_calls_ride_along_in_transactions_of_others(build: Build, pure: int) -> None:
    house = build(Rules(compact_every=0))
    house.session(house.agent("crab", (Reply(calls=(("ws_list", {}),) * pure), Reply("done"))))
    turns = house.say("go")
    house.work()
    assert house.statuses(turns) == [TurnStatus.COMPLETED]
    assert house.calls["journal.commit"] <= 4 + pure // 6
    assert max(house.transactions) <= TRANSACTION_ITEMS


def test_writes_are_one_admission_one_claim_and_a_known_number_of_steps(house: House) -> None:
    house.session(house.agent("crab", LONG))
    house.say("work")
    house.work()
    keyed_or_once, transactional, model_calls = 3, 1, 6
    assert house.calls["journal.admit"] == 1
    assert house.calls["journal.claim"] == 1
    # The results of two keyed calls come with the next intent; that of the once one is saved.
    carried = 2
    most = 2 * model_calls + 2 * keyed_or_once + transactional - carried
    assert house.calls["journal.commit"] == most
    sent = 0 if house.home.journal.queues_admitted else 1
    assert (house.calls["turns.send"], house.calls["turns.acknowledge"]) == (sent, 1)
    assert house.calls["facts.commit"] == house.calls["usage.rows"] == 0
    (told,) = house.home.facts.page("crab", SIGNALS)
    assert told.read(TurnSignals).served, "what was measured came with the end of the turn"


def test_agent_and_session_are_loaded_in_two_reads_whatever_the_turn_does(house: House) -> None:
    house.session(house.agent("crab", LONG))
    house.say("work")
    house.calls.clear()
    house.work()
    loaded = house.calls["agents.get"] + house.calls["sessions.get_with_access"]
    assert loaded == 2
    assert house.calls["journal.lines"] == 1
    assert house.calls["journal.load"] == 0


def test_a_turn_that_kills_three_workers_fails_loudly_and_is_kept_for_the_operator(
    house: House,
) -> None:
    house.session(house.agent("crab", TEXT))
    (turn,) = house.say("hello")
    died = 0

    def dies() -> None:
        raise Killed

    house.interrupt(dies)
    for _ in range(6):
        try:
            house.later(400)
        except Killed:
            died += 1
    assert died == 3
    ended = house.turn(turn.id)
    assert ended.status is TurnStatus.FAILED
    assert [line.text for line in house.lines()] == [
        "I am sorry, I stopped: repeated attempts made no progress."
    ]
    ((body, reason),) = house.home.turns.list_dead_letters(10)
    assert turn.id in body
    assert "no progress" in reason
    day = f"{house.clock.now():%Y-%m-%d}"
    drawn = [
        house.home.budgets.drawn_micro_usd(scope, day)
        for scope in (agent_budget_scope("crab"), INSTALLATION)
    ]
    assert drawn == [ended.spent, ended.spent]
    assert ended.spent > 0


@pytest.mark.parametrize(
    ("language", "words"),
    [
        (Language.EN, "I stopped: this turn reached its limit of 4 model calls."),
        (Language.JA, "モデルの呼び出し回数の上限(4回)に達したため"),
    ],
)
def test_a_turn_at_its_step_limit_says_so_in_the_agents_language(
    build: Build, language: Language, words: str
) -> None:
    house = build(Rules(max_steps=4))
    house.session(house.agent("crab", ENDLESS, language))
    turns = house.say("go")
    house.work()
    assert house.statuses(turns) == [TurnStatus.EXHAUSTED]
    assert house.provider.bill.received == 4
    assert house.lines(LineKind.SYSTEM)[-1].text.startswith(words)


def test_a_spent_day_says_so_and_calls_no_model(house: House) -> None:
    agent = house.agent("crab", TEXT)
    house.home.agents.save(agent.replaced(day_limit_micro_usd=10))
    house.session(agent)
    turns = house.say("hello")
    house.work()
    assert house.statuses(turns) == [TurnStatus.EXHAUSTED]
    assert house.provider.bill.received == 0
    assert "budget" in house.lines(LineKind.SYSTEM)[0].text


def test_two_renders_a_minute_apart_differ_only_in_their_last_part(house: House) -> None:
    house.session(house.agent("crab", WRITE))
    for n in range(5):
        house.say(f"message {n}", f"m{n}")
        house.work()
    (turn,) = house.say("and now?", "last")
    recorded = house.home.journal.load(turn.id)
    model = house.provider.get("fake:crab")
    renders = []
    for _ in range(2):
        work = load_turn_work(house.runtime, recorded.turn, Transcript.of(recorded.records))
        renders.append(
            build_turn_prompt_request(
                work, model.info, CallOptions(), work.look(StepState(None, ()))
            )
        )
        house.clock.advance(60)
    first, second = renders
    assert len(first.turns) > 10
    assert first.turns[:-1] == second.turns[:-1]
    assert (first.system, first.actions) == (second.system, second.actions)
    assert first.turns[-1] != second.turns[-1]


def test_a_turn_that_is_given_up_is_logged_with_its_ids(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.session(house.agent("crab", TEXT))
    (turn,) = house.say("hello")

    def dies() -> None:
        raise Killed

    house.interrupt(dies)
    for _ in range(6):
        with suppress(Killed):
            house.later(400)
    said = [each.getMessage() for each in caplog.records if "given up" in each.getMessage()]
    assert len(said) == 1
    for named in ("agent_id=crab", f"turn_id={turn.id}", "made no progress in 3 deliveries"):
        assert named in said[0]
