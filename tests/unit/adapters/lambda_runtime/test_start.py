"""Starting a function: a refusal says that it was not started, and silence says nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from opencrab.adapters.lambda_runtime.start import start_lambda_function
from opencrab.domain.errors import NeverSent, Unavailable


@contextmanager
def answering(status: int | None) -> Iterator[tuple[dict[str, str], list[tuple[str, bytes]]]]:
    """A Lambda that answers so, or hangs up without an answer: how to call it, what it heard."""
    heard = list[tuple[str, bytes]]()

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            heard.append((f"{self.path} {self.headers['X-Amz-Invocation-Type']}", body))
            if status is None:
                self.connection.close()
                return
            self.send_response(status)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Answer)
    Thread(target=server.serve_forever, daemon=True).start()
    keys = {"aws_access_key_id": "k", "aws_secret_access_key": "s", "region_name": "eu-west-1"}
    try:
        yield {"endpoint_url": f"http://127.0.0.1:{server.server_port}", **keys}, heard
    finally:
        server.shutdown()
        server.server_close()


def test_a_function_is_started_once_without_waiting_for_it() -> None:
    with answering(202) as (given, heard):
        start_lambda_function("crab", {"night": 3}, **given)
    assert heard == [("/2015-03-31/functions/crab/invocations Event", b'{"night": 3}')]


@pytest.mark.parametrize(
    ("status", "kind"),
    [(429, NeverSent), (403, NeverSent), (404, NeverSent), (500, Unavailable), (None, Unavailable)],
)
def test_only_a_call_that_perhaps_arrived_is_of_unknown_outcome(
    status: int | None, kind: type[Unavailable]
) -> None:
    with answering(status) as (given, heard), pytest.raises(Unavailable, match="crab") as told:
        start_lambda_function("crab", {"night": 1}, **given)
    assert (type(told.value), len(heard)) == (kind, 1), "no client repeats it"


def test_a_call_without_a_connection_was_never_sent() -> None:
    with answering(202) as (given, _):
        pass
    with pytest.raises(NeverSent, match="crab"):
        start_lambda_function("crab", {"night": 1}, **given)
