"""The settings object, asked for as S3 is: signed, and on the condition that it has changed."""

import pytest

from opencrab.adapters.door.http import door_tls_context
from opencrab.adapters.door.settings_object import (
    SettingsObject,
    StoredSettings,
    settings_object_in_bucket,
)
from opencrab.domain.configuration.uploaded_file import SETTINGS_KEY
from opencrab.domain.errors import Invalid, Unavailable
from tests.unit.adapters.listening import Listening, answer, listening

ENVIRONMENT = {
    "AWS_REGION": "eu-central-1",
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "made-up",
    "AWS_SESSION_TOKEN": "of-a-role",
}
FOUND = b'HTTP/1.1 200 OK\r\nETag: "abc"\r\nContent-Length: 5\r\n\r\n[web]'


def object_at(server: Listening) -> SettingsObject:
    """The settings object of a server in S3's place."""
    environment = {**ENVIRONMENT, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.port}"}
    return settings_object_in_bucket(
        environment,
        "bucket",
        SETTINGS_KEY,
        lambda: 1_700_000_000,
        trust=door_tls_context(),
        seconds=2,
    )


def test_it_is_asked_for_with_a_signature_and_the_known_tag() -> None:
    with listening(lambda _: FOUND) as server:
        assert object_at(server).read('"old"') == StoredSettings(b"[web]", '"abc"')
    (heard,) = server.heard
    assert heard.line == "GET /bucket/settings/config.toml HTTP/1.1"
    assert heard.headers["if-none-match"] == '"old"'
    assert heard.headers["x-amz-security-token"] == "of-a-role"
    signed = "host;if-none-match;x-amz-content-sha256;x-amz-date;x-amz-security-token"
    assert f"SignedHeaders={signed}" in heard.headers["authorization"]
    assert "/eu-central-1/s3/aws4_request" in heard.headers["authorization"]


DENIED = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"


@pytest.mark.parametrize(
    ("tag", "status", "content"), [('"abc"', 304, b""), ("", 404, b""), ("", 403, DENIED)]
)
def test_nothing_new_is_none(tag: str, status: int, content: bytes) -> None:
    with listening(lambda _: answer(status, content)) as server:
        assert object_at(server).read(tag) is None


@pytest.mark.parametrize("code", ["RequestTimeTooSkewed", "InvalidAccessKeyId", ""])
def test_a_refusal_of_the_request_does_not_say_that_there_is_no_file(code: str) -> None:
    content = f"<Error><Code>{code}</Code></Error>".encode()
    with listening(lambda _: answer(403, content)) as server:
        shelf = object_at(server)
        with pytest.raises(Unavailable, match="403"):
            shelf.read()


def test_what_was_removed_is_empty() -> None:
    with listening(lambda _: answer(404, b"")) as server:
        assert object_at(server).read('"abc"') == StoredSettings(b"", "")


@pytest.mark.parametrize(("tag", "status"), [('"abc"', 403), ("", 500), ('"abc"', 503), ("", 301)])
def test_a_refusal_of_what_was_there_is_an_error_like_any_other(tag: str, status: int) -> None:
    with listening(lambda _: answer(status, b"")) as server:
        shelf = object_at(server)
        with pytest.raises(Unavailable, match=str(status)):
            shelf.read(tag)


@pytest.mark.parametrize(
    ("bucket", "region", "url"),
    [
        ("crab", "us-east-1", "crab.s3.us-east-1.amazonaws.com"),
        ("crab", "cn-north-1", "crab.s3.cn-north-1.amazonaws.com.cn"),
        ("crab.example.org", "us-east-1", "s3.us-east-1.amazonaws.com"),
    ],
)
def test_the_host_is_that_of_the_bucket_if_a_certificate_covers_it(
    bucket: str, region: str, url: str
) -> None:
    made = settings_object_in_bucket(
        {**ENVIRONMENT, "AWS_REGION": region},
        bucket,
        SETTINGS_KEY,
        lambda: 0,
        trust=door_tls_context(),
        seconds=1,
    )
    assert made._http.host == url
    assert made._path == ("/crab.example.org" if "." in bucket else "") + "/settings/config.toml"


def test_a_function_without_credentials_says_which_variable_is_missing() -> None:
    with pytest.raises(Invalid, match="AWS_ACCESS_KEY_ID"):
        settings_object_in_bucket(
            {"AWS_REGION": "us-east-1"},
            "crab",
            SETTINGS_KEY,
            lambda: 0,
            trust=door_tls_context(),
            seconds=1,
        )
