"""Webhooks: each scheme takes what its secret proves, and nothing that only looks like it."""

import json

import pytest

from tests.cases import for_each
from tests.unit.gateways.door.visiting import (
    NOW,
    OLD,
    SECRET,
    TOKEN,
    Visit,
    bearer,
    github,
    hub_signed,
    said,
    signed,
    standard,
)

BODY = b'{"ref":"refs/heads/main"}'


@pytest.fixture
def visit() -> Visit:
    rotated = standard(previous=[OLD], previous_until=NOW + 60)
    known = {"ci": standard(), "turned": rotated, "hub": github(), "game": bearer()}
    return Visit(known)


def test_the_example_of_the_specification_is_accepted(visit: Visit) -> None:
    # The secret, id, time, body and signature that its documentation shows.
    body = b'{"test": 2432232314}'
    headers = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    assert visit.ask("ci", headers, body, now=1_614_265_330).status == 202


def test_one_of_several_signatures_is_enough(visit: Visit) -> None:
    headers = signed(BODY, secrets=("whsec_AAAA", SECRET))
    headers["webhook-signature"] = f"v1a,b2RkCg== nonsense {headers['webhook-signature']}"
    assert visit.ask("ci", headers, BODY).status == 202


def test_an_earlier_secret_counts_until_its_time_is_over(visit: Visit) -> None:
    assert visit.ask("turned", signed(BODY), BODY).status == 202
    assert visit.ask("turned", signed(BODY, secrets=(OLD,), event_id="2"), BODY).status == 202
    later = NOW + 61
    old = signed(BODY, secrets=(OLD,), event_id="3", at=later)
    assert visit.ask("turned", old, BODY, now=later).status == 401


@for_each("changed", ["webhook-id", "webhook-timestamp", "body"])
def test_what_is_signed_cannot_be_changed(visit: Visit, changed: str) -> None:
    headers, body = signed(BODY), BODY
    if changed == "body":
        body = BODY.replace(b"main", b"evil")
    else:
        headers[changed] = f"{headers[changed][:-1]}9"
    assert visit.ask("ci", headers, body).status == 401


@for_each(
    "headers",
    [
        {"webhook-signature": "v1," + "A" * 5_000},
        {"webhook-signature": "v1,日本"},
        {"webhook-id": ""},
        {"webhook-id": "x" * 201},
        {"webhook-id": "a b"},
        {"webhook-id": "a\n"},
    ],
)
def test_malformed_headers_prove_nothing(visit: Visit, headers: dict[str, str]) -> None:
    body_id = headers.get("webhook-id", "msg_1")
    assert visit.ask("ci", {**signed(BODY, event_id=body_id), **headers}, BODY).status == 401


def test_a_push_of_github_is_taken_by_what_is_signed(visit: Visit) -> None:
    answer = visit.ask("hub", hub_signed(BODY, **{"x-github-delivery": "one"}), BODY)
    assert answer.status == 202
    (event,) = visit.events
    assert event.event.notes == {"event": "push"}
    # The id of a delivery is not signed: whoever recorded the request cannot send it as a new one.
    assert visit.ask("hub", hub_signed(BODY, **{"x-github-delivery": "two"}), BODY).status == 202
    assert len(visit.queued) == 1
    assert visit.ask("hub", hub_signed(BODY, secret="guess"), BODY).status == 401
    assert visit.ask("hub", {}, BODY).status == 401


@for_each("half", ["\ud83d", "蟹\udc80"])
def test_half_a_character_in_a_signature_is_a_wrong_signature(visit: Visit, half: str) -> None:
    made = signed(BODY)["webhook-signature"]
    standard = {**signed(BODY), "webhook-signature": f"{made[:-3]}{half}"}
    assert visit.ask("ci", standard, BODY).status == 401
    assert visit.ask("hub", {"x-hub-signature-256": f"sha256={half}"}, BODY).status == 401


def test_a_form_of_github_has_json_in_it(visit: Visit) -> None:
    body = b"payload=%7B%22ref%22%3A%22%E8%9F%B9%22%7D"
    headers = hub_signed(body, **{"content-type": "application/x-www-form-urlencoded"})
    assert visit.ask("hub", headers, body).status == 202
    assert json.loads(visit.events[0].event.text) == {"ref": "蟹"}


@for_each("name", ["authorization", "x-webhook-secret"])
def test_a_sender_that_cannot_sign_brings_the_secret(name: str) -> None:
    visit = Visit({"game": bearer()})
    headers = {name: f"Bearer {TOKEN}" if name == "authorization" else TOKEN}
    assert said(visit.ask("game", headers, BODY)) == {"id": "fresh-0"}
    assert said(visit.ask("game", headers, BODY)) == {"id": "fresh-1"}  # the same words, said again
    named = {**headers, "idempotency-key": "once"}
    assert [visit.ask("game", named, BODY).status for _ in range(2)] == [202, 202]
    assert len(visit.queued) == 3


@for_each("given", ["", "wrong", f"{TOKEN}x", "\udc80"])
def test_a_wrong_secret_is_none(visit: Visit, given: str) -> None:
    assert visit.ask("game", {"x-webhook-secret": given}, BODY).status == 401
    assert visit.ask("game", {"authorization": f"Basic {TOKEN}"}, BODY).status == 401


def test_the_schemes_do_not_stand_in_for_each_other(visit: Visit) -> None:
    every = {**signed(BODY), **hub_signed(BODY), "authorization": f"Bearer {TOKEN}"}
    for name, own in (("ci", signed(BODY)), ("hub", hub_signed(BODY)), ("game", {})):
        other = {each: text for each, text in every.items() if each not in own}
        if name == "game":
            other.pop("authorization")
        assert visit.ask(name, other, BODY).status == 401
    assert visit.queued == []


def test_a_form_becomes_its_fields(visit: Visit) -> None:
    body = b"who=%E8%9F%B9&say=hello+there"
    headers = {"x-webhook-secret": TOKEN, "content-type": "application/x-www-form-urlencoded"}
    assert visit.ask("game", headers, body).status == 202
    assert json.loads(visit.events[0].event.text) == {"who": "蟹", "say": "hello there"}
    many = b"&".join(b"a%d=1" % number for number in range(2_000))
    assert visit.ask("game", headers, many).status == 400
