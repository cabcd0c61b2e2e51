"""Errors of Ollama: one sentence each, and what it says to do."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.ollama.error import ollama_error_of_body, ollama_error_of_reply
from opencrab.adapters.providers.transport.exchange import Reply
from opencrab.domain.models.fault import Fault
from tests.unit.adapters.providers.recorded import PARTY


def _reply(status: int, error: Any, **headers: str) -> Reply:
    return Reply(status, json.dumps({"error": error}).encode(), headers)


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (_reply(404, "model 'crab-1' not found"), Fault.MODEL_GONE),
        (_reply(404, 'model "crab-1" not found, try pulling it first'), Fault.MODEL_GONE),
        (Reply(404, b"404 page not found"), Fault.MODEL_GONE),
        (_reply(400, "crab-1 does not support tools"), Fault.BAD_REQUEST),
        (_reply(400, "invalid options: num_ctx"), Fault.BAD_REQUEST),
        (_reply(400, "the input length exceeds the context length"), Fault.TOO_LONG),
        (_reply(400, {"message": "prompt is too long"}), Fault.TOO_LONG),
        (_reply(413, ""), Fault.TOO_LONG),
        (_reply(503, "server busy, please try again. maximum pending requests exceeded"),
         Fault.OVERLOADED),
        (_reply(500, "model requires more system memory (9 GiB) than is available"),
         Fault.SERVER_ERROR),
        (_reply(500, "error parsing tool call: raw='{', err=EOF"), Fault.NONSENSE),
        (_reply(502, "upstream"), Fault.SERVER_ERROR),
        (_reply(429, "too many requests"), Fault.RATE_LIMITED),
        (_reply(429, "you have reached your weekly usage limit"), Fault.QUOTA_SPENT),
        (_reply(401, "unauthorized"), Fault.AUTH),
        (_reply(504, ""), Fault.TIMEOUT),
        (Reply(302, b""), Fault.BAD_REQUEST),
    ],
)  # fmt: skip
def test_an_error_is_sorted_by_what_to_do_about_it(reply: Reply, fault: Fault) -> None:
    assert ollama_error_of_reply(reply, PARTY).fault is fault


def test_a_model_that_is_missing_is_to_be_pulled() -> None:
    error = ollama_error_of_reply(_reply(404, "model 'crab-1' not found"), PARTY)
    assert error.cure is not None
    assert "ollama pull crab-1" in error.cure


def test_a_wrong_address_is_no_missing_model() -> None:
    error = ollama_error_of_reply(Reply(404, b"404 page not found"), PARTY)
    assert error.cure is not None
    assert "base_url" in error.cure


def test_a_model_without_actions_is_told_so() -> None:
    error = ollama_error_of_reply(_reply(400, "crab-1 does not support tools"), PARTY)
    assert "cannot use actions" in error.message
    assert error.cure


def test_a_wait_in_a_header_is_obeyed() -> None:
    reply = Reply(429, b'{"error": "slow down"}', {"retry-after": "5"})
    assert ollama_error_of_reply(reply, PARTY).retry_after_seconds == 5


def test_an_error_without_a_status_is_judged_by_its_words() -> None:
    assert ollama_error_of_body({"error": "unauthorized"}, PARTY).fault is Fault.AUTH
    assert ollama_error_of_body({"error": "ぷつん"}, PARTY).fault is Fault.SERVER_ERROR


@given(
    body=st.recursive(
        st.none() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(st.sampled_from(["error", "message", "x"]), inner, max_size=3)
        ),
    ),
    status=st.integers(100, 599),
)
def test_any_error_is_sorted(body: Any, status: int) -> None:
    error = ollama_error_of_reply(Reply(status, json.dumps(body).encode()), PARTY)
    assert error.fault in Fault
    assert len(error.message) < 1_000
    assert error.message.encode()
