"""The client: what it sends, and every failure as a sentence with its cure in two languages."""

import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from opencrab.domain import errors
from opencrab.gateways.cli.connection.address import ServerAddress
from opencrab.gateways.cli.connection.client import Client, path_of_server_request
from opencrab.gateways.cli.language.sentences import EN, JA, CliLanguage, SentenceCatalog
from tests.unit.gateways.cli.server import Server, ok, page, problem

Handler = Callable[[httpx.Request], httpx.Response]
HERE = "http://127.0.0.1:8080"
AWAY = "https://crab.example"


def client_of(
    answer: Handler, tongue: CliLanguage = EN, url: str = HERE, key: str | None = "k"
) -> Client:
    return Client(
        ServerAddress(url, key), SentenceCatalog(tongue), transport=httpx.MockTransport(answer)
    )


def failing(error: Exception) -> Handler:
    def fail(request: httpx.Request) -> httpx.Response:
        raise error

    return fail


def test_a_request_carries_the_key_the_language_and_who_asks() -> None:
    server = Server()
    server.on("GET /agents/a1", ok({"id": "a1"}))
    client_of(server.handle, JA).get("agents", "a1")
    headers = server.requests[0].headers
    assert headers["Authorization"] == "Bearer k"
    assert headers["Accept-Language"] == "ja"
    assert headers["X-OpenCrab-Client"] == "cli"


def test_without_a_key_none_is_sent() -> None:
    server = Server()
    server.on("GET /health", ok({}))
    client_of(server.handle, key=None).get("health")
    assert "Authorization" not in server.requests[0].headers


def test_every_post_has_a_name_of_its_own_and_a_repeat_keeps_it() -> None:
    server = Server()
    server.on("POST /sessions", ok({}))
    client = client_of(server.handle)
    client.post("sessions")
    client.post("sessions")
    client.post("sessions", key="again", wait=25)
    names = [request.headers["Idempotency-Key"] for request in server.requests]
    assert len(set(names)) == 3
    assert names[2] == "again"
    assert server.requests[2].headers["Prefer"] == "wait=25"
    assert server.requests[2].extensions["timeout"]["read"] > 25


def test_a_change_names_the_version_that_was_read() -> None:
    server = Server()
    server.on("PATCH /agents/a1", ok({}))
    client = client_of(server.handle)
    client.patch("agents", "a1", body={"name": "さくら"}, version=3)
    client.patch("agents", "a1", body={})
    assert server.requests[0].headers["If-Match"] == '"3"'
    assert "If-Match" not in server.requests[1].headers
    assert json.loads(server.requests[0].content) == {"name": "さくら"}


def test_a_list_is_read_to_its_last_page() -> None:
    server = Server()
    server.on("GET /agents", page({"n": 1}, next_cursor="c"), page({"n": 2}))
    found = client_of(server.handle).items("agents", kinds=None)
    assert list(found) == [{"n": 1}, {"n": 2}]
    assert [dict(request.url.params) for request in server.requests] == [
        {"limit": "100"},
        {"limit": "100", "cursor": "c"},
    ]


def test_an_answer_without_content_is_an_empty_value() -> None:
    assert client_of(lambda _: httpx.Response(204)).delete("agents", "a1") == {}


@given(part=st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
@example(part=".")
@example(part="..")
def test_an_id_of_any_characters_stays_one_part_of_the_path(part: str) -> None:
    path = path_of_server_request("turns", part)
    assert path.isascii()
    assert path.count("/") == 3
    assert httpx.URL(f"{HERE}{path}").raw_path.decode().startswith("/api/turns/")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, errors.Invalid),
        (403, errors.Refused),
        (404, errors.NotFound),
        (409, errors.Conflict),
        (413, errors.TooLarge),
        (415, errors.Invalid),
        (422, errors.Invalid),
        (429, errors.Exhausted),
        (500, errors.OpenCrabError),
        (502, errors.Unavailable),
        (503, errors.Unavailable),
    ],
)
def test_a_problem_is_the_error_that_it_stands_for(
    status: int, kind: type[errors.OpenCrabError]
) -> None:
    answer = problem(status, "wrong", field="name", cure="correct it")
    with pytest.raises(errors.OpenCrabError) as raised:
        client_of(lambda _: answer).get("agents")
    assert type(raised.value) is kind
    assert (raised.value.message, raised.value.field, raised.value.cure) == (
        "wrong",
        "name",
        "correct it",
    )


@pytest.mark.parametrize(
    ("tongue", "key", "message"),
    [
        (EN, "k", "the server rejected this API key"),
        (JA, "k", "受け付けられませんでした"),
        (EN, None, "no API key found"),
        (JA, None, "見つかりません"),
    ],
)
def test_a_wrong_key_and_no_key_are_two_things(
    tongue: CliLanguage, key: str | None, message: str
) -> None:
    client = client_of(lambda _: problem(401, "no"), tongue, key=key)
    with pytest.raises(errors.Unauthenticated, match=message) as raised:
        client.get("agents")
    assert "~/.local/share/opencrab/owner.key" in str(raised.value.cure)


@pytest.mark.parametrize(
    ("tongue", "url", "answer", "message", "cure"),
    [
        (EN, HERE, httpx.ConnectError("no"), "no answer from", "`make up`"),
        (JA, HERE, httpx.ConnectError("no"), "応答がありません", "`make up`"),
        (
            EN,
            AWAY,
            httpx.ConnectError("no"),
            "cannot connect to https://crab.example: no",
            "network",
        ),
        (JA, AWAY, httpx.ConnectError("no"), "接続できません: no", "ネットワーク"),
        (EN, HERE, httpx.ReadTimeout("slow"), "did not answer in time", "again"),
        (JA, HERE, httpx.ReadTimeout("slow"), "時間がかかりすぎ", "もう一度"),
        (EN, HERE, httpx.RemoteProtocolError("cut"), "lost the connection", "again"),
        (JA, HERE, httpx.ReadError("cut"), "切れました: cut", "もう一度"),
    ],
)
def test_a_connection_that_fails_is_explained(
    tongue: CliLanguage, url: str, answer: Exception, message: str, cure: str
) -> None:
    with pytest.raises(errors.Unavailable) as raised:
        client_of(failing(answer), tongue, url).get("agents")
    assert message in raised.value.message
    assert url in raised.value.message
    assert cure in str(raised.value.cure)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (httpx.Response(200, html="<h1>hello</h1>"), "not OpenCrab (HTTP 200)"),
        (httpx.Response(200, json=[1]), "not OpenCrab (HTTP 200)"),
        (httpx.Response(404, json={"detail": "another"}), "not OpenCrab (HTTP 404)"),
        (httpx.Response(302, headers={"Location": "/x"}), "not OpenCrab (HTTP 302)"),
        (httpx.Response(200, content=b'{"a": "\xff'), "not OpenCrab (HTTP 200)"),
        (httpx.Response(502, text="bad gateway"), "is unavailable (HTTP 502)"),
    ],
)
def test_whatever_else_answers_is_told_apart(answer: httpx.Response, message: str) -> None:
    with pytest.raises(errors.Unavailable) as raised:
        client_of(lambda _: answer).get("agents")
    assert message in raised.value.message
    assert raised.value.cure


def test_half_a_character_is_sent_as_a_mark() -> None:
    server = Server()
    server.on("POST /sessions", ok({}))
    client_of(server.handle).post("sessions", body={"theme": "a\ud800b"})
    assert server.sent("POST") == [{"theme": "a?b"}]


def test_certificates_are_read_only_where_tls_is_spoken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
    Client(ServerAddress("http://127.0.0.1:9", "k"), SentenceCatalog(EN))
    for url in ("https://127.0.0.1:9", "https://crab.example", "http://crab.example"):
        with pytest.raises(FileNotFoundError):
            Client(ServerAddress(url, "k"), SentenceCatalog(EN))


@pytest.mark.parametrize("status", [429, 503])
def test_what_a_gateway_says_of_its_own_is_no_message_of_mcp(status: int) -> None:
    headers = {"apigw-requestid": "x"}
    answer = httpx.Response(status, headers=headers, json={"message": "Too Many Requests"})
    client = client_of(lambda _: answer, url=AWAY)
    with (
        pytest.raises(errors.Unavailable),
        client.exchange("/mcp", b"{}", headers={}, seconds=1),
    ):
        pass


def test_an_error_of_json_rpc_is_left_to_the_reader() -> None:
    said = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32600, "message": "x"}}
    client = client_of(lambda _: httpx.Response(404, json=said))
    with client.exchange("/mcp", b"{}", headers={}, seconds=1) as answer:
        assert answer.json() == said
