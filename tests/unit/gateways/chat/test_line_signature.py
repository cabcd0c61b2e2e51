"""LINE's signature: the raw body by the channel secret, and nothing else."""

import pytest

from opencrab.gateways.chat.line_signature import HEADER, is_line_signature
from tests.line.fake import SECRET, signed

BODY = '{"events":[{"message":{"text":"蟹🦀"}}]}'.encode()


def test_what_the_channel_signed_is_accepted() -> None:
    assert is_line_signature(SECRET, BODY, signed(BODY)[HEADER])


@pytest.mark.parametrize(
    ("secret", "body", "signature"),
    [
        (SECRET, BODY + b" ", None),
        ("f" * 32, BODY, None),
        ("", BODY, None),
        (SECRET, BODY, ""),
        (SECRET, BODY, "abc"),
        (SECRET, BODY, "蟹"),
        (SECRET, BODY, "A" * 44),
        (SECRET, BODY, "A" * 100_000),
        (SECRET, BODY, "AAAA"),
    ],
)
def test_anything_else_is_refused(secret: str, body: bytes, signature: str | None) -> None:
    given = signed(BODY)[HEADER] if signature is None else signature
    assert not is_line_signature(secret, body, given)


def test_a_signature_by_an_empty_secret_is_refused() -> None:
    assert not is_line_signature("", BODY, signed(BODY, "")[HEADER])
