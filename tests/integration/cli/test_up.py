"""`opencrab up`: what it prints and keeps, and how it ends."""

import re
import signal
import socket
import threading
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests.integration.cli.house import House, free_port, running


def test_it_says_where_it_listens_what_it_thinks_with_and_ready(house: House) -> None:
    endpoint = (house.data / "endpoint").read_text(encoding="utf-8").strip()
    printed = "\n".join(house.printed)
    assert re.fullmatch(r"http://127\.0\.0\.1:[0-9]+", endpoint)
    for text in (endpoint, str(house.data), "scripted", "owner.key", "Ctrl-C"):
        assert text in printed
    assert house.printed[-1] == "ready"


def test_the_owner_key_is_readable_by_its_user_only(house: House) -> None:
    key = house.data / "owner.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert house.data.stat().st_mode & 0o077 == 0
    assert key.read_text(encoding="utf-8").strip() not in "\n".join(house.printed)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda n: n.name)
def test_a_signal_ends_it_well_and_takes_the_endpoint_away(
    tmp_path: Path, number: signal.Signals
) -> None:
    with running(tmp_path, anew=True) as house:
        key = (house.data / "owner.key").read_text(encoding="utf-8")
        house.run("agents", "create", "--name", "さくら")
        assert (house.data / "endpoint").is_file()
        assert house.stop(number) == 0
        assert not (house.data / "endpoint").exists()
        assert not (house.data / "instance").exists()
    with running(tmp_path) as again:
        assert (again.data / "owner.key").read_text(encoding="utf-8") == key
        assert "さくら" in again.run("agents", "list").out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda n: n.name)
def test_whoever_takes_the_port_of_a_server_that_ended_gets_no_key(
    tmp_path: Path, number: signal.Signals
) -> None:
    with running(tmp_path, anew=True) as house:
        endpoint = (house.data / "endpoint").read_text(encoding="utf-8").strip()
        assert (house.data / "instance").stat().st_mode & 0o777 == 0o600
        assert house.run("agents", "list").code == 0
        assert (
            house.run("--url", endpoint.replace("127.0.0.1", "localhost"), "keys", "list").code == 0
        )
        house.stop(number)
        got: list[bytes] = []
        with socket.create_server(("127.0.0.1", int(endpoint.rpartition(":")[2]))) as stranger:
            thread = threading.Thread(target=_answer_everybody, args=(stranger, got))
            thread.start()
            said = [
                house.run("--language", language, *args, "agents", "list")
                for language in ("en", "ja")
                for args in ((), ("--url", endpoint))
            ]
            stranger.shutdown(socket.SHUT_RDWR)
            thread.join()
        assert b"oc_" not in b"".join(got)
        for each in said:
            assert (each.code, each.out) == (3, "")
            assert "`opencrab up`" in each.err


def _is_ended(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def _answer_everybody(stranger: socket.socket, got: list[bytes]) -> None:
    """Take what comes, and answer as a server of another kind does."""
    with suppress(OSError):
        while True:
            connection, _ = stranger.accept()
            with connection:
                got.append(connection.recv(65_536))
                connection.sendall(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")


def test_half_open_connections_are_dropped_after_ten_seconds(house: House) -> None:
    port = int((house.data / "endpoint").read_text(encoding="utf-8").strip().rpartition(":")[2])
    half = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(60)]
    try:
        for connection in half[::2]:
            connection.sendall(b"POST /api/agents HTTP/1.1\r\nHost: x\r\nX-Half: ")
        assert house.run("agents", "list").code == 0
        assert all(_is_ended(connection) for connection in half)
    finally:
        for connection in half:
            connection.close()


def test_a_port_that_is_taken_is_told_with_a_cure(house: House, tmp_path: Path) -> None:
    endpoint = (house.data / "endpoint").read_text(encoding="utf-8").strip()
    port = endpoint.rpartition(":")[2]
    said = House(tmp_path).run_anew("up", "--port", port, "--provider", "scripted")
    assert said.code == 1
    assert port in said.err
    assert "--port" in said.err


def test_a_data_folder_serves_one_house_at_a_time(house: House) -> None:
    said = house.run_anew("up", "--provider", "scripted")
    assert said.code == 1
    assert str(house.data) in said.err
    assert (house.data / "endpoint").is_file(), "the house that runs keeps its endpoint"


def test_an_unknown_provider_is_told_with_those_that_exist(tmp_path: Path) -> None:
    said = House(tmp_path).run_anew("up", "--provider", "oracle")
    assert said.code == 1
    assert "'oracle'" in said.err
    assert "scripted" in said.err


BROWSER = {"accept": "text/html"}


def test_the_dashboard_has_a_port_of_its_own_beside_that_of_rest(tmp_path: Path) -> None:
    port = free_port()
    with running(tmp_path, more={"OPENCRAB_DASHBOARD__PORT": str(port)}) as house:
        endpoint = (house.data / "endpoint").read_text(encoding="utf-8").strip()
        page = f"http://127.0.0.1:{port}"
        assert endpoint != page
        for url in (endpoint, page):
            assert httpx.get(url, headers=BROWSER).text.startswith("<!doctype html>")
            assert httpx.get(f"{url}/api/health").status_code == 200
        link = house.run("open", "--print").out.strip()
        assert link.startswith(f"{page}/#sign-in=")
        body = {"code": link.partition("=")[2]}
        signed = httpx.post(f"{page}/api/sign-in", json=body, headers={"Origin": page}).json()
        assert signed == {"key": (house.data / "owner.key").read_text(encoding="utf-8").strip()}


def test_without_the_dashboard_a_browser_gets_nothing_and_the_terminal_says_why(
    tmp_path: Path,
) -> None:
    with running(tmp_path, more={"OPENCRAB_DASHBOARD__ENABLED": "false"}) as house:
        endpoint = (house.data / "endpoint").read_text(encoding="utf-8").strip()
        for path in ("/", "/agents", "/page/0123456789abcdef/main.js"):
            assert httpx.get(endpoint + path, headers=BROWSER).status_code == 401
        assert house.run("agents", "list").code == 0
        assert any("dashboard.enabled" in line for line in house.printed)
        assert "opencrab open" not in "\n".join(house.printed)
        for language, said in (("en", "the dashboard is off"), ("ja", "ダッシュボードが無効")):
            refused = house.run("--language", language, "open")
            assert (refused.code, refused.out) == (4, "")
            assert said in refused.err
            assert "OPENCRAB_DASHBOARD__ENABLED=true" in refused.err


@pytest.mark.parametrize("given", ["busy", "70000", "-1"])
def test_a_port_of_the_dashboard_that_cannot_be_used_is_an_error_that_names_the_setting(
    tmp_path: Path, given: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1]) if given == "busy" else given
        house = House(tmp_path)
        said = house.run("up", "--port", str(free_port()), OPENCRAB_DASHBOARD__PORT=port)
    assert said.code == 1
    assert port in said.err
    assert "dashboard.port" in said.err
