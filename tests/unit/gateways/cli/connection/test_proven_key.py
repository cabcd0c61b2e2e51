"""A key goes to the server of its data folder alone: what a stranger on its port gets."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Protocol

import pytest

from opencrab.domain.access.instance import CHALLENGE_HEADER, instance_access_proof
from opencrab.domain.errors import Unauthenticated, Unavailable
from opencrab.gateways.cli.connection.address import find_server_address
from opencrab.gateways.cli.connection.client import Client
from opencrab.gateways.cli.language.sentences import EN, JA, CliLanguage, SentenceCatalog

LANGUAGES = pytest.mark.parametrize("language", [EN, JA])


class Listener(ThreadingHTTPServer):
    """Whoever listens on a port: it keeps all that it gets, and answers `proof` to a challenge."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.got: list[tuple[str, dict[str, str]]] = []
        self.secret: str | None = None
        self.says: Any = {}
        self.pages: Iterator[Any] | None = None
        self.hangs_up = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def keys(self) -> list[str]:
        """Every key that was sent to it."""
        return [sent["authorization"] for _, sent in self.got if "authorization" in sent]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Listener

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.got.append((self.path, headers))
        value = self.server.says
        if self.server.pages is not None and self.path.startswith("/api/agents"):
            value = next(self.server.pages)
        if self.server.secret is not None and CHALLENGE_HEADER in self.headers:
            challenge = self.headers[CHALLENGE_HEADER]
            value = {"status": "ok", "proof": instance_access_proof(self.server.secret, challenge)}
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.server.hangs_up:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def listening() -> Iterator[Listener]:
    with Listener() as listener:
        thread = Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield listener
        finally:
            listener.shutdown()
            thread.join()


@pytest.fixture
def listener() -> Iterator[Listener]:
    with listening() as listener:
        yield listener


def folder_of_server(folder: Path, *, endpoint: str | None, secret: str | None) -> Path:
    (folder / "owner.key").write_text("oc_owner\n", encoding="utf-8")
    if endpoint is not None:
        (folder / "endpoint").write_text(f"{endpoint}\n", encoding="utf-8")
    if secret is not None:
        (folder / "instance").write_text(f"{secret}\n", encoding="utf-8")
    return folder


class OpenClient(Protocol):
    """Opens a client of the server that `find_server_address` finds."""

    def __call__(self, folder: Path, language: CliLanguage = EN, **given: str) -> Client: ...


@pytest.fixture
def open_client() -> Iterator[OpenClient]:
    with ExitStack() as stack:

        def open_one(folder: Path, language: CliLanguage = EN, **given: str) -> Client:
            client = Client(find_server_address(data=folder, **given), SentenceCatalog(language))
            stack.callback(client._http.close)
            return client

        yield open_one


def test_the_server_of_the_folder_gets_the_key_and_never_the_secret(
    listener: Listener, open_client: OpenClient, tmp_path: Path
) -> None:
    listener.secret = "s3cret"
    client = open_client(folder_of_server(tmp_path, endpoint=listener.url, secret="s3cret"))
    client.get("agents")
    client.get("agents")
    assert [path for path, _ in listener.got] == ["/api/health", "/api/agents"] * 2
    assert listener.keys == ["Bearer oc_owner"] * 2
    assert "s3cret" not in str(listener.got)
    challenges = {sent.get("x-opencrab-challenge") for _, sent in listener.got} - {None}
    assert len(challenges) == 2, "each is new, so no answer can be kept for later"


@pytest.mark.parametrize("says", [{}, {"proof": "0" * 64}, {"proof": None}, {"proof": 1}, [], "é"])
def test_a_stranger_on_the_port_of_a_server_that_died_gets_no_key(
    listener: Listener, open_client: OpenClient, tmp_path: Path, says: Any
) -> None:
    listener.says = says
    folder = folder_of_server(tmp_path, endpoint=listener.url, secret="s3cret")
    for language in (EN, JA):
        with pytest.raises(Unavailable) as refused:
            open_client(folder, language).get("agents")
        assert listener.url in refused.value.message
        assert "`opencrab up`" in str(refused.value.cure)
    assert len(listener.got) == 2
    assert listener.keys == []
    assert "oc_" not in str(listener.got)


@LANGUAGES
def test_where_nothing_runs_nobody_is_even_asked(
    listener: Listener, open_client: OpenClient, tmp_path: Path, language: CliLanguage
) -> None:
    # As a server of an earlier version leaves it that was killed: the address and no secret.
    folder = folder_of_server(tmp_path, endpoint=listener.url, secret=None)
    with pytest.raises(Unavailable):
        open_client(folder, key="oc_mine").get("agents")
    with pytest.raises(Unavailable) as refused:
        open_client(folder, language).get("agents")
    assert listener.got == []
    assert str(tmp_path) in refused.value.message
    assert "`opencrab up`" in str(refused.value.cure)


@LANGUAGES
def test_a_stopped_installation_sends_its_key_to_no_usual_address(
    open_client: OpenClient, tmp_path: Path, language: CliLanguage
) -> None:
    client = open_client(folder_of_server(tmp_path, endpoint=None, secret=None), language)
    with pytest.raises(Unavailable) as refused:
        client.get("agents")
    assert "127.0.0.1:8080" in refused.value.message
    assert "`opencrab up`" in str(refused.value.cure)


@LANGUAGES
def test_another_address_gets_no_key_of_the_folder_and_the_user_is_told(
    listener: Listener, open_client: OpenClient, tmp_path: Path, language: CliLanguage
) -> None:
    folder = folder_of_server(tmp_path, endpoint="http://127.0.0.1:1", secret="s3cret")
    client = open_client(folder, language, url=listener.url)
    client.get("health")
    assert listener.keys == []
    with pytest.raises(Unauthenticated) as refused:
        raise client._unauthenticated()
    assert str(folder / "owner.key") in refused.value.message
    assert "--key" in str(refused.value.cure)


def test_what_the_user_gave_together_goes_there_unasked(
    listener: Listener, open_client: OpenClient, tmp_path: Path
) -> None:
    folder = folder_of_server(tmp_path, endpoint="http://127.0.0.1:1", secret="s3cret")
    open_client(folder, url=listener.url, key="oc_mine").get("agents")
    assert listener.keys == ["Bearer oc_mine"]
    assert len(listener.got) == 1


def test_a_port_that_changes_hands_between_two_requests_gets_no_key(
    listener: Listener, open_client: OpenClient, tmp_path: Path
) -> None:
    listener.secret = "s3cret"
    client = open_client(folder_of_server(tmp_path, endpoint=listener.url, secret="s3cret"))
    client.get("agents")
    listener.secret = None
    with pytest.raises(Unavailable):
        client.get("agents")
    assert listener.keys == ["Bearer oc_owner"]
