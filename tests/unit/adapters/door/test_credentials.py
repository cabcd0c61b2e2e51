"""Credentials of a function: in its environment, or given by the server that SnapStart names."""

import json

import pytest

from opencrab.adapters.door.settings_object import function_credentials
from opencrab.domain.errors import Invalid, Unavailable
from tests.unit.adapters.listening import answer, listening

PLAIN = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "t"}
EXPIRES = 4_922_899_200.0
SERVED = {
    "AccessKeyId": "served",
    "SecretAccessKey": "secret",
    "Token": "of-a-role",
    "Expiration": "2126-01-01T00:00:00Z",
}


def environment(port: int) -> dict[str, str]:
    """As Lambda names the server of credentials."""
    return {
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"http://127.0.0.1:{port}/v1/credentials",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN": "brings",
    }


def test_those_of_the_environment_count_where_there_are_any() -> None:
    found = function_credentials({**PLAIN, **environment(9)}, lambda: 0.0)()
    assert (found.key_id, found.secret, found.token) == ("key", "secret", "t")


def test_without_any_the_variable_is_named() -> None:
    with pytest.raises(Invalid, match="AWS_ACCESS_KEY_ID"):
        function_credentials({}, lambda: 0.0)


def test_the_server_is_asked_when_needed_and_again_before_they_expire() -> None:
    now = [EXPIRES - 3_600]
    with listening(lambda _: answer(200, json.dumps(SERVED).encode())) as server:
        asked = function_credentials(environment(server.port), lambda: now[0])
        assert server.heard == []
        assert (asked().key_id, asked().token) == ("served", "of-a-role")
        assert len(server.heard) == 1
        now[0] = EXPIRES - 200
        assert asked().key_id == "served"
    first, _again = server.heard
    assert first.line == "GET /v1/credentials HTTP/1.1"
    assert first.headers["authorization"] == "brings"


@pytest.mark.parametrize(
    ("status", "content"),
    [(500, b""), (200, b"{"), (200, b"{}"), (200, b"[]"), (200, b'{"Expiration": 3}')],
)
def test_a_server_that_gives_none_is_unavailable_and_asked_again(
    status: int, content: bytes
) -> None:
    with listening(lambda _: answer(status, content)) as server:
        asked = function_credentials(environment(server.port), lambda: 0.0)
        for _ in range(2):
            with pytest.raises(Unavailable, match="no AWS credentials"):
                asked()
    assert len(server.heard) == 2
