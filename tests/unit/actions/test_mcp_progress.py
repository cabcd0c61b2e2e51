"""Progress of a real MCP server's call in a whole turn: owners see it, models never do."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Event
from time import monotonic

from opencrab.adapters.answer_hub import AnswerHub
from opencrab.domain.conversation.message import LineKind
from opencrab.domain.turn.record import CallState
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.engine.conversation.live import LiveFollower, VisibleKinds, WatchTarget
from opencrab.engine.turn.control import stop_turn
from tests.crash.scenarios import message
from tests.unit.actions.test_mcp import ADD, Lab
from tests.unit.engine.test_calls import DONE, call

OWNERS = VisibleKinds(kinds=frozenset({LineKind.ACTION, LineKind.SPEECH}), private=True)


def watch(lab: Lab, hub: AnswerHub) -> LiveFollower:
    """An owner who watches the agent."""
    lab.crab()
    lab.house.runtime = replace(lab.house.runtime, answers=hub)
    feed = lab.house.home.feed
    assert feed is not None
    following = LiveFollower(lab.house.runtime, feed, 5)
    following.begin(WatchTarget(kind="agent", id="crab"), OWNERS, None)
    return following


def test_an_owner_who_watches_is_told_how_far_a_call_has_come(tmp_path: Path) -> None:
    with closing(Lab(tmp_path, "progress")) as lab:
        lab.trust("add", effect="pure")
        following = watch(lab, AnswerHub())
        turn = lab.turn(call(ADD, a=1, b=2), DONE)
        assert turn.status is TurnStatus.COMPLETED
        assert lab.results(turn)[0].result.data == {"server": "kani", "text": "合計 3"}
        events = list(following.new_events())
        (told,) = [each for each in events if each["type"] == "CUSTOM"]
        assert told["name"] == "progress"
        assert told["metadata"]["runId"] == turn.id
        assert (told["value"]["toolCallName"], told["value"]["total"]) == (ADD, 4)
        # What it says of its progress is kept nowhere, and in no prompt.
        assert len(lab.house.provider.seen) == 2
        assert "🦀" not in str(lab.house.provider.seen)
        assert "🦀" not in str(lab.house.home.journal.load(turn.id).records)
        assert "🦀" not in str(lab.house.lines())


def test_a_turn_that_is_stopped_cancels_its_call_and_ends(tmp_path: Path) -> None:
    with closing(Lab(tmp_path, "stuck", timeout_seconds=30)) as lab:
        lab.trust("add")
        turns = list[Turn]()

        def stop(_session_id: str) -> None:
            turn_id = message("潮は?", "m1", None).turn_in("s", "crab")
            turns.append(stop_turn(lab.house.runtime, turn_id, by="owner"))

        following = watch(lab, AnswerHub(stop))
        turn = lab.turn(call(ADD, a=1, b=2), DONE)
        assert turn.status is TurnStatus.STOPPED
        assert [each.state for each in lab.results(turn)] == [CallState.UNKNOWN]
        assert turns
        assert following.targets()
        heard, deadline = lab.book.with_suffix(".cancelled"), monotonic() + 60
        while not heard.exists():  # the server writes it when it hears of it
            assert monotonic() < deadline
            Event().wait(0.02)
