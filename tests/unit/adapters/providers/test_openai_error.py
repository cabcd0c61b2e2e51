"""Refusals of servers: each becomes the error that tells the caller what to do."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.openai_error import Party, failure
from opencrab.domain.errors import (
    Busy,
    Invalid,
    NeverSent,
    OpenCrabError,
    Refused,
    TooLarge,
    Unavailable,
)

PARTY = Party("蟹屋", "crab-1", "CRAB_API_KEY")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Invalid), (401, Refused), (402, Refused), (403, Refused), (404, Invalid),
        (405, Invalid), (408, Unavailable), (409, Unavailable), (413, TooLarge), (422, Invalid),
        (425, Unavailable), (429, Busy), (500, Unavailable), (502, Unavailable),
        (503, Unavailable), (529, Unavailable), (301, Invalid), (307, Invalid), (204, Unavailable),
    ],
)  # fmt: skip
def test_a_status_tells_what_to_do(status: int, kind: type[OpenCrabError]) -> None:
    error = failure(status, {"message": "理由です"}, PARTY)
    assert type(error) is kind
    assert "蟹屋" in error.message or kind is TooLarge


def test_only_a_server_that_turned_us_away_has_certainly_not_billed() -> None:
    statuses = [400, 401, 404, 408, 409, 425, 429, 500, 503]
    unbilled = [status for status in statuses if isinstance(failure(status, "x", PARTY), NeverSent)]
    assert unbilled == [429]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": "context_length_exceeded", "message": "long"}, TooLarge),
        ({"type": "exceed_context_size_error", "message": "long"}, TooLarge),
        ({"message": "Prompt is too long: 9000 tokens"}, TooLarge),
        ({"message": "Request too large for gpt-4o"}, TooLarge),
        ({"code": "insufficient_quota", "message": "pay"}, Refused),
        ({"message": "Insufficient Balance"}, Refused),
        ({"code": "model_not_found", "message": "?"}, Invalid),
        ({"code": "DeploymentNotFound", "message": "?"}, Invalid),
        ("maximum context length is 4096 tokens", TooLarge),
    ],
)
@pytest.mark.parametrize("status", [400, 429, 500])
def test_the_words_of_an_error_weigh_more_than_its_status(
    status: int, error: Any, kind: type[OpenCrabError]
) -> None:
    assert type(failure(status, error, PARTY)) is kind


@pytest.mark.parametrize(
    ("code", "kind"),
    [(401, Refused), (402, Refused), (404, Invalid), (502, Unavailable), (True, Unavailable),
     ("server_error", Unavailable), (None, Unavailable)],
)  # fmt: skip
def test_an_error_with_status_200_is_judged_by_its_own_code(
    code: Any, kind: type[OpenCrabError]
) -> None:
    assert type(failure(200, {"code": code, "message": "途中で"}, PARTY)) is kind


def test_an_error_names_whom_it_is_about_and_where_the_key_is_set() -> None:
    refused = failure(401, {"message": "鍵が違います"}, PARTY)
    assert "CRAB_API_KEY" in refused.message
    assert "鍵が違います" in refused.message
    assert refused.cure == "check CRAB_API_KEY"
    unknown = failure(404, {"message": "?"}, PARTY)
    assert "'crab-1'" in unknown.message
    assert unknown.field == "model"


def test_a_redirect_is_not_followed_but_explained() -> None:
    moved = failure(308, "elsewhere", PARTY)
    assert moved.cure is not None
    assert "base_url" in moved.cure


def test_what_was_told_stays_on_one_short_line() -> None:
    told = failure(500, {"message": "一行目\n二行目\r\n" + "長い" * 5_000}, PARTY).message
    assert "一行目 二行目" in told
    assert "\n" not in told
    assert len(told) < 600


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ({"detail": "詳細"}, "詳細"), ({"code": "only_code"}, "only_code"),
        ({"message": {"inner": 1}}, '{"inner": 1}'), ({"other": 1}, '{"other": 1}'),
        (["a"], '["a"]'), (None, "null"), ("plain", "plain"), ("nul\x00", "nul"),
    ],
)  # fmt: skip
def test_errors_of_any_form_are_told(error: Any, told: str) -> None:
    assert told in failure(500, error, PARTY).message


@given(
    st.integers(100, 599),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["message", "code", "type", "detail"]), inner, max_size=4
            )
        ),
        max_leaves=8,
    ),
)
def test_any_error_of_any_status_becomes_one_of_ours(status: int, error: Any) -> None:
    ours = failure(status, error, PARTY)
    assert isinstance(ours, OpenCrabError)
    ours.message.encode()
