"""`opencrab up`: what it prints and keeps, and how it ends."""

import re
import signal
from pathlib import Path

import pytest

from tests.integration.cli.house import House, running


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
    with running(tmp_path) as house:
        key = (house.data / "owner.key").read_text(encoding="utf-8")
        house.run("agents", "create", "--name", "さくら")
        assert (house.data / "endpoint").is_file()
        assert house.stop(number) == 0
        assert not (house.data / "endpoint").exists()
    with running(tmp_path) as again:
        assert (again.data / "owner.key").read_text(encoding="utf-8") == key
        assert "さくら" in again.run("agents", "list").out


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
