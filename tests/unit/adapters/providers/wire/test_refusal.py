"""What all refusals have in common: statuses, redirects, and what is told of them."""

import json
from typing import Any

import pytest

from opencrab.adapters.providers.transport.exchange import Reply
from opencrab.adapters.providers.wire.refusal import (
    wire_fault_of_status,
    wire_redirect_refusal,
    wire_refusal_key_place,
    wire_refusal_of_reply,
    wire_vendor_message,
)
from opencrab.adapters.providers.wire.wire import ErrorParty
from opencrab.domain.models.fault import Fault, ModelCallFailed

PARTY = ErrorParty("蟹屋", "crab-1", "CRAB_API_KEY")


def _sort(
    body: Any, party: ErrorParty, *, status: int = 0, billed: bool | None = None
) -> ModelCallFailed:
    wait = body.get("wait") if isinstance(body, dict) else None
    return ModelCallFailed(
        f"{party.provider}: {wire_vendor_message(body)}",
        wire_fault_of_status(status, {418: Fault.BLOCKED}),
        billed=billed,
        retry_after_seconds=wait,
    )


@pytest.mark.parametrize(
    ("status", "fault", "billed"),
    [
        (400, Fault.BAD_REQUEST, False), (401, Fault.AUTH, False), (408, Fault.TIMEOUT, False),
        (418, Fault.BLOCKED, True), (499, Fault.BAD_REQUEST, False),
        (500, Fault.SERVER_ERROR, True), (503, Fault.OVERLOADED, False),
        (504, Fault.SERVER_ERROR, True), (0, Fault.SERVER_ERROR, True),
    ],
)  # fmt: skip
def test_a_status_tells_the_fault_and_the_bill(
    status: int,
    fault: Fault,
    billed: bool,  # noqa: FBT001
) -> None:
    found = wire_refusal_of_reply(Reply(status, "混雑".encode()), PARTY, _sort)
    assert (found.fault, found.may_be_billed) == (fault, billed)
    assert found.message == "蟹屋: 混雑"


@pytest.mark.parametrize(("body", "wait"), [({"wait": 2.5}, 2.5), ({}, 7.0)])
def test_a_wait_told_in_the_body_weighs_more_than_that_of_a_header(body: Any, wait: float) -> None:
    reply = Reply(429, json.dumps(body).encode(), {"retry-after": "7"})
    assert wire_refusal_of_reply(reply, PARTY, _sort).retry_after_seconds == wait


def test_a_redirect_is_explained_and_nothing_else_is_one() -> None:
    moved = wire_refusal_of_reply(Reply(308, b"elsewhere"), PARTY, _sort)
    assert (moved.fault, moved.may_be_billed) == (Fault.BAD_REQUEST, False)
    assert "base_url" in (moved.cure or "")
    assert wire_redirect_refusal(Reply(400, b""), PARTY) is None
    assert wire_redirect_refusal(Reply(204, b""), PARTY) is None


def test_what_was_told_is_one_short_line_and_a_key_has_a_place() -> None:
    assert wire_vendor_message("一行目\n二行目\x00") == "一行目 二行目"
    assert len(wire_vendor_message("長い" * 5_000)) == 500
    assert wire_vendor_message({"蟹": 1}) == json.dumps({"蟹": 1})
    assert (wire_refusal_key_place(PARTY), wire_refusal_key_place(ErrorParty())) == (
        "CRAB_API_KEY",
        "the api_key of this provider",
    )
