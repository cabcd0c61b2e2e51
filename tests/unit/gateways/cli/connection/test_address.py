"""Which server a command speaks to, and that the owner's key goes to no stranger."""

from pathlib import Path

import pytest
import typer

from opencrab.domain.errors import Invalid, Refused
from opencrab.gateways.cli.connection.address import (
    DEFAULT_URL,
    ServerAddress,
    find_server_address,
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "owner.key").write_text("oc_owner\n", encoding="utf-8")
    return tmp_path


def test_without_anything_the_usual_address_is_used_and_no_key(tmp_path: Path) -> None:
    address = find_server_address(data=tmp_path / "nowhere")
    assert (address.url, address.key) == (DEFAULT_URL, None)


def test_what_opencrab_up_wrote_is_found(data: Path) -> None:
    (data / "endpoint").write_text("http://127.0.0.1:9321\n", encoding="utf-8")
    address = find_server_address(data=data)
    assert (address.url, address.key) == ("http://127.0.0.1:9321", "oc_owner")


def test_an_owner_key_in_dotenv_is_found_unless_there_is_a_file_for_it(data: Path) -> None:
    (data / ".env").write_text("# 鍵\nOPENCRAB_OWNER_KEY=oc_env\nnonsense\n", encoding="utf-8")
    assert find_server_address(data=data).key == "oc_owner"
    (data / "owner.key").unlink()
    assert find_server_address(data=data).key == "oc_env"
    (data / ".env").write_text("A=1\n", encoding="utf-8")
    assert find_server_address(data=data).key is None


def test_what_was_said_wins_over_what_was_found(data: Path) -> None:
    (data / "endpoint").write_text("http://127.0.0.1:9321\n", encoding="utf-8")
    address = find_server_address(data=data, url="http://localhost:1", key="mine")
    assert (address.url, address.key) == ("http://localhost:1", "mine")


@pytest.mark.parametrize("url", ["http://localhost:8080", "http://[::1]:8080/api"])
def test_the_owner_key_is_for_the_address_of_its_folder_by_any_name(data: Path, url: str) -> None:
    (data / "endpoint").write_text("http://127.0.0.1:8080\n", encoding="utf-8")
    address = find_server_address(data=data, url=url)
    assert address == ServerAddress("http://127.0.0.1:8080", "oc_owner", folder=data)


@pytest.mark.parametrize("key", [None, "oc_given"])
def test_a_key_for_an_address_that_nobody_named_needs_a_proof(data: Path, key: str | None) -> None:
    address = find_server_address(data=data, key=key)
    assert address == ServerAddress(DEFAULT_URL, key or "oc_owner", folder=data)


def test_an_address_elsewhere_that_up_wrote_needs_a_proof_and_one_by_hand_does_not(
    data: Path,
) -> None:
    (data / "endpoint").write_text("http://0.0.0.0:8080\n", encoding="utf-8")
    assert find_server_address(data=data).folder is None
    (data / "instance").write_text("secret\n", encoding="utf-8")
    assert find_server_address(data=data).folder == data


@pytest.mark.parametrize("endpoint", [None, "http://127.0.0.1:8081", "https://127.0.0.1:8080"])
@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8080",
        "http://127.0.0.1",
        "http://127.9.9.9:1",
        "http://[::1]:8080",
        "https://crab.example",
        "http://127.0.0.1.example",
        "http://localhost.example",
        "http://127.0.0.1@evil.example",
        "http://192.168.0.2:8080",
    ],
)
def test_the_owner_key_goes_to_no_address_that_its_folder_does_not_name(
    data: Path, url: str, endpoint: str | None
) -> None:
    if endpoint is not None:
        (data / "endpoint").write_text(f"{endpoint}\n", encoding="utf-8")
    address = find_server_address(data=data, url=url)
    assert (address.key, address.withheld) == (None, data / "owner.key")


def test_the_owner_key_goes_to_the_address_that_its_folder_names(data: Path) -> None:
    (data / "endpoint").write_text("http://192.168.0.2:8080\n", encoding="utf-8")
    assert find_server_address(data=data).key == "oc_owner"
    assert find_server_address(data=data, url="http://192.168.0.2:8080/").key == "oc_owner"
    assert find_server_address(data=data, url="http://192.168.0.2:8081").key is None


@pytest.mark.parametrize("url", ["http://h:1/", "http://h:1/api", "http://h:1/api/", " http://h:1"])
def test_an_address_may_be_copied_with_what_stands_around_it(data: Path, url: str) -> None:
    assert find_server_address(data=data, url=url).url == "http://h:1"


@pytest.mark.parametrize(
    "url", ["localhost:8080", "ftp://h", "http:", "http://h:99999", "http://h:0", "http://a b"]
)
def test_what_is_no_address_is_named(data: Path, url: str) -> None:
    with pytest.raises(typer.BadParameter) as refused:
        find_server_address(data=data, url=url)
    assert repr(url) in refused.value.message


@pytest.mark.parametrize("key", ["鍵", "a\nb", "a\x1bb"])
def test_a_key_with_characters_that_no_key_has_is_never_sent(data: Path, key: str) -> None:
    with pytest.raises(Invalid, match="API key"):
        find_server_address(data=data, key=key)


def test_a_key_file_that_cannot_be_read_is_an_error_with_a_cure(data: Path) -> None:
    (data / "owner.key").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(Refused) as refused:
        find_server_address(data=data)
    assert str(data / "owner.key") in refused.value.message
    assert refused.value.cure


def test_an_empty_key_file_is_no_key(data: Path) -> None:
    (data / "owner.key").write_text("\n", encoding="utf-8")
    assert find_server_address(data=data).key is None
