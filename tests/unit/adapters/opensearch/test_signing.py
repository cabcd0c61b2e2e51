"""Signatures: the same as botocore makes over the same bytes."""

import hashlib
from datetime import UTC, datetime

import botocore.auth
import httpx
import pytest
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotoCredentials
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.door.aws import Credentials
from opencrab.adapters.opensearch.schema import opensearch_index_name
from opencrab.adapters.opensearch.signing import sign_opensearch_request
from tests.opensearch.search import ENDPOINT, STAGE, signer

NOW = datetime(2026, 2, 17, 9, 0, 5, tzinfo=UTC)
BODIES = st.binary(max_size=50)


def theirs(method: str, url: str, body: bytes, token: str | None) -> str:
    """What botocore says."""
    request = AWSRequest(method=method, url=url, data=body)
    request.headers["X-Amz-Content-SHA256"] = hashlib.sha256(body).hexdigest()
    request.context["timestamp"] = NOW.strftime("%Y%m%dT%H%M%SZ")
    request.headers["X-Amz-Date"] = request.context["timestamp"]
    if token:
        request.headers["X-Amz-Security-Token"] = token
    auth = botocore.auth.SigV4Auth(BotoCredentials("AKIA", "secret", token), "aoss", "eu-west-1")
    told = auth.string_to_sign(request, auth.canonical_request(request))
    signature = auth.signature(told, request)
    names = auth.signed_headers(auth.headers_to_sign(request))
    return (
        f"AWS4-HMAC-SHA256 Credential={auth.scope(request)}, SignedHeaders={names},"
        f" Signature={signature}"
    )


def ours(method: str, url: str, body: bytes, token: str | None) -> str:
    request = httpx.Request(method, url, content=body)
    who = signer("eu-west-1", Credentials("AKIA", "secret", token or ""))
    return sign_opensearch_request(request, body, who, NOW)["authorization"]


@given(
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE"]),
    agent_id=st.text("abzABZ019_-", min_size=1, max_size=64),
    operation=st.sampled_from(["", "/_bulk", "/_search", "/_mapping"]),
    body=BODIES,
    token=st.none() | st.just("t0ken/+="),
)
def test_any_request_to_an_index_is_signed_as_botocore_signs_it(
    method: str, agent_id: str, operation: str, body: bytes, token: str | None
) -> None:
    url = f"{ENDPOINT}/{opensearch_index_name(STAGE, agent_id)}{operation}"
    assert ours(method, url, body, token) == theirs(method, url, body, token)


@pytest.mark.parametrize("origin", [f"{ENDPOINT}:443", f"{ENDPOINT}:9200", "https://[::1]:9200"])
def test_ports_are_signed_as_they_are_sent(origin: str) -> None:
    url = f"{origin}/index/_bulk"
    assert ours("POST", url, b"{}", "t") == theirs("POST", str(httpx.URL(url)), b"{}", "t")


def test_a_changed_body_has_another_signature() -> None:
    first, second = (ours("POST", ENDPOINT, body, None) for body in (b"{}", b"[]"))
    assert first != second


def test_the_hash_of_the_body_is_sent_and_the_secret_never_is() -> None:
    request = httpx.Request("POST", ENDPOINT, content=b"{}")
    headers = sign_opensearch_request(request, b"{}", signer("eu-west-1"), NOW)
    assert headers["x-amz-content-sha256"] == hashlib.sha256(b"{}").hexdigest()
    assert headers["x-amz-security-token"] == "token"
    assert "secret" not in str(headers)
