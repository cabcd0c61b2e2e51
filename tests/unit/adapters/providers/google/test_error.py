"""Errors of Google's API: which say to wait, which to go on elsewhere, and which to stop."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.google.error import google_error_of_body, google_error_of_reply
from opencrab.adapters.providers.transport.exchange import Reply
from opencrab.adapters.providers.wire.wire import ErrorParty
from opencrab.domain.models.fault import Fault
from tests.unit.adapters.providers.recorded import PARTY


def _reply(status: int, message: str = "", name: str = "", *details: Any, **headers: str) -> Reply:
    error = {"code": status, "message": message, "status": name, "details": list(details)}
    body = json.dumps({"error": error}).encode()
    return Reply(status, body, {key.replace("_", "-"): value for key, value in headers.items()})


def _quota(name: str, value: str = "10") -> dict[str, Any]:
    violation = {"quotaId": name, "quotaValue": value}
    return {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]}


RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.4s"}
SPENT = "GenerateRequestsPerDayPerProjectPerModel-FreeTier"
MINUTE = "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"
EXHAUSTED = "RESOURCE_EXHAUSTED"


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (_reply(429, "Quota", EXHAUSTED, _quota(MINUTE), RETRY), Fault.RATE_LIMITED),
        (_reply(429, "Resource has been exhausted (e.g. check quota).", EXHAUSTED),
         Fault.RATE_LIMITED),
        (_reply(429, "Quota", EXHAUSTED, _quota(SPENT), RETRY), Fault.QUOTA_SPENT),
        (_reply(429, "Quota", EXHAUSTED, _quota(MINUTE, "0"), RETRY), Fault.QUOTA_SPENT),
        (_reply(429, "Your prepayment credits are depleted.", EXHAUSTED), Fault.QUOTA_SPENT),
        (_reply(400, "Please enable billing on your project", "FAILED_PRECONDITION"),
         Fault.QUOTA_SPENT),
        (_reply(400, "User location is not supported", "FAILED_PRECONDITION"), Fault.BAD_REQUEST),
        (_reply(400, "The input token count (2551556) exceeds the maximum number of tokens "
                     "allowed (1048576).", "INVALID_ARGUMENT"), Fault.TOO_LONG),
        (_reply(400, "Request payload size exceeds the limit: 20971520 bytes."), Fault.TOO_LONG),
        (_reply(413), Fault.TOO_LONG),
        (_reply(400, "API key expired. Please renew the API key.", "INVALID_ARGUMENT"), Fault.AUTH),
        (_reply(400, "", "INVALID_ARGUMENT", {"reason": "API_KEY_INVALID"}), Fault.AUTH),
        (_reply(401, "", "UNAUTHENTICATED"), Fault.AUTH),
        (_reply(403, "", "PERMISSION_DENIED"), Fault.AUTH),
        (_reply(404, "", "NOT_FOUND"), Fault.MODEL_GONE),
        (_reply(503, "The model is overloaded. Please try again later.", "UNAVAILABLE"),
         Fault.OVERLOADED),
        (_reply(500, "", "INTERNAL"), Fault.SERVER_ERROR),
        (_reply(502), Fault.SERVER_ERROR),
        (_reply(504, "Deadline expired", "DEADLINE_EXCEEDED"), Fault.TIMEOUT),
        (_reply(400, "Unknown name", "INVALID_ARGUMENT"), Fault.BAD_REQUEST),
        (_reply(418), Fault.BAD_REQUEST),
        (Reply(302, b""), Fault.BAD_REQUEST),
        (Reply(502, b"<html>Bad Gateway</html>"), Fault.SERVER_ERROR),
        (Reply(403, b""), Fault.AUTH),
        (Reply(429, b"[]"), Fault.RATE_LIMITED),
    ],
)  # fmt: skip
def test_an_error_is_sorted_by_what_to_do_about_it(reply: Reply, fault: Fault) -> None:
    assert google_error_of_reply(reply, PARTY).fault is fault


def test_the_time_to_wait_is_in_the_body_or_in_a_header() -> None:
    told = _reply(429, "Quota", EXHAUSTED, _quota(MINUTE), RETRY)
    assert google_error_of_reply(told, PARTY).retry_after_seconds == 34.4
    headed = _reply(503, "", "UNAVAILABLE", retry_after="7")
    assert google_error_of_reply(headed, PARTY).retry_after_seconds == 7
    assert google_error_of_reply(_reply(429), PARTY).retry_after_seconds is None


def test_a_refused_key_is_named_by_where_it_is_set() -> None:
    error = google_error_of_reply(_reply(403, "鍵が違う", "PERMISSION_DENIED"), PARTY)
    assert error.cure == "check CRAB_API_KEY"
    assert "蟹屋" in error.message
    assert "鍵が違う" in error.message
    nameless = google_error_of_reply(_reply(403), ErrorParty())
    assert nameless.cure == "check the api_key of this provider"


def test_an_error_without_a_status_is_judged_by_its_own_code_or_name() -> None:
    assert google_error_of_body({"error": {"code": 503}}, PARTY).fault is Fault.OVERLOADED
    assert google_error_of_body({"error": {"status": "NOT_FOUND"}}, PARTY).fault is Fault.MODEL_GONE
    assert google_error_of_body({"error": "ぷつん"}, PARTY).fault is Fault.SERVER_ERROR


@pytest.mark.parametrize(
    ("name", "status", "fault", "seconds"),
    [
        ("google-firebase/unary-failure-api-key.json", 400, Fault.AUTH, None),
        ("google-firebase/unary-failure-unknown-model.json", 404, Fault.MODEL_GONE, None),
        ("google-firebase/vertexai-streaming-failure-http-error.txt", 400, Fault.BAD_REQUEST, None),
        # Its limit is zero: no waiting helps.
        (
            "google-firebase/vertexai-unary-failure-quota-exceeded.json",
            429,
            Fault.QUOTA_SPENT,
            None,
        ),
        ("vercel/google-429-retry-info.json", 429, Fault.RATE_LIMITED, 34.4),
    ],
)
def test_published_errors_are_read(
    wire: Path, name: str, status: int, fault: Fault, seconds: float | None
) -> None:
    body = (wire / "cassettes" / "vendor-fixtures" / name).read_bytes()
    error = google_error_of_reply(Reply(status, body), PARTY)
    assert error.fault is fault
    assert error.retry_after_seconds == seconds


def test_quoted_errors_are_read(wire: Path) -> None:
    quoted = json.loads((wire / "cassettes" / "quoted-errors.json").read_text(encoding="utf-8"))
    (case,) = (case for case in quoted["cases"] if case["provider"] == "google")
    reply = Reply(case["status"], json.dumps(case["body"]).encode())
    assert google_error_of_reply(reply, PARTY).fault is Fault.OVERLOADED


DETAILS = st.recursive(
    st.none() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["error", "code", "status", "message", "details", "violations", "quotaId", "metadata",
             "quota_limit", "quota_limit_value", "reason", "retryDelay"]
        ),
        inner,
        max_size=4,
    ),
)  # fmt: skip


@given(body=DETAILS, status=st.integers(100, 599))
def test_any_error_is_sorted(body: Any, status: int) -> None:
    error = google_error_of_reply(Reply(status, json.dumps(body).encode()), PARTY)
    assert error.fault in Fault
    assert len(error.message) < 1_000
    assert error.message.encode()
