"""The trace of a turn, as the operator's tools are told of it once the turn has ended."""

from dataclasses import replace
from datetime import timedelta

import pytest

from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.domain.models.fault import Fault
from opencrab.domain.telemetry.turn_trace import TurnTrace
from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.consequence import TurnTrait
from opencrab.engine.telemetry.after_turn import TelemetryConsequence
from tests.contract.homes import HOMES
from tests.crash.outside import Reply
from tests.e2e.house import House

IN_HOMES = HOMES

WORDS = {Language.EN: "the tide is out", Language.JA: "干潮です"}
WRITE = ("ws_write", {"path": "tide.md", "content": "low"})


class Kept(list[TurnTrace]):
    """Traces that were exported."""

    def export(self, trace: TurnTrace) -> None:
        self.append(trace)


def telling(house: House, *, content: bool = False) -> Kept:
    """Let a house export its turns."""
    kept = Kept()
    consequences = CONSEQUENCES.followed_by(
        lambda: TelemetryConsequence(kept, content=content), {TurnTrait.ANY}
    )
    house.runtime = replace(house.runtime, consequences=consequences)
    return kept


@pytest.mark.parametrize("language", list(Language))
def test_a_turn_is_told_with_its_model_calls_and_actions(house: House, language: Language) -> None:
    kept, words = telling(house), WORDS[language]
    script = (Reply(fails=(Fault.OVERLOADED,), calls=(WRITE,)), Reply(words))
    agent = house.agent("crab", script, language)
    house.session(agent)
    (turn,) = house.say("潮は?")
    house.work()
    house.later(30)
    assert house.statuses((turn,)) == [TurnStatus.COMPLETED]

    (trace,) = kept
    assert trace.turn_id == turn.id
    assert [span.name for span in trace.calls] == [
        "chat crab",
        "chat crab",
        "execute_tool ws_write",
        "chat crab",
    ]
    failed, first, wrote, second = trace.calls
    assert (failed.error, first.error, wrote.error) == ("overloaded", "", "")
    assert second.attributes["gen_ai.usage.output_tokens"] == 20
    assert second.attributes["gen_ai.provider.name"] == "fake"
    spent = house.turn(turn.id).spent
    assert (
        sum(int(str(s.attributes.get("opencrab.cost.micro_usd", 0))) for s in trace.calls) == spent
    )
    assert trace.whole.attributes["opencrab.cost.micro_usd"] == spent
    assert trace.whole.attributes["gen_ai.agent.id"] == agent.id
    assert trace.whole.attributes["gen_ai.conversation.id"] == "s"
    told = repr(trace)
    assert words not in told
    assert "tide.md" not in told


def test_what_was_said_is_told_only_where_its_operator_wants_it(house: House) -> None:
    kept = telling(house, content=True)
    house.session(house.agent("crab", (Reply(calls=(WRITE,)), Reply("干潮です"))))
    house.say("潮は?")
    house.work()
    ((asked, wrote, said),) = (trace.calls for trace in kept)
    assert '"name": "ws_write"' in str(asked.attributes["gen_ai.output.messages"])
    assert "tide.md" in str(wrote.attributes["gen_ai.tool.call.arguments"])
    assert "干潮です" in str(said.attributes["gen_ai.output.messages"])


def test_a_turn_that_fails_is_told_as_failed(house: House) -> None:
    kept = telling(house)
    house.session(house.agent("crab", (Reply(fails=(Fault.AUTH,) * 99),)))
    house.say("hello")
    house.work()
    (trace,) = kept
    assert trace.whole.error == "failed"
    assert {span.error for span in trace.calls} == {"auth"}


def test_times_lie_within_the_turn(house: House) -> None:
    kept = telling(house)
    house.session(house.agent("crab", (Reply(calls=(WRITE,)), Reply("done"))))
    house.interrupt(lambda: house.clock.advance(2))
    house.say("hello")
    house.work()
    (trace,) = kept
    whole, times = trace.whole, [(span.started, span.ended) for span in trace.calls]
    assert all(whole.started <= began <= ended <= whole.ended for began, ended in times)
    assert times == sorted(times)
    assert whole.ended - whole.started >= timedelta(seconds=4)
