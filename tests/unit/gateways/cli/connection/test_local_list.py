"""A list of a server on this computer, read without httpx: who gets the key, and what comes."""

from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from opencrab.domain.errors import OpenCrabError, Refused, Unavailable
from opencrab.gateways.cli.app import build_cli_app
from opencrab.gateways.cli.completion.candidates import Candidates, completion_candidates
from opencrab.gateways.cli.connection.address import find_server_address
from opencrab.gateways.cli.connection.local_list import list_over_server_connection
from opencrab.gateways.cli.terminal.options import Options
from tests.unit.gateways.cli.completion.test_candidates import agent
from tests.unit.gateways.cli.connection.test_proven_key import (
    Listener,
    folder_of_server,
    listener,
    listening,
)

__all__ = ["listener"]


def read(folder: Path, **given: str) -> list[dict[str, Any]]:
    address = find_server_address(data=folder, **given)
    return list(list_over_server_connection(address, "agents", 30))


def pages(*found: Any) -> Iterator[Any]:
    """Pages of a list, each with where the next one begins."""
    for place, items in enumerate(found, start=1):
        yield {"items": items, "next_cursor": f"c/{place}" if place < len(found) else None}


def test_every_page_is_read_and_each_time_the_server_proves_itself(
    listener: Listener, tmp_path: Path
) -> None:
    listener.secret, listener.pages = "s3cret", pages([{"id": "a"}, {"id": "b"}], [{"id": "c"}])
    folder = folder_of_server(tmp_path, endpoint=listener.url, secret="s3cret")
    assert [each["id"] for each in read(folder)] == ["a", "b", "c"]
    list_path = "/api/agents?limit=100"
    asked = ["/api/health", list_path, "/api/health", f"{list_path}&cursor=c%2F1"]
    assert [path for path, _ in listener.got] == asked
    assert listener.keys == ["Bearer oc_owner"] * 2
    assert "s3cret" not in str(listener.got)


@pytest.mark.parametrize("says", [{}, {"proof": "0" * 64}, {"proof": None}, [], "é"])
def test_a_stranger_on_the_port_gets_no_key(listener: Listener, tmp_path: Path, says: Any) -> None:
    listener.says = says
    folder = folder_of_server(tmp_path, endpoint=listener.url, secret="s3cret")
    with pytest.raises(OpenCrabError):
        read(folder)
    assert len(listener.got) == 1
    assert "oc_" not in str(listener.got)


def test_the_key_goes_over_the_connection_of_the_proof_or_not_at_all(
    listener: Listener, tmp_path: Path
) -> None:
    listener.secret, listener.hangs_up = "s3cret", True
    with pytest.raises(HTTPException):
        read(folder_of_server(tmp_path, endpoint=listener.url, secret="s3cret"))
    assert [path for path, _ in listener.got] == ["/api/health"]
    assert listener.keys == []


def test_where_nothing_runs_nobody_is_asked(listener: Listener, tmp_path: Path) -> None:
    with pytest.raises(Refused):
        read(folder_of_server(tmp_path, endpoint=listener.url, secret=None))
    assert listener.got == []


def test_a_key_that_was_given_goes_to_the_address_that_was_given_with_it(
    listener: Listener, tmp_path: Path
) -> None:
    listener.says = {"items": []}
    with listening() as other:
        folder = folder_of_server(tmp_path, endpoint=other.url, secret="s3cret")
        assert read(folder, url=listener.url, key="oc_mine") == []
        assert read(folder, url=listener.url) == []
        assert other.got == []
    assert listener.keys == ["Bearer oc_mine"]


def test_another_answer_is_no_list(listener: Listener, tmp_path: Path) -> None:
    listener.says = ["?"]
    with pytest.raises(Unavailable):
        read(tmp_path, url=listener.url, key="oc_mine")


def test_names_are_completed_by_it(listener: Listener, tmp_path: Path) -> None:
    gone = agent("Rex", "rex") | {"status": "retired"}
    listener.secret = "s3cret"
    listener.pages = pages([agent("Ada", "a"), agent("さくら", "s"), gone])
    options = Options(data=folder_of_server(tmp_path, endpoint=listener.url, secret="s3cret"))
    program = get_command(build_cli_app(lambda _options: 0))
    found = completion_candidates(program, ["chat", ""], options)
    assert found == Candidates("values", (("Ada", "a"), ("さくら", "s")))
