"""Headers: the key, the wish to wait and the last event, read strictly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.errors import Invalid, Unauthenticated
from opencrab.gateways.rest.conversation.lines import LAST
from opencrab.gateways.rest.conversation.messages import (
    LONGEST_WAIT,
    wanted_conversation_reply_wait,
)
from opencrab.gateways.rest.conversation.server_sent_events import last_session_event_sequence
from opencrab.gateways.rest.http.access import secret_of_http_request


@pytest.mark.parametrize("header", [b"Bearer oc_x", b"bearer oc_x", b"BEARER   oc_x "])
def test_a_secret_follows_the_word_bearer(header: bytes) -> None:
    assert secret_of_http_request([(b"accept", b"*/*"), (b"authorization", header)]) == "oc_x"


@pytest.mark.parametrize(
    "headers", [[], [b""], [b"Bearer"], [b"Basic x"], [b"Bearer a b"], [b"Bearer a", b"Bearer a"]]
)
def test_anything_else_is_no_key(headers: list[bytes]) -> None:
    with pytest.raises(Unauthenticated) as caught:
        secret_of_http_request([(b"authorization", header) for header in headers])
    assert caught.value.field == "Authorization"


@pytest.mark.parametrize(
    ("prefer", "seconds"),
    [
        (None, None),
        ("", None),
        ("respond-async", None),
        ("wait=25", 25),
        ("Wait = 3", 3),
        ('handling=lenient, wait="7"; x=1', 7),
        ("wait=0", 0),
        ("wait=999999999", LONGEST_WAIT),
    ],
)
def test_a_wait_is_read_among_other_wishes(prefer: str | None, seconds: int | None) -> None:
    assert wanted_conversation_reply_wait(prefer) == seconds


@given(st.text().filter(lambda text: not text.strip().strip('"').isdecimal()))
def test_a_wait_that_is_no_number_is_refused(text: str) -> None:
    value = text.replace(",", "").replace(";", "").replace("=", "")
    if value.strip().strip('"').isdecimal():
        return
    with pytest.raises(Invalid, match="whole number"):
        wanted_conversation_reply_wait(f"wait={value}")


@given(st.integers(0, LAST))
def test_an_event_id_is_a_sequence(sequence: int) -> None:
    assert last_session_event_sequence(str(sequence)) == sequence


@given(st.text().filter(lambda text: not (text.isascii() and text.isdecimal())))
def test_no_other_text_is_an_event_id(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        last_session_event_sequence(text)
    assert caught.value.field == "Last-Event-ID"


def test_an_event_id_beyond_all_lines_is_the_last() -> None:
    assert last_session_event_sequence("9" * 10) == LAST
