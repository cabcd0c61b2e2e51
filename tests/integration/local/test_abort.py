"""Streaming answers are aborted at random words amid `kill -9`: nothing lost, nothing twice."""

import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from opencrab.domain.conversation.message import Line, LineKind
from opencrab.domain.money.budget import INSTALLATION, Limits, Usage, agent_budget_scope
from opencrab.domain.turn.record import CallState
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.usage.ledger import UsageRow
from opencrab.ports.home import Home
from tests.integration.local.aborting import FIRST_TOKENS, SESSIONS, WORDS, Aborting, slow_vendor_at
from tests.integration.local.examining import PRICE, home_at, lines_of, rows_of
from tests.integration.local.vendor import KEY
from tests.running import opencrab
from tests.soak import count

SEED = 7


@pytest.mark.timeout(3_600)
def test_answers_aborted_at_random_words_amid_kills_are_lost_and_repeated_never(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each message has one end, a partial answer is what the vendor said, and all is paid for."""
    up = Aborting(tmp_path / "data", SEED)
    kills = count("kills of answers that are aborted as they stream")
    with slow_vendor_at(up.vendor) as up.url:
        for life in range(kills):
            up.live(life)
        with up.running() as running:
            up.await_rest(running)
    with home_at(up.data) as home:
        rows = [row for agent_id in up.agents for row in rows_of(home, agent_id)]
        ends = _turns(up, home, rows)
        spent, billed = _money(up, home, rows)
        assert home.turns.list_dead_letters(10) == ()
        assert all(home.sessions.get(each).unanswered == () for each in up.sessions)
    opencrab("verify", up.data)
    if kills > SESSIONS:
        with capsys.disabled():
            told = f"{dict(up.done)}, ends {dict(ends)}, {len(up.vendor.asked)} requests"
            sys.stdout.write(f"\n{told}, billed {billed} <= spent {spent} micro-dollars\n")
    assert up.done["kill"] == kills
    assert set(ends) <= {"completed", "stopped"}


def _turns(up: Aborting, home: Home, rows: list[UsageRow]) -> Counter[str]:
    """Every acknowledged message is there once, and its turn has one end and at most one answer."""
    lines = [line for session in up.sessions for line in lines_of(home, session)]
    said = Counter(key for line in lines if not line.from_agent for key in KEY.findall(line.text))
    assert set(said.values()) == {1}
    assert up.turns.keys() <= said.keys()
    answers = defaultdict[str, list[Line]](list)
    for line in lines:
        answers[line.turn_id or ""].append(line)
    ended = {line.turn_id: line for line in lines if line.turn_id}
    for turn_id in {*up.turns.values(), *ended}:
        turn = home.journal.header(str(turn_id))
        mine = [row for row in rows if row.turn_id == turn.id]
        _turn(up, turn, answers[turn.id], mine)
    return Counter(home.journal.header(turn).status.value for turn in up.turns.values())


def _turn(up: Aborting, turn: Turn, lines: list[Line], rows: list[UsageRow]) -> None:
    """A turn was answered whole, or stopped with a notice and at most what the vendor had said."""
    spoken = [line.text for line in lines if line.kind is LineKind.SPEECH]
    notices = [line for line in lines if line.kind is LineKind.SYSTEM]
    whole = [row for row in rows if row.state is CallState.COMPLETED]
    partial = [row for row in rows if row.state is CallState.CANCELLED]
    # One call ends the turn, and every other one was struck by a kill.
    assert len(whole) + len(partial) <= 1
    assert {row.state for row in rows} <= {
        CallState.COMPLETED,
        CallState.CANCELLED,
        CallState.UNKNOWN,
    }
    assert turn.allowance == 0
    if turn.status is TurnStatus.COMPLETED:
        (row,) = whole
        assert spoken == [up.vendor.asked[_number(row)].text.strip()]
        assert notices == []
        return
    assert turn.status is TurnStatus.STOPPED
    assert len(notices) == 1
    assert bool(spoken) <= len(partial)
    for text in spoken:
        source = next(each for each in up.vendor.asked if each.text.startswith(text))
        # The vendor notes a word when it was sent, so one more may have arrived.
        assert text.count("言葉") <= source.words + 1


def _number(row: UsageRow) -> int:
    """The number of the vendor's answer that a counted row is of."""
    return row.usage.input_tokens - FIRST_TOKENS


def _money(up: Aborting, home: Home, rows: list[UsageRow]) -> tuple[int, int]:
    """What is booked covers the vendor's bill, exactly where it counted, and fits the budget."""
    counted = [row for row in rows if row.state is CallState.COMPLETED]
    assert len({row.usage.input_tokens for row in counted}) == len(counted)
    for row in counted:
        assert row.usage.output_tokens == WORDS
        assert row.cost == PRICE.cost(row.usage)
    assert all(row.cost <= row.reserved for row in rows)
    assert all(row.cost == row.reserved for row in rows if row.state is CallState.UNKNOWN)
    # Every request that the vendor received is a row; a kill may fall before a request is sent.
    assert len(up.vendor.asked) <= len(rows)
    spent = sum(row.cost for row in rows)
    billed = sum(
        PRICE.cost(Usage(input_tokens=each.input_tokens, output_tokens=each.words))
        for each in up.vendor.asked
    )
    assert billed <= spent
    drawn = Counter[tuple[str, str]]()
    for row in rows:
        day = row.at.date().isoformat()
        drawn[agent_budget_scope(row.agent_id), day] += row.cost
        drawn[INSTALLATION, day] += row.cost
    for (scope, day), cost in drawn.items():
        limits = Limits()
        most = (
            limits.agent_day(None) if scope != INSTALLATION else limits.installation_day_micro_usd
        )
        assert home.budgets.drawn_micro_usd(scope, day) == cost <= most
    return spent, billed
