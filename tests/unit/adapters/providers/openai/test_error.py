"""Refusals of servers: each is sorted by what to do about it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.openai.error import openai_error, openai_error_within
from opencrab.adapters.providers.transport.exchange import Reply
from opencrab.adapters.providers.wire.wire import ErrorParty
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Usage
from tests.cases import for_each

PARTY = ErrorParty("蟹屋", "crab-1", "CRAB_API_KEY")
NOTHING = Usage()


def _refused(status: int, error: Any, **headers: str) -> ModelCallFailed:
    body = json.dumps({"error": error}).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return openai_error(Reply(status, body, named), PARTY)


@for_each(
    ("status", "fault"),
    [
        (400, Fault.BAD_REQUEST), (401, Fault.AUTH), (402, Fault.QUOTA_SPENT), (403, Fault.AUTH),
        (404, Fault.MODEL_GONE), (405, Fault.BAD_REQUEST), (408, Fault.TIMEOUT),
        (409, Fault.RATE_LIMITED), (410, Fault.MODEL_GONE), (413, Fault.TOO_LONG),
        (422, Fault.BAD_REQUEST), (425, Fault.RATE_LIMITED), (429, Fault.RATE_LIMITED),
        (500, Fault.SERVER_ERROR), (502, Fault.SERVER_ERROR), (503, Fault.OVERLOADED),
        (504, Fault.SERVER_ERROR), (529, Fault.OVERLOADED), (301, Fault.BAD_REQUEST),
        (307, Fault.BAD_REQUEST), (204, Fault.NONSENSE),
    ],
)  # fmt: skip
def test_a_status_tells_what_to_do(status: int, fault: Fault) -> None:
    error = _refused(status, {"message": "理由です"})
    assert error.fault is fault
    assert "蟹屋" in error.message


def test_a_server_that_turned_us_away_has_not_billed() -> None:
    statuses = [400, 401, 404, 408, 409, 413, 425, 429, 503, 500, 502, 204]
    billed = [status for status in statuses if _refused(status, "x").may_be_billed]
    assert billed == [500, 502, 204]


@for_each(
    ("error", "fault"),
    [
        ({"code": "context_length_exceeded", "message": "long"}, Fault.TOO_LONG),
        ({"type": "exceed_context_size_error", "message": "long"}, Fault.TOO_LONG),
        ({"message": "The total length of all messages is too long"}, Fault.TOO_LONG),
        ({"code": "tool_use_failed", "message": "Failed to call a function."}, Fault.NONSENSE),
        ({"innererror": {"code": "ResponsibleAIPolicyViolation"}, "message": "?"}, Fault.BLOCKED),
        ({"message": "Prompt is too long: 9000 tokens"}, Fault.TOO_LONG),
        ({"message": "Request too large for gpt-4o"}, Fault.TOO_LONG),
        ({"code": "insufficient_quota", "message": "pay"}, Fault.QUOTA_SPENT),
        ({"message": "Insufficient Balance"}, Fault.QUOTA_SPENT),
        ({"code": "billing_hard_limit_reached", "message": "?"}, Fault.QUOTA_SPENT),
        ({"code": "model_not_found", "message": "?"}, Fault.MODEL_GONE),
        ({"code": "DeploymentNotFound", "message": "?"}, Fault.MODEL_GONE),
        ({"message": "Model Not Exist"}, Fault.MODEL_GONE),
        ({"code": "content_filter", "message": "?"}, Fault.BLOCKED),
        ({"code": "content_policy_violation", "message": "?"}, Fault.BLOCKED),
        ({"message": "Incorrect API key provided: xa***"}, Fault.AUTH),
        ("maximum context length is 4096 tokens", Fault.TOO_LONG),
        ({"message": "?", "metadata": {"raw": '{"message":"prompt is too long"}'}}, Fault.TOO_LONG),
    ],
)
@for_each("status", [400, 403, 404, 413, 422, 429])
def test_the_words_of_an_error_weigh_more_than_its_status(
    status: int, error: Any, fault: Fault
) -> None:
    assert _refused(status, error).fault is fault
    assert openai_error_within(error, PARTY, usage=NOTHING).fault is fault


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        (401, Fault.AUTH), (402, Fault.QUOTA_SPENT), (500, Fault.SERVER_ERROR),
        (502, Fault.SERVER_ERROR), (503, Fault.OVERLOADED), (529, Fault.OVERLOADED),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "words", ["the context window failed", "model not found", "content_filter"]
)
def test_a_status_that_can_mean_one_thing_only_weighs_more_than_words(
    status: int, fault: Fault, words: str
) -> None:
    assert _refused(status, {"message": words}).fault is fault


def test_a_key_that_is_refused_with_status_400_is_named() -> None:
    error = _refused(400, "Incorrect API key provided: xa***. Get one at https://console.x.ai.")
    assert (error.fault, error.cure) == (Fault.AUTH, "check CRAB_API_KEY")


def test_an_invitation_to_pay_more_is_no_empty_account() -> None:
    message = "Rate limit reached. Add a payment method at https://example.com/account/billing."
    assert _refused(429, {"message": message}).fault is Fault.RATE_LIMITED


def test_a_server_error_that_says_overloaded_is_an_overload() -> None:
    assert _refused(500, {"message": "Overloaded"}).fault is Fault.OVERLOADED
    assert _refused(429, {"message": "Overloaded"}).fault is Fault.RATE_LIMITED


def test_a_limit_that_must_not_be_retried_is_a_quota() -> None:
    assert _refused(429, {}, x_should_retry="false").fault is Fault.QUOTA_SPENT
    assert _refused(429, {}, x_should_retry="true").fault is Fault.RATE_LIMITED
    assert _refused(500, {}, x_should_retry="false").fault is Fault.SERVER_ERROR


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after_ms": "494", "retry_after": "1"}, 0.494),
        ({"retry_after": "7"}, 7.0),
        ({"retry_after": "Fri, 01 Jan 2027 00:00:00 GMT"}, None),
        ({"x_ratelimit_reset_requests": "6ms", "x_ratelimit_reset_tokens": "1m0.052s"}, 60.052),
        ({"x_ratelimit_reset_requests": "6ms", "x_ratelimit_remaining_requests": "0",
          "x_ratelimit_reset_tokens": "1m0s", "x_ratelimit_remaining_tokens": "9"}, 0.006),
        ({"x_ratelimit_reset": "1741305600000"}, None),
        ({"x_ratelimit_reset_tokens": "soon"}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_how_long_to_wait_is_what_the_server_says(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert _refused(429, {}, **headers).retry_after_seconds == seconds
    assert _refused(503, {}, **headers).retry_after_seconds == seconds
    assert _refused(400, {}, **headers).retry_after_seconds is None


def test_a_wait_may_be_told_inside_the_error() -> None:
    error = {"message": "slow", "code": 429, "metadata": {"headers": {"Retry-After": "3"}}}
    assert _refused(429, error).retry_after_seconds == 3.0
    assert openai_error_within(error, PARTY, usage=NOTHING).retry_after_seconds == 3.0


@pytest.mark.parametrize(
    ("code", "fault"),
    [(401, Fault.AUTH), (402, Fault.QUOTA_SPENT), (404, Fault.MODEL_GONE), ("429",
     Fault.RATE_LIMITED), (502, Fault.SERVER_ERROR), (True, Fault.SERVER_ERROR),
     ("server_error", Fault.SERVER_ERROR), (None, Fault.SERVER_ERROR), (7, Fault.SERVER_ERROR),
     ("rate_limit_exceeded", Fault.RATE_LIMITED), ("overloaded_error", Fault.OVERLOADED),
     ("invalid_request_error", Fault.BAD_REQUEST), (10**40, Fault.SERVER_ERROR)],
)  # fmt: skip
def test_an_error_with_status_200_is_judged_by_its_own_code(code: Any, fault: Fault) -> None:
    error = openai_error_within({"code": code, "message": "途中で"}, PARTY, usage=NOTHING)
    assert error.fault is fault
    assert error.usage is None


def test_an_error_after_words_or_counted_tokens_may_be_billed() -> None:
    busy = {"code": 429, "message": "途中で"}
    assert not openai_error_within(busy, PARTY, usage=NOTHING).may_be_billed
    assert openai_error_within(busy, PARTY, usage=NOTHING, began=True).may_be_billed
    counted = openai_error_within(busy, PARTY, usage=Usage(input_tokens=3))
    assert counted.may_be_billed
    assert counted.usage == Usage(input_tokens=3)


def test_an_error_names_whom_it_is_about_and_where_the_key_is_set() -> None:
    refused = _refused(401, {"message": "鍵が違います"})
    assert "CRAB_API_KEY" in refused.message
    assert "鍵が違います" in refused.message
    assert refused.cure == "check CRAB_API_KEY"
    assert "'crab-1'" in _refused(404, {"message": "?"}).message


def test_a_redirect_is_not_followed_but_explained() -> None:
    moved = _refused(308, "elsewhere")
    assert moved.cure is not None
    assert "base_url" in moved.cure


def test_what_was_told_stays_on_one_short_line() -> None:
    told = _refused(500, {"message": "一行目\n二行目\r\n" + "長い" * 5_000}).message
    assert "一行目 二行目" in told
    assert "\n" not in told
    assert len(told) < 600


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ({"detail": "詳細"}, "詳細"), ({"code": "only_code"}, "only_code"),
        ({"message": {"inner": 1}}, '{"inner": 1}'), ({"other": 1}, '{"other": 1}'),
        (["a"], '["a"]'), ("plain", "plain"), ("nul\x00", "nul"), ("{braces}", "{braces}"),
        ({"message": "upstream", "metadata": {"raw": "混んでいます"}}, "upstream: 混んでいます"),
    ],
)  # fmt: skip
def test_errors_of_any_form_are_told(error: Any, told: str) -> None:
    assert told in _refused(500, error).message


@pytest.mark.parametrize(
    "body", [b"", b"<h1>\xe8\x90\xbd\xe3\x81\xa1\xe3\x81\x9f</h1>", b"[" * 200_000, b"\xff\x00"]
)
def test_a_body_that_is_no_json_is_shown(body: bytes) -> None:
    error = openai_error(Reply(502, body), PARTY)
    assert error.fault is Fault.SERVER_ERROR
    assert len(error.message) < 600


errors = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["message", "code", "type", "detail", "metadata", "raw", "headers"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@given(st.integers(100, 599), errors)
def test_any_error_of_any_status_is_unanswered(status: int, error: Any) -> None:
    for ours in (_refused(status, error), openai_error_within(error, PARTY, usage=NOTHING)):
        assert isinstance(ours, ModelCallFailed)
        ours.message.encode()
