"""Errors of Anthropic: each is sorted by what to do about it, and says it in plain words."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.anthropic.error import anthropic_error, anthropic_stream_error
from opencrab.adapters.providers.transport.exchange import Reply
from opencrab.adapters.providers.wire.wire import ErrorParty
from opencrab.domain.models.fault import Fault

PARTY = ErrorParty(provider="anthropic", model="claude-opus-4.6", key_name="ANTHROPIC_API_KEY")


def _error(kind: str, message: str = "だめ", **more: Any) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message, **more}}


def _reply(status: int, body: Any, **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, json.dumps(body).encode(), named)


@pytest.mark.parametrize(
    ("status", "body", "fault"),
    [
        (400, _error("invalid_request_error"), Fault.BAD_REQUEST),
        (
            400,
            _error("invalid_request_error", "prompt is too long: 218848 tokens > 200000 maximum"),
            Fault.TOO_LONG,
        ),
        (
            400,
            _error(
                "invalid_request_error",
                "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
            ),
            Fault.TOO_LONG,
        ),
        (
            400,
            _error("invalid_request_error", "Your credit balance is too low to access the API."),
            Fault.QUOTA_SPENT,
        ),
        (
            400,
            _error("invalid_request_error", "You have reached your specified API usage limits."),
            Fault.QUOTA_SPENT,
        ),
        (400, {"error": {"code": 400, "type": "exceed_context_size_error"}}, Fault.TOO_LONG),
        (401, _error("authentication_error"), Fault.AUTH),
        (402, _error("billing_error"), Fault.QUOTA_SPENT),
        (403, _error("permission_error"), Fault.AUTH),
        (403, _error("billing_error"), Fault.QUOTA_SPENT),
        (404, _error("not_found_error", "model: claude-sonet"), Fault.MODEL_GONE),
        (408, {}, Fault.TIMEOUT),
        (413, "<html>413</html>", Fault.TOO_LONG),
        (413, _error("request_too_large"), Fault.TOO_LONG),
        (422, _error("unknown_error"), Fault.BAD_REQUEST),
        (429, _error("rate_limit_error"), Fault.RATE_LIMITED),
        (
            429,
            _error("rate_limit_error", details={"error_code": "enforced_spend_limit_reached"}),
            Fault.QUOTA_SPENT,
        ),
        (500, _error("api_error", "prompt is too long, or not"), Fault.SERVER_ERROR),
        (502, "Bad gateway", Fault.SERVER_ERROR),
        (503, None, Fault.OVERLOADED),
        (504, _error("timeout_error"), Fault.SERVER_ERROR),
        (529, _error("overloaded_error"), Fault.OVERLOADED),
        (302, "", Fault.BAD_REQUEST),
    ],
)
def test_each_refusal_is_sorted_by_what_to_do(status: int, body: Any, fault: Fault) -> None:
    error = anthropic_error(_reply(status, body), PARTY)
    assert error.fault is fault
    assert error.may_be_billed is (fault.may_be_billed and status != 408)


def test_a_rate_limit_says_how_long_to_wait() -> None:
    error = anthropic_error(_reply(429, _error("rate_limit_error"), retry_after="61"), PARTY)
    assert error.fault is Fault.RATE_LIMITED
    assert error.retry_after_seconds == 61


@pytest.mark.parametrize(
    ("told", "fault"), [("false", Fault.QUOTA_SPENT), ("true", Fault.RATE_LIMITED)]
)
def test_a_rate_limit_that_must_not_be_retried_is_a_spent_quota(told: str, fault: Fault) -> None:
    reply = _reply(429, _error("rate_limit_error"), x_should_retry=told)
    assert anthropic_error(reply, PARTY).fault is fault


def test_a_refused_key_is_named_by_the_place_where_it_is_set() -> None:
    error = anthropic_error(_reply(401, _error("authentication_error", "invalid x-api-key")), PARTY)
    assert "ANTHROPIC_API_KEY" in error.message
    assert error.cure == "check ANTHROPIC_API_KEY"


def test_an_unknown_model_is_named() -> None:
    error = anthropic_error(_reply(404, _error("not_found_error")), PARTY)
    assert "'claude-opus-4.6'" in error.message


def test_names_with_braces_are_told_as_they_are() -> None:
    error = anthropic_error(
        _reply(404, _error("not_found_error")), ErrorParty("蟹{屋}", "{model}", "{x}")
    )
    assert "蟹{屋} does not know the model '{model}'" in error.message


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        ("overloaded_error", Fault.OVERLOADED),
        ("api_error", Fault.SERVER_ERROR),
        ("rate_limit_error", Fault.RATE_LIMITED),
        ("billing_error", Fault.QUOTA_SPENT),
        ("invalid_request_error", Fault.BAD_REQUEST),
        ("なにか", Fault.SERVER_ERROR),
    ],
)
def test_an_error_that_came_with_status_200_is_sorted_by_its_kind(kind: str, fault: Fault) -> None:
    assert anthropic_stream_error(_error(kind), PARTY).fault is fault


def test_an_error_of_llama_cpp_with_status_200_is_sorted_by_its_code() -> None:
    body = {"error": {"code": 400, "message": "no", "type": "odd"}}
    assert anthropic_stream_error(body, PARTY).fault is Fault.BAD_REQUEST


def test_quoted_errors_of_anthropic_are_sorted(wire: Path) -> None:
    quoted = json.loads((wire / "cassettes" / "quoted-errors.json").read_text(encoding="utf-8"))
    faults = {}
    for case in quoted["cases"]:
        if case["provider"] == "anthropic":
            code = case.get("details_error_code")
            told = _error(case.get("error_type", "rate_limit_error"), details={"error_code": code})
            reply = Reply(
                case["status"],
                json.dumps(case.get("body", told)).encode(),
                case.get("headers", {}),
            )
            error = anthropic_error(reply, PARTY)
            faults[case["id"]] = error.fault
            again = error.fault is Fault.RATE_LIMITED or error.fault.may_pass
            assert again is case["retryable"], case["id"]
    assert faults == {
        "anthropic-429-headers": Fault.RATE_LIMITED,
        "anthropic-429-spend-limit": Fault.QUOTA_SPENT,
        "anthropic-529-overloaded": Fault.OVERLOADED,
        "anthropic-500-overloaded": Fault.SERVER_ERROR,
    }


@given(st.integers(100, 999), st.binary(max_size=80))
def test_any_refusal_becomes_an_error_on_one_line(status: int, body: bytes) -> None:
    error = anthropic_error(Reply(status, body), PARTY)
    assert "\n" not in error.message
    error.message.encode()
