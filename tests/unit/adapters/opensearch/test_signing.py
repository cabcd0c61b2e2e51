"""Signatures: the same as botocore makes over the same bytes."""

import hashlib
from datetime import UTC, datetime
from urllib.parse import quote

import botocore.auth
import httpx
import pytest
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.opensearch.signing import signed
from tests.opensearch.search import ENDPOINT, FakeCredentials

NOW = datetime(2026, 2, 17, 9, 0, 5, tzinfo=UTC)
BODIES = st.binary(max_size=50)
SEGMENTS = st.lists(st.text(max_size=8).map(lambda text: quote(text, safe="")), max_size=4)
PAIRS = st.lists(
    st.tuples(*[st.text(max_size=4).map(lambda text: quote(text, safe=""))] * 2), max_size=4
)


def theirs(method: str, url: str, body: bytes, token: str | None) -> str:
    """What botocore says."""
    request = AWSRequest(method=method, url=url, data=body)
    request.headers["X-Amz-Content-SHA256"] = hashlib.sha256(body).hexdigest()
    request.context["timestamp"] = NOW.strftime("%Y%m%dT%H%M%SZ")
    request.headers["X-Amz-Date"] = request.context["timestamp"]
    if token:
        request.headers["X-Amz-Security-Token"] = token
    auth = botocore.auth.SigV4Auth(Credentials("AKIA", "secret", token), "aoss", "eu-west-1")
    told = auth.string_to_sign(request, auth.canonical_request(request))
    signature = auth.signature(told, request)
    names = auth.signed_headers(auth.headers_to_sign(request))
    return (
        f"AWS4-HMAC-SHA256 Credential={auth.scope(request)}, SignedHeaders={names},"
        f" Signature={signature}"
    )


def ours(method: str, url: str, body: bytes, token: str | None) -> str:
    request = httpx.Request(method, url, content=body)
    credentials = FakeCredentials("AKIA", "secret", token)
    return signed(request, body, credentials, "eu-west-1", NOW)["authorization"]


@given(
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE"]),
    segments=SEGMENTS,
    pairs=PAIRS,
    body=BODIES,
    token=st.none() | st.just("t0ken/+="),
)
def test_any_request_is_signed_as_botocore_signs_it(
    method: str, segments: list[str], pairs: list[tuple[str, str]], body: bytes, token: str | None
) -> None:
    query = "&".join(f"{name}={value}" for name, value in pairs)
    path = "/".join(segments)
    # What is sent is what httpx makes of an address: dots are gone then.
    url = str(httpx.URL(f"{ENDPOINT}/{path}" + (f"?{query}" if query else "")))
    assert ours(method, url, body, token) == theirs(method, url, body, token)


@pytest.mark.parametrize(
    "url",
    [
        f"{ENDPOINT}/index/_bulk",
        f"{ENDPOINT}:443/index//_search/",
        f"{ENDPOINT}:9200/a?b=2&b=1&a",
        "https://[::1]:9200/a",
        f"{ENDPOINT}/%E8%9F%B9/_doc/line%3As1%3A1?x=%20y~z",
        ENDPOINT,
    ],
)
def test_ports_slashes_and_escapes_are_signed_as_they_are_sent(url: str) -> None:
    assert ours("POST", url, b"{}", "t") == theirs("POST", str(httpx.URL(url)), b"{}", "t")


def test_a_changed_body_has_another_signature() -> None:
    first, second = (ours("POST", ENDPOINT, body, None) for body in (b"{}", b"[]"))
    assert first != second


def test_the_hash_of_the_body_is_sent_and_the_secret_never_is() -> None:
    request = httpx.Request("POST", ENDPOINT, content=b"{}")
    headers = signed(request, b"{}", FakeCredentials(), "eu-west-1", NOW)
    assert headers["x-amz-content-sha256"] == hashlib.sha256(b"{}").hexdigest()
    assert headers["x-amz-security-token"] == "token"
    assert "secret" not in str(headers)
