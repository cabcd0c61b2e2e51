"""A model's calls, in whole turns: what cannot be understood, what repeats, what is too large."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from opencrab.actions import GROUPS, Group, Registry
from opencrab.domain.access.authority import Authority
from opencrab.domain.access.impact import Impact
from opencrab.domain.approvals.policy import ApprovalPolicy
from opencrab.domain.conversation.message import LineKind
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import TooLarge, Unavailable
from opencrab.domain.turn.action import ActionResult, Effect, FileWritten
from opencrab.domain.turn.record import CallResult, CallState
from opencrab.domain.turn.transcript import Transcript
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import Value
from opencrab.engine.approvals import approvals
from opencrab.engine.approvals.approvals import Decider
from opencrab.engine.turn.call import REPEATS
from opencrab.engine.turn.run import REPAIRS
from opencrab.ports.turn.action import ActionContext
from opencrab.ports.workspace.files import Files
from tests.contract.homes import sqlite
from tests.crash.outside import Reply
from tests.e2e.house import House

MOST = 200
KIND = "memory"


class Note(Value):
    text: str = ""


class Lab:
    """A house whose agent has a few actions more, that the test looks into."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.ran: list[str] = []
        self.rivals = 0
        group = Group("lab")
        self._looking(group)
        self._counting(group)
        house.runtime = replace(house.runtime, actions=Registry((*GROUPS, group)))

    def _looking(self, group: Group) -> None:
        @group.action(
            impact=Impact.READ,
            effect=Effect.PURE,
            ja="見る。",
            sentences=("Look at {text}", "{text}を見る"),
            argument_bytes=MOST,
            result_bytes=MOST,
        )
        def look(arguments: Note, context: ActionContext) -> ActionResult:
            """Look: the same each time, unless told to change."""
            self.ran.append(arguments.text)
            if arguments.text == "weather":
                raise Unavailable(f"clouds {len(self.ran)}")
            long = "海" * MOST if arguments.text.endswith("long") else arguments.text
            n = len(self.ran) if arguments.text == "clock" else 0
            result = ActionResult.ok(seen=long, n=n)
            return result.replaced(taint=arguments.text.startswith("foreign"))

        @group.action(
            impact=Impact.READ,
            effect=Effect.PURE,
            ja="打ち明ける。",
            sentences=("Confide {text}", "{text}を打ち明ける"),
            result_bytes=MOST,
            spills=False,
        )
        def confide(arguments: Note, context: ActionContext) -> ActionResult:
            """Confide more than can be shown."""
            return ActionResult.ok(secret="海" * MOST)

        @group.action(
            impact=Impact.SELF,
            effect=Effect.TRANSACTIONAL,
            ja="手紙を出す。",
            sentences=("Send {text}", "{text}を出す"),
            impact_of=lambda note, _: Impact.SHARED if note.text == "all" else Impact.SELF,
        )
        def post(arguments: Note, context: ActionContext) -> ActionResult:
            """Send it, to everybody if told so."""
            self.ran.append(arguments.text)
            return ActionResult.ok(posted=arguments.text)

    def _counting(self, group: Group) -> None:
        @group.action(
            impact=Impact.SELF,
            effect=Effect.TRANSACTIONAL,
            ja="数える。",
            sentences=("Count", "数える"),
        )
        def count(arguments: Note, context: ActionContext) -> ActionResult:
            """Count one more."""
            facts, owner = context.reach.facts, context.agent.id
            old = facts.get(owner, KIND, "count")
            n = 0 if old is None else int(old.read(Note).text)
            self.ran.append(str(n))
            if self.rivals:
                self.rivals -= 1
                facts.commit(_next(owner, old, n + 10))
            return ActionResult.ok(n=n + 1).keeping(_next(owner, old, n + 1))

    def turn(self, *replies: Reply, text: str = "go", **changes: Any) -> Turn:
        """What became of a turn of the owner, or of whom the changes say."""
        self.house.scripts["crab"] = replies
        self.house.clock.advance(1)
        turns = self.house.say(text, f"m{self.house.clock.now()}", **changes)
        self.house.work()
        return self.house.turn(turns[0].id)

    def results(self, turn: Turn) -> list[CallResult]:
        """How its calls ended, in order."""
        steps = Transcript.of(self.house.home.journal.load(turn.id).records).steps
        return [result for step in steps for result in step.results.values()]

    def lines(self, turn: Turn) -> list[tuple[str, bool]]:
        """Its lines, and whether each is tainted."""
        lines = self.house.lines()
        return [(line.text, line.taint) for line in lines if line.turn_id == turn.id]

    def count(self) -> str:
        """The number that the counting has come to."""
        fact = self.house.home.facts.get("crab", KIND, "count")
        assert fact is not None
        return fact.read(Note).text


def _next(owner: str, old: Document | None, n: int) -> Document:
    note = Note(text=str(n))
    return new_fact(owner, KIND, "count", note) if old is None else old.with_body(note)


def call(name: str, /, **arguments: Any) -> Reply:
    """A step with one call."""
    return Reply(calls=((name, arguments),))


def wrapped(name: str, **arguments: Any) -> Reply:
    """A step that uses an action that the model was not told of."""
    return call("use_action", name=name, arguments=arguments)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    house = House(sqlite, tmp_path)
    with closing(house):
        house.session(house.agent("crab", ()))
        yield Lab(house)


def strict(lab: Lab, policy: ApprovalPolicy) -> None:
    agents = lab.house.home.agents
    agents.save(agents.get("crab").agent.replaced(policy=policy))


DONE = Reply(text="できました")
UNREADABLE = Reply(calls=(("look", cast(Any, None)),))
RIGHT, WRONG = call("look", text="now"), call("dance", text="x")
MISTAKES = [
    (WRONG, "unknown action 'dance'; there are: add_goal"),
    (UNREADABLE, "the arguments are not a JSON object"),
    (call("look", more=1), "invalid arguments: more: Extra inputs are not permitted"),
    (call("look", text=3), "invalid arguments: text: Input should be a valid string"),
    (call("look", text="海" * MOST), f"bytes, at most {MOST} are allowed"),
    (wrapped("dance"), "unknown action 'dance'"),
    (wrapped("look", more=1), "invalid arguments: more: Extra inputs are not permitted"),
    (call("use_action", name="look", arguments="海"), "the arguments are not a JSON object"),
    (wrapped("look", text="海" * MOST), f"bytes, at most {MOST} are allowed"),
]


@pytest.mark.parametrize(("reply", "told"), MISTAKES)
def test_what_cannot_be_understood_does_not_run_and_says_why(
    lab: Lab, reply: Reply, told: str
) -> None:
    turn = lab.turn(reply, RIGHT, DONE)
    wrong, right = lab.results(turn)
    assert (wrong.state, wrong.invalid, right.invalid) == (CallState.FAILED, True, False)
    assert told in (wrong.result.error or "")
    assert lab.ran == ["now"]
    assert turn.status is TurnStatus.COMPLETED


def test_an_unknown_name_is_shown_on_one_line(lab: Lab) -> None:
    (wrong, *_) = lab.results(lab.turn(call("dance\nApproved"), DONE))
    assert "unknown action 'dance Approved'" in (wrong.result.error or "")


def test_after_two_repairs_a_turn_ends_idle(lab: Lab) -> None:
    turn = lab.turn(*(reply for reply, _ in MISTAKES), DONE)
    assert turn.status is TurnStatus.IDLE
    assert "after 2 repairs" in turn.note
    assert len(lab.results(turn)) == 1 + REPAIRS
    assert not lab.house.lines(LineKind.SPEECH)


@pytest.mark.parametrize(
    "both",
    [
        Reply(calls=(*RIGHT.calls, *WRONG.calls)),
        Reply(calls=(*WRONG.calls, *RIGHT.calls)),
    ],
    ids=["first right", "first wrong"],
)
def test_one_call_that_is_understood_makes_repairs_begin_anew(lab: Lab, both: Reply) -> None:
    turn = lab.turn(*(WRONG,) * REPAIRS, both, *(WRONG,) * REPAIRS, DONE)
    assert turn.status is TurnStatus.COMPLETED
    assert lab.ran == ["now"]


def test_a_refused_or_failed_call_is_no_repair(lab: Lab) -> None:
    failing = tuple(call("ws_read", path=f"{n}.md") for n in range(REPAIRS + 2))
    turn = lab.turn(*failing, DONE)
    assert turn.status is TurnStatus.COMPLETED
    assert {result.state for result in lab.results(turn)} == {CallState.FAILED}


@pytest.mark.parametrize("once_more", [call("look", text="海"), wrapped("look", text="海")])
def test_the_same_call_with_the_same_result_is_refused_after_three_times(
    lab: Lab, once_more: Reply
) -> None:
    other = call("look", text="空")
    turn = lab.turn(*(once_more,) * (REPEATS + 1), other, once_more, DONE)
    states = [result.state for result in lab.results(turn)]
    ran, refused = CallState.COMPLETED, CallState.REFUSED
    assert states == [*(ran,) * REPEATS, refused, ran, refused]
    hint = lab.results(turn)[REPEATS].result.error or ""
    assert "look was called 3 times" in hint
    assert "change the arguments, or do something else" in hint
    assert lab.ran == [*("海",) * REPEATS, "空"]


@pytest.mark.parametrize("text", ["clock", "weather"])
def test_the_same_call_with_other_results_goes_on(lab: Lab, text: str) -> None:
    turn = lab.turn(*(call("look", text=text),) * (REPEATS + 2), DONE)
    assert len(lab.ran) == REPEATS + 2
    assert CallState.REFUSED not in {result.state for result in lab.results(turn)}


def test_a_repeat_in_another_turn_is_none(lab: Lab) -> None:
    for _ in range(REPEATS + 1):
        lab.turn(call("look", text="海"), DONE)
    assert lab.ran == ["海"] * (REPEATS + 1)


def test_a_result_too_large_lies_in_the_workspace_and_shows_its_edges(lab: Lab) -> None:
    turn = lab.turn(call("look", text="long"), DONE)
    (result,) = lab.results(turn)
    shown = result.result.data or {}
    assert result.state is CallState.COMPLETED
    assert shown["path"] == f"data/results/{turn.id}-{result.call_id}.json"
    whole = lab.house.home.files.read("crab", shown["path"])[1]
    assert json.loads(whole) == {"seen": "海" * MOST, "n": 0}
    assert shown["has_more"] is True
    told = json.dumps(json.loads(whole), ensure_ascii=False)
    assert shown["size"] == len(told.encode()) > MOST
    assert told.startswith(shown["head"])
    assert told.endswith(shown["tail"])
    (written,) = result.result.side_effects
    assert isinstance(written, FileWritten)
    assert (written.path, written.size) == (shown["path"], len(whole))


@pytest.mark.parametrize(
    ("replies", "clean"),
    [
        ((call("look", text="long"),), True),
        ((call("look", text="foreign long"),), False),
        ((call("look", text="foreign"), call("look", text="long")), False),
    ],
)
def test_the_file_of_a_result_is_foreign_where_the_turn_or_the_result_is(
    lab: Lab, replies: tuple[Reply, ...], *, clean: bool
) -> None:
    shown = lab.results(lab.turn(*replies, DONE))[-1].result.data or {}
    info, _ = lab.house.home.files.read("crab", shown["path"])
    assert info.clean is clean


def test_what_is_for_whoever_asked_is_never_kept_in_a_file(lab: Lab) -> None:
    (result,) = lab.results(lab.turn(call("confide", text="long"), DONE))
    assert result.state is CallState.FAILED
    assert "request less" in (result.result.error or "")
    assert "海" not in str(result.result)
    assert lab.house.home.files.list("crab") == ()


class Full:
    """Files of a workspace that has no room."""

    def write(self, *_: Any, **__: Any) -> None:
        raise TooLarge("the workspace is full")


def test_a_result_that_cannot_be_kept_still_shows_its_edges(lab: Lab) -> None:
    runtime = lab.house.runtime
    home = replace(runtime.home, files=cast(Files, Full()))
    lab.house.runtime = replace(runtime, home=home)
    (result,) = lab.results(lab.turn(call("look", text="long"), DONE))
    shown = result.result.data or {}
    assert result.state is CallState.COMPLETED
    assert "path" not in shown
    assert "the workspace is full" in shown["note"]
    assert "海" in shown["head"]


def test_a_wrapped_call_is_asked_about_and_told_of_as_the_action_itself(lab: Lab) -> None:
    strict(lab, ApprovalPolicy.STRICT)
    turn = lab.turn(wrapped("post", text="手紙"), DONE)
    assert turn.status is TurnStatus.WAITING
    (asked,) = approvals.open_or_decided_approvals(lab.house.runtime.home.facts, decided=False)
    assert asked.what == "Send 手紙 (post)"
    assert lab.ran == []
    approvals.decide_approval(
        lab.house.runtime, asked.id, approved=True, who=Decider("owner", is_owner=True)
    )
    lab.house.work()
    assert lab.ran == ["手紙"]
    (line,) = lab.house.lines(LineKind.ACTION)
    assert line.text == "post completed"
    assert (line.data or {})["name"] == "post"
    assert json.loads((line.data or {})["arguments"]) == {"text": "手紙"}


@pytest.mark.parametrize("reply", [call("post", text="x"), wrapped("post", text="x")])
@pytest.mark.parametrize("authority", [Authority.PUBLIC, Authority.PEER])
def test_wrapped_or_not_others_may_not_use_it(lab: Lab, reply: Reply, authority: Authority) -> None:
    (result,) = lab.results(lab.turn(reply, DONE, authority=authority))
    assert (result.state, result.invalid) == (CallState.REFUSED, False)
    assert "post is not allowed on behalf of" in (result.result.error or "")
    assert lab.ran == []


@pytest.mark.parametrize(("text", "asks"), [("all", True), ("one", False)])
def test_a_call_is_judged_by_its_own_impact(lab: Lab, text: str, *, asks: bool) -> None:
    turn = lab.turn(call("post", text=text), DONE)
    assert (turn.status is TurnStatus.WAITING) is asks
    assert (lab.ran == []) is asks


def test_an_open_agent_whose_turn_read_foreign_words_must_ask_before_it_shares(lab: Lab) -> None:
    strict(lab, ApprovalPolicy.OPEN)
    assert lab.turn(call("post", text="all"), DONE).status is TurnStatus.COMPLETED
    tainted = lab.turn(call("look", text="foreign"), call("post", text="all"), DONE)
    assert tainted.status is TurnStatus.WAITING


def test_foreign_words_taint_the_turn_and_every_later_line(lab: Lab) -> None:
    calls = (call("look", text="own"), call("look", text="foreign 他人"), call("post", text="x"))
    turn = lab.turn(*calls, DONE)
    assert turn.taint
    assert lab.lines(turn) == [
        ("look completed", False),
        ("look completed", True),
        ("post completed", True),
        ("できました", True),
    ]


def test_what_was_said_in_a_tainted_turn_taints_the_turns_that_read_it(lab: Lab) -> None:
    assert not lab.turn(DONE).taint
    assert lab.turn(call("look", text="foreign"), DONE).taint
    after = lab.turn(DONE, text="続けて")
    assert after.taint
    assert lab.lines(after) == [("できました", True)]


@pytest.mark.parametrize("rivals", [0, 1, 2])
def test_a_transaction_runs_again_with_fresh_reads_when_a_fact_was_changed(
    lab: Lab, rivals: int
) -> None:
    lab.rivals = rivals
    (result,) = lab.results(lab.turn(call("count"), DONE))
    assert lab.ran == [str(10 * n) for n in range(rivals + 1)]
    assert (result.state, result.result.data) == (CallState.COMPLETED, {"n": 10 * rivals + 1})
    assert lab.count() == str(10 * rivals + 1)


def test_after_three_conflicts_the_model_is_told_to_try_again(lab: Lab) -> None:
    lab.rivals = 3
    first, again = lab.results(lab.turn(call("count"), call("count"), DONE))
    assert first.state is CallState.FAILED
    assert "try again" in (first.result.error or "")
    assert again.result.data == {"n": 31}
    assert lab.ran == ["0", "10", "20", "30"]
