"""Accept-Language: the first language that is spoken counts."""

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
        ("japanese", Language.EN),
        ("*", Language.EN),
    ],
)
def test_the_first_language_that_is_spoken_counts(header: str, language: Language) -> None:
    assert language_of_http_request(header) is language


@pytest.mark.parametrize(
    ("header", "language"), [("", Language.JA), ("fr", Language.JA), ("en", Language.EN)]
)
def test_who_names_none_that_is_spoken_gets_the_default(header: str, language: Language) -> None:
    assert language_of_http_request(header, Language.JA) is language
