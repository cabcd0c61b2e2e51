"""The door: what is not genuine, fresh and new is not queued, and what was acknowledged is."""

import json

import pytest

from opencrab.gateways.door.door import (
    MOST_BYTES,
    REMEMBERED,
    api_gateway_result_of_signed_request,
    signed_request_of_api_gateway,
)
from opencrab.gateways.door.request import SignedRequest
from tests.cases import for_each
from tests.unit.gateways.door.visiting import NOW, SECRET, Visit, said, signed, standard

BODY = '{"text":"蟹が来ました"}'.encode()


@pytest.fixture
def visit() -> Visit:
    return Visit({"ci": standard()})


def test_a_signed_request_is_queued_and_acknowledged(visit: Visit) -> None:
    answer = visit.ask("ci", signed(BODY), BODY)
    assert (answer.status, said(answer)) == (202, {"id": "msg_1"})
    (event,) = visit.events
    assert (event.kind, event.name, event.event.id) == ("webhook", "ci", "msg_1")
    assert event.event.text == BODY.decode()


def test_an_exact_repeat_is_acknowledged_again_and_queued_once(visit: Visit) -> None:
    headers = signed(BODY)
    assert [visit.ask("ci", headers, BODY).status for _ in range(3)] == [202] * 3
    assert len(visit.queued) == 1
    again = Visit(visit.webhooks)  # another process remembers nothing, and the queue compares ids
    again.ask("ci", headers, BODY)
    assert again.queued == visit.queued


def test_the_names_in_the_queue_fit_it_whatever_the_sender_chose(visit: Visit) -> None:
    odd = "msg_/<>&" + "x" * 190
    assert visit.ask("ci", signed(BODY, event_id=odd), BODY).status == 202
    ((_, group, deduplication),) = visit.queued
    assert all(each.isalnum() and len(each) == 64 for each in (group, deduplication))


def test_unknown_names_and_wrong_signatures_are_answered_alike(visit: Visit) -> None:
    wrong = signed(BODY, secrets=("whsec_AAAA",))
    known = visit.ask("ci", wrong, BODY)
    assert visit.ask("nobody", wrong, BODY) == known
    assert visit.ask("nobody", signed(BODY), BODY) == known
    assert visit.ask("../etc", signed(BODY), BODY) == known
    assert visit.ask("ci", {}, BODY) == known
    assert visit.door.answer(SignedRequest("line", "", {}, BODY, NOW)) == known
    assert known.status == 401
    assert SECRET not in known.content.decode()
    assert visit.queued == []
    # Both were looked up and compared: the time that it takes tells no more.
    assert ("webhooks", "webhook", "nobody") in visit.looked_up


@for_each("seconds", [-301, 301, 86_400])
def test_a_stale_request_is_refused_before_anything_is_looked_up(
    visit: Visit, seconds: float
) -> None:
    answer = visit.ask("ci", signed(BODY, at=NOW + seconds), BODY)
    assert answer.status == 401
    assert "5 minutes" in said(answer)["error"]
    assert (visit.looked_up, visit.queued) == ([], [])


@for_each("seconds", [-299, 0, 299])
def test_clocks_may_differ_by_five_minutes(visit: Visit, seconds: float) -> None:
    assert visit.ask("ci", signed(BODY, at=NOW + seconds), BODY).status == 202


@for_each("timestamp", ["", "now", "1e9", "-1", "9" * 13, "\uff11" * 10])
def test_a_timestamp_that_is_no_number_is_stale(visit: Visit, timestamp: str) -> None:
    assert visit.ask("ci", {**signed(BODY), "webhook-timestamp": timestamp}, BODY).status == 401


def test_a_body_that_is_too_large_is_refused_unread(visit: Visit) -> None:
    body = json.dumps("x" * (MOST_BYTES - 2)).encode()
    assert visit.ask("ci", signed(body), body).status == 202
    answer = visit.ask("ci", signed(body + b" "), body + b" ")
    assert answer.status == 413
    assert str(MOST_BYTES) in said(answer)["error"]
    # A message of SQS holds the largest one.
    assert len(visit.queued[0][0].encode()) < 1 << 18


def test_a_form_that_no_queue_holds_as_json_is_refused(visit: Visit) -> None:
    body = b"said=" + b'"' * (MOST_BYTES - 5)
    answer = visit.ask(
        "ci", {**signed(body), "content-type": "application/x-www-form-urlencoded"}, body
    )
    assert answer.status == 413
    assert str(MOST_BYTES) in said(answer)["error"]
    assert visit.queued == []


@for_each("body", [b"", b"{", b"\xff\xfe", b"[" * 100_000])
def test_a_signed_body_that_is_not_json_is_said_to_be_none(visit: Visit, body: bytes) -> None:
    answer = visit.ask("ci", signed(body), body)
    assert answer.status == 400
    assert "JSON" in said(answer)["error"]
    assert visit.queued == []


@for_each("broken", ["document", "send"])
def test_what_cannot_be_stored_is_not_acknowledged_and_comes_again(
    broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    visit = Visit({"ci": standard()}, broken=broken)
    headers = signed(BODY)
    answer = visit.ask("ci", headers, BODY)
    assert answer.status == 503
    assert visit.ask("nobody", headers, BODY).status == (503 if broken == "document" else 401)
    assert "蟹" not in caplog.text
    assert SECRET not in caplog.text
    assert visit.queued == []
    visit.broken = ""
    assert visit.ask("ci", headers, BODY).status == 202
    assert len(visit.queued) == 1


def test_kinds_that_are_off_have_no_door() -> None:
    visit = Visit({"ci": standard()}, kinds=())
    assert visit.ask("ci", signed(BODY), BODY).status == 401
    assert visit.queued == []


def test_it_remembers_the_newest_only(visit: Visit) -> None:
    for number in range(REMEMBERED + 1):
        body = b"{}"
        visit.ask("ci", signed(body, event_id=f"m{number}"), body)
    visit.ask("ci", signed(b"{}", event_id="m1"), b"{}")
    assert len(visit.queued) == REMEMBERED + 1
    visit.ask("ci", signed(b"{}", event_id="m0"), b"{}")
    assert len(visit.queued) == REMEMBERED + 2


def test_it_reads_the_events_of_api_gateway(visit: Visit) -> None:
    event = {
        "headers": {name.title(): text for name, text in signed(BODY).items()},
        "pathParameters": {"name": "ci"},
        "body": BODY.decode(),
    }
    request = signed_request_of_api_gateway(event, NOW)
    result = api_gateway_result_of_signed_request(visit.door.answer(request))
    assert (result["statusCode"], json.loads(result["body"])) == (202, {"id": "msg_1"})
    of_kind = signed_request_of_api_gateway({"pathParameters": {"kind": "line"}}, NOW)
    assert (of_kind.kind, of_kind.name, of_kind.body) == ("line", "", b"")
    broken = {"body": "%", "isBase64Encoded": True, "headers": None, "pathParameters": None}
    assert signed_request_of_api_gateway(broken, NOW).body == b""
    assert visit.door.answer(signed_request_of_api_gateway(broken, NOW)).status == 401
