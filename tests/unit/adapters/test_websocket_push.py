"""Pushing through API Gateway: what is sent, and what its refusals mean."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from botocore.stub import Stubber

from opencrab.adapters.aws_client import aws_service_client
from opencrab.adapters.websocket_push import ApiGatewayPush
from opencrab.domain.errors import NotFound, Unavailable
from tests.aws import open_client

ID = "BFHPhfCWIAMCKlQ="


class Api:
    """A client whose answers are set beforehand; they are checked against AWS's own model."""

    def __init__(self) -> None:
        self.client: Any = open_client("apigatewaymanagementapi")
        self.answers = Stubber(self.client)
        self.push = ApiGatewayPush(self.client)

    def refuses(self, method: str, code: str, status: int) -> None:
        self.answers.add_client_error(method, code, http_status_code=status)


@pytest.fixture
def api() -> Iterator[Api]:
    made = Api()
    with made.answers:
        yield made
        made.answers.assert_no_pending_responses()


@pytest.mark.parametrize("text", ['{"delta":"海へ🦀"}', '{"delta":"to the sea"}'])
def test_a_frame_is_sent_as_utf_8(api: Api, text: str) -> None:
    sent = {"ConnectionId": ID, "Data": text.encode()}
    api.answers.add_response("post_to_connection", {}, sent)
    api.push.send(ID, text)


def test_a_connection_that_is_gone_is_not_found(api: Api) -> None:
    api.refuses("post_to_connection", "GoneException", 410)
    with pytest.raises(NotFound):
        api.push.send(ID, "{}")


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("LimitExceededException", 429),
        ("ForbiddenException", 403),
        ("PayloadTooLargeException", 413),
        ("InternalServerError", 500),
    ],
)
def test_every_other_refusal_means_that_it_takes_nothing(api: Api, code: str, status: int) -> None:
    api.refuses("post_to_connection", code, status)
    with pytest.raises(Unavailable):
        api.push.send(ID, "{}")


def test_a_connection_is_cut(api: Api) -> None:
    api.answers.add_response("delete_connection", {}, {"ConnectionId": ID})
    api.push.disconnect(ID)


def test_a_connection_that_is_gone_is_as_good_as_cut(api: Api) -> None:
    api.refuses("delete_connection", "GoneException", 410)
    api.push.disconnect(ID)


def test_one_that_cannot_be_cut_is_told(api: Api) -> None:
    api.refuses("delete_connection", "InternalServerError", 500)
    with pytest.raises(Unavailable):
        api.push.disconnect(ID)


class Wire(ThreadingHTTPServer):
    """An API that does with each request what comes next: answer, close at once, or be silent."""

    daemon_threads = True

    def __init__(self, *does: int | str) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.does, self.heard, self.over = list(does), 0, threading.Event()


class _Request(BaseHTTPRequestHandler):
    server: Wire
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.heard += 1
        does = self.server.does.pop(0)
        if does == "silent":
            self.server.over.wait(10)
        if isinstance(does, str):
            self.close_connection = True
            return
        self.send_response(does)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_arguments: object) -> None:
        pass


@contextmanager
def wire(*does: int | str) -> Iterator[tuple[Wire, ApiGatewayPush]]:
    """Such an API, and the way to push through it with one attempt for each call."""
    with Wire(*does) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        made = aws_service_client(
            "apigatewaymanagementapi",
            read_seconds=0.2,
            attempts=1,
            endpoint_url=f"http://127.0.0.1:{server.server_address[1]}",
            region_name="ap-northeast-1",
            aws_access_key_id="made-up",
            aws_secret_access_key="made-up",
        )
        yield server, ApiGatewayPush(made)
        server.over.set()
        server.shutdown()
        thread.join(60)


@pytest.mark.parametrize("does", ["silent", 500, 429])
def test_what_may_have_arrived_is_not_sent_again(does: int | str) -> None:
    with wire(does, 200) as (server, push):
        with pytest.raises(Unavailable):
            push.send(ID, "{}")
        assert server.heard == 1


def test_a_dropped_connection_to_the_api_is_made_anew_once() -> None:
    with wire(200, "close", 200, "close", "close") as (server, push):
        push.send(ID, "{}")
        push.send(ID, "{}")
        assert server.heard == 3
        with pytest.raises(Unavailable):
            push.send(ID, "{}")
        assert server.heard == 5
