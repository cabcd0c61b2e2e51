"""If-Match: one version, any, or one that never is."""

import pytest
from fastapi import Response

from opencrab.gateways.rest.http.etag import parse_http_if_match, set_http_etag


@pytest.mark.parametrize(
    ("header", "version"),
    [(None, None), ("*", None), (" * ", None), ('"0"', 0), (' "12" ', 12)],
)
def test_a_header_names_a_version_or_any(header: str | None, version: int | None) -> None:
    assert parse_http_if_match(header) == version


@pytest.mark.parametrize(
    "header", ["", '""', "12", 'W/"12"', '"-1"', '"01"', '"1", "2"', f'"{"9" * 19}"', "版"]
)
def test_nonsense_is_a_version_that_never_is(header: str) -> None:
    assert parse_http_if_match(header) == -1


def test_what_is_shown_can_be_sent_back() -> None:
    response = Response()
    set_http_etag(response, 7)
    assert parse_http_if_match(response.headers["etag"]) == 7
