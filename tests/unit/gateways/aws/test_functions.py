"""Lambda's side: what becomes of a batch, and what logs and metrics tell of it."""

import json
import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from opencrab import __version__
from opencrab.domain.autonomy.vital_signs import VitalSigns, heartbeat_slot
from opencrab.domain.errors import Unavailable
from opencrab.domain.turn.turn import Trigger, Turn, TurnStatus
from opencrab.engine.agents.vital_signs import agent_vital_signs_document, create_agent_vital_signs
from opencrab.gateways.aws.functions import lambda_delivery_of_sqs_record
from tests.conftest import ROOT
from tests.contract.homes import sqlite
from tests.crash.outside import Reply
from tests.e2e.house import House
from tests.unit.gateways.function import SERVICE, Call, Function, body_of, own_log

SHORT = 20_000
JAPANESE, ENGLISH = "秘密の計画を教えて", "Tell me the secret plan"
ANSWERS = {JAPANESE: "計画は海です", ENGLISH: "The plan is the sea"}


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """A `LambdaLog` takes the whole process's log."""
    with own_log():
        yield


@pytest.fixture
def function(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Function]:
    """A function with an agent who answers in a session `s`."""
    house = House(sqlite, tmp_path)
    answers = tuple(Reply(text=text) for text in ANSWERS.values())
    house.session(house.agent("mika", answers[:1]))
    yield Function(house, capsys)
    house.close()


def events(wire: Path, name: str) -> dict[str, Any]:
    """An event as AWS publishes it."""
    found: dict[str, Any] = json.loads((wire / "aws-events" / f"{name}.json").read_text())
    return found


@pytest.mark.parametrize("text", [JAPANESE, ENGLISH])
def test_a_turn_that_ends_does_not_come_again(function: Function, text: str) -> None:
    assert function.turns(function.said(text)) == []
    assert [one.text for one in function.house.lines()][-1] == ANSWERS[JAPANESE]
    assert function.queue.given == []


def test_a_turn_without_time_is_named_and_given_back(function: Function) -> None:
    record = function.said(JAPANESE)
    assert function.turns(record, milliseconds=SHORT) == [record["messageId"]]
    assert function.queue.given == [(record["receiptHandle"], 2)]
    assert function.journal.claims == [], "this costs the turn none of its deliveries"


def test_a_deployment_lets_the_function_upgrade_the_data_once(function: Function) -> None:
    told = function.worker.upgrade({"upgrade": {"dry_run": True}}, Call())
    assert (told["ended"], told["before"]) == (True, None)
    assert told["migrations"][0]["changed"] == 1
    assert agent_vital_signs_document(function.house.home.facts, "mika") is None
    done = function.worker.upgrade({"upgrade": {}}, Call())
    assert (done["ended"], done["release"]) == (True, __version__)
    assert agent_vital_signs_document(function.house.home.facts, "mika") is not None
    again = function.worker.upgrade({"upgrade": {}}, Call())
    assert (again["before"], again["migrations"][0]["was_done"]) == (__version__, True)
    assert json.loads(json.dumps(again)) == again


TROUBLE = {"unexpected": RuntimeError(JAPANESE), "unavailable": Unavailable("no table")}


@pytest.mark.parametrize("error", TROUBLE.values(), ids=TROUBLE)
@pytest.mark.parametrize(("count", "seconds"), [(1, 2), (2, 4), (30, 60), (31, 60), (900, 60)])
def test_trouble_is_tried_again_later_and_later(
    function: Function, error: Exception, count: int, seconds: int
) -> None:
    function.journal.trouble["t"] = error
    record = function.record(body_of("t"), count=count)
    assert function.turns(record) == [record["messageId"]]
    assert function.queue.given == [(record["receiptHandle"], seconds)]


@pytest.mark.parametrize("error", TROUBLE.values(), ids=TROUBLE)
def test_trouble_with_the_queue_as_well_is_no_more_than_trouble(
    function: Function, error: Exception
) -> None:
    function.journal.trouble["t"] = error
    function.queue.silent = True
    record = function.record(body_of("t"))
    assert function.turns(record) == [record["messageId"]]
    assert function.log()[-1]["message"].startswith("cannot set retry delay")


def test_the_rest_of_a_group_waits_and_other_groups_go_on(function: Function) -> None:
    function.journal.trouble["bad"] = Unavailable("no table")
    records = [
        function.record(body_of(name), group=group)
        for name, group in (("a", "1"), ("bad", "2"), ("b", "1"), ("c", "2"), ("d", "3"))
    ]
    assert function.turns(*records) == [records[1]["messageId"], records[3]["messageId"]]
    assert function.journal.claims == ["a", "bad", "b", "d"]


def test_messages_without_a_group_do_not_wait_for_each_other(function: Function) -> None:
    function.journal.trouble["bad"] = Unavailable("no table")
    records = [function.record(body_of(name)) for name in ("bad", "good")]
    for record in records:
        del record["attributes"]["MessageGroupId"]
    assert function.turns(*records) == [records[0]["messageId"]]
    assert function.journal.claims == ["bad", "good"]


@pytest.mark.parametrize(
    "body", ['{"v":2,"turn":"t"}', '{"v":1}', "こんにちは", "[]", "null", '{"v":1,"turn":7}']
)
def test_a_message_of_an_unknown_version_ends_in_the_dead_letters(
    function: Function, body: str
) -> None:
    assert function.turns(function.record(body, group="海")) == []
    ((kept, group, reason),) = function.queue.buried
    assert (kept, group) == (body, "海")
    assert "malformed" in reason


@pytest.mark.parametrize(
    ("name", "count"),
    [("sam-sqs-receive-message", 1), ("powertools-sqsEvent", 2), ("powertools-snsSqsFifoEvent", 1)],
)
def test_official_events_that_are_none_of_ours_are_buried(
    function: Function, wire: Path, name: str, count: int
) -> None:
    event = events(wire, name)
    assert function.turns(*event["Records"]) == []
    assert [body for body, _, _ in function.queue.buried] == [
        record["body"] for record in event["Records"]
    ]
    assert len(function.queue.buried) == count


def test_an_official_event_is_read_as_sqs_means_it(wire: Path) -> None:
    (record,) = events(wire, "powertools-snsSqsFifoEvent")["Records"]
    delivery = lambda_delivery_of_sqs_record(record)
    assert (delivery.group, delivery.count) == ("powertools-test", 1)
    assert (delivery.body, delivery.receipt) == (record["body"], record["receiptHandle"])
    (record,) = events(wire, "sam-sqs-receive-message")["Records"]
    assert lambda_delivery_of_sqs_record(record).group == ""


def test_a_delivery_that_names_nothing_is_done(function: Function) -> None:
    event = {"Records": [function.record("wall:room\nt1#1", group="wall:room")]}
    assert function.worker.send_deliveries(event, Call()) == {"batchItemFailures": []}


def test_a_sweep_tells_what_it_found(function: Function) -> None:
    names = ("requeued", "freed", "resent", "admitted", "approvals", "beats", "returned", "queued")
    nothing = dict.fromkeys(names, 0)
    assert function.worker.sweep({}, Call()) == nothing
    assert function.log() == []
    function.house.say(JAPANESE)
    function.house.clock.advance(3_600)
    assert function.worker.sweep({}, Call()) == nothing | {"requeued": 1}
    (told,) = function.log()
    counts = "requeued=1, freed=0, resent=0, admitted=0, approvals=0, beats=0, returned=0, queued=0"
    assert told["message"] == f"sweep finished: {counts}"
    assert "session_id" not in told


def beat_of(agent_id: str, slot: int) -> str:
    return json.dumps({"v": 1, "agent": agent_id, "slot": slot})


def test_a_batch_of_beats_is_decided_one_by_one(function: Function) -> None:
    house = function.house
    profile = house.home.agents.get("mika")
    signs = create_agent_vital_signs(house.runtime, profile)
    slot = heartbeat_slot(signs.next_beat_at)
    house.clock.advance((signs.next_beat_at - house.clock.now()).total_seconds())
    bodies = (
        beat_of("nobody", slot),
        "こんにちは",
        beat_of("mika", slot + 9),
        *[beat_of("mika", slot)] * 2,
    )
    records = [function.record(body) for body in bodies]
    for record in records:
        del record["attributes"]["MessageGroupId"]
    answer = function.worker.run_heartbeats({"Records": records}, Call())
    assert answer == {"batchItemFailures": [{"itemIdentifier": records[2]["messageId"]}]}
    stored = agent_vital_signs_document(house.runtime.home.facts, "mika")
    assert stored is not None
    after = stored.read(VitalSigns)
    assert (after.slot, after.beats) == (slot, 1), "a slot fires once, however often it is told"
    ((kept, reason),) = house.home.beats.list_dead_letters(9)
    assert kept == "こんにちは"
    assert "malformed" in reason
    house.clock.advance(600)
    assert house.home.beats.receive(visibility_seconds=9, wait_seconds=0) is None, "no beat sends"


def test_each_line_of_a_turn_tells_whose_it_is(function: Function) -> None:
    record = function.said(JAPANESE)
    function.turns(record)
    turn_id = json.loads(record["body"])["turn"]
    told = [row for row in function.log() if "_aws" not in row]
    assert told
    for row in told:
        assert (row["turn_id"], row["agent_id"], row["session_id"]) == (turn_id, "mika", "s")
        assert (row["service"], row["level"]) == (SERVICE, "INFO")
        assert row["timestamp"]
    assert (
        told[-1]["message"]
        == "turn ended: status=completed, attempts=1, milliseconds=0, spent_micro_usd=253"
    )


def test_the_next_message_is_not_told_under_the_last_ones_ids(function: Function) -> None:
    function.turns(function.said(JAPANESE))
    function.log()
    function.journal.trouble["t"] = Unavailable("no table")
    function.turns(function.record(body_of("t"), group="another"))
    (told,) = function.log()
    assert told["session_id"] == "another"
    assert not {"turn_id", "agent_id"} & told.keys()


@pytest.mark.parametrize("text", [JAPANESE, ENGLISH])
def test_no_line_tells_what_anybody_said(function: Function, text: str) -> None:
    record = function.said(text)
    turn_id = json.loads(record["body"])["turn"]
    function.journal.trouble[turn_id] = ValueError(f"cannot take {text!r}")
    assert function.turns(record)
    function.journal.trouble.clear()
    function.turns(record)
    told = json.dumps(function.log(), ensure_ascii=False)
    assert "ValueError" in told
    assert not [words for words in (text, *ANSWERS.values()) if words in told]


def failing(text: str) -> None:
    """Fail because of something that failed, both with words of a person."""
    try:
        dict[str, str]()[text]
    except KeyError as error:
        raise ValueError(text) from error


def exception_told(function: Function, text: str) -> dict[str, Any]:
    function.lambda_log.set_context()
    try:
        failing(text)
    except ValueError:
        logging.getLogger("opencrab").exception("internal error")
    (told,) = function.log()
    return told


def test_an_error_tells_where_it_happened_and_what_caused_it(function: Function) -> None:
    told = exception_told(function, JAPANESE)
    assert (told["message"], told["exception_name"]) == ("internal error", "ValueError")
    for word in ("ValueError", "KeyError", "in failing", "test_functions.py"):
        assert word in told["exception"]
    assert JAPANESE not in json.dumps(told, ensure_ascii=False)


def test_who_debugs_sees_an_errors_own_words(function: Function) -> None:
    function.level = logging.DEBUG
    assert JAPANESE in exception_told(function, JAPANESE)["exception"]


@pytest.mark.parametrize(
    ("level", "told"),
    [
        (logging.DEBUG, ["fine", "well", "hm", "no"]),
        (logging.INFO, ["well", "hm", "no"]),
        (logging.WARNING, ["hm", "no"]),
        (logging.ERROR, ["no"]),
    ],
)
def test_the_level_says_how_much_is_told(function: Function, level: int, told: list[str]) -> None:
    function.level = level
    function.lambda_log.set_context()
    log = logging.getLogger("opencrab.engine")
    log.debug("fine")
    log.info("well")
    log.warning("hm")
    log.error("no")
    logging.getLogger("botocore.endpoint").debug("a whole request")
    assert [row["message"] for row in function.log()] == told


def metrics(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines that CloudWatch makes metrics of."""
    return [row for row in rows if "_aws" in row]


@pytest.mark.parametrize(
    ("status", "failures"),
    [(TurnStatus.COMPLETED, []), (TurnStatus.FAILED, [[1.0]]), (TurnStatus.EXHAUSTED, [[1.0]])],
)
def test_a_summary_that_was_not_made_is_counted_as_a_failure(
    function: Function, status: TurnStatus, failures: list[list[float]]
) -> None:
    record = function.said(ENGLISH)
    function.turns(record)
    turn = function.house.turn(json.loads(record["body"])["turn"])
    function.log()
    ended = turn.replaced(trigger=Trigger.COMPACTION, status=status)
    function.lambda_log.on_turn(ended)
    counted = metrics(function.log())
    name = "CompactionFailures"
    assert [each[name] for each in counted if name in each] == failures
    function.lambda_log.on_turn(turn)
    assert not any(name in each for each in metrics(function.log()))


def test_an_ended_turn_is_counted_once(function: Function) -> None:
    record = function.said(ENGLISH)
    function.turns(record)
    function.turns(record)
    (counted,) = metrics(function.log())
    turn = function.house.turn(json.loads(record["body"])["turn"])
    assert turn.spent > 0
    assert counted["SpentMicroUsd"] == [float(turn.spent)]
    assert counted["service"] == SERVICE


def test_a_running_turn_is_not_counted(function: Function) -> None:
    turn = function.house.say(JAPANESE)[0]
    for status in (TurnStatus.RUNNING, TurnStatus.WAITING):
        function.lambda_log.on_turn(turn.replaced(status=status))
    assert metrics(function.log()) == []


@pytest.mark.parametrize(("seconds", "milliseconds"), [(1.5, 1_500.0), (-1, 0.0)])
def test_the_line_of_an_ended_turn_says_how_it_ended_and_how_long_it_took(
    function: Function, seconds: float, milliseconds: float
) -> None:
    turn = function.house.say(JAPANESE)[0]
    ended = {"status": TurnStatus.FAILED, "ended_at": at(turn, seconds), "spent": 7}
    function.lambda_log.on_turn(turn.replaced(**ended))
    (line,) = [row["message"] for row in function.log() if "message" in row]
    assert f"status=failed, attempts=0, milliseconds={milliseconds:.0f}, spent_micro_usd=7" in line


def test_a_turn_that_cost_nothing_writes_no_metric(function: Function) -> None:
    turn = function.house.say(JAPANESE)[0]
    function.lambda_log.on_turn(turn.replaced(status=TurnStatus.IDLE, ended_at=turn.created_at))
    assert metrics(function.log()) == []


def at(turn: Turn, seconds: float) -> datetime:
    """So long after a turn began; a clock may be behind another."""
    return turn.created_at + timedelta(seconds=seconds)


def test_what_the_budgets_alarm_watches_is_what_is_counted(function: Function) -> None:
    template = (ROOT / "infra" / "observability.yaml").read_text()
    alarm = template.partition("\n  BudgetAlarm:\n")[2].partition("\n\n")[0]
    turn = function.house.say(JAPANESE)[0]
    ended = {"status": TurnStatus.IDLE, "ended_at": turn.created_at, "spent": 1}
    function.lambda_log.on_turn(turn.replaced(**ended))
    (counted,) = metrics(function.log())
    (directive,) = counted["_aws"]["CloudWatchMetrics"]
    assert f"Namespace: {directive['Namespace']}\n" in alarm
    assert directive["Dimensions"] == [["service"]]
    assert 'Dimensions: [{ Name: service, Value: !Sub "opencrab-${Stage}" }]' in alarm
    assert counted["service"] == SERVICE
    (watched,) = (row.split(": ")[1] for row in alarm.splitlines() if "MetricName" in row)
    assert watched in {metric["Name"] for metric in directive["Metrics"]}
