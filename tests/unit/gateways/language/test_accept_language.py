"""Accept-Language: the language counts that is spoken and that the client likes best."""

import pytest

from opencrab.domain.value import Language
from opencrab.gateways.language.accept_language import language_of_http_request


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", Language.EN),
        ("ja", Language.JA),
        ("JA-jp", Language.JA),
        ("de, fr;q=0.9, ja;q=0.1, en;q=0.05", Language.JA),
        ("en;q=0.5, ja;q=0.8", Language.JA),
        ("ja;q=0.5, en", Language.EN),
        ("ja;q=0.8, en;q=0.8", Language.JA),
        ("ja;q=0", Language.EN),
        ("ja; Q = 0.3, en;q=0.2", Language.JA),
        ("ja;q=nan, ja;q=x, ja;q=, ja;q=-1", Language.EN),
        ("ja;level=1", Language.JA),
        ("japanese", Language.EN),
        ("*", Language.EN),
    ],
)
def test_the_spoken_language_that_the_client_prefers_counts(
    header: str, language: Language
) -> None:
    assert language_of_http_request(header) is language


@pytest.mark.parametrize(
    ("header", "language"),
    [("", Language.JA), ("fr", Language.JA), ("en", Language.EN), ("en;q=0", Language.JA)],
)
def test_who_names_none_that_is_spoken_gets_the_default(header: str, language: Language) -> None:
    assert language_of_http_request(header, Language.JA) is language


def test_of_a_long_header_only_the_beginning_is_read() -> None:
    assert language_of_http_request("ja" + "," * 60_000) is Language.JA
    assert language_of_http_request("," * 60_000 + "ja") is Language.EN
