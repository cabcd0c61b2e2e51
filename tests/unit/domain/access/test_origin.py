"""Origins: one text for every spelling of the same place, and seals that no other key fits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.access.origin import browser_origin_of_url, key_origin_seal


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://API.example/v1", "https://api.example:443"),
        ("https://api.example:443", "https://api.example:443"),
        ("https://api.example./v1?", "https://api.example:443"),
        ("http://localhost:11434/", "http://localhost:11434"),
        ("http://[FD12::1]/v1", "http://[fd12::1]:80"),
        ("", ""),
        ("nonsense", "nonsense"),
        ("https://host:99999/", "https://host:99999/"),
    ],
)
def test_an_origin_is_scheme_host_and_port(url: str, origin: str) -> None:
    assert browser_origin_of_url(url) == origin
    assert browser_origin_of_url(f"{url}") == browser_origin_of_url(url)


@given(st.text(), st.text(), st.text(), st.text())
def test_a_seal_fits_one_key_at_one_origin(one: str, key: str, other: str, wrong: str) -> None:
    origins = browser_origin_of_url(f"https://{one}"), browser_origin_of_url(f"https://{other}")
    if (origins[0], key) != (origins[1], wrong) and "\n" not in one + other + key + wrong:
        assert key_origin_seal(origins[0], key) != key_origin_seal(origins[1], wrong)
    assert not key or len(key) < 6 or key not in key_origin_seal(origins[0], key)
