"""A folder of the owner's computer as an agent's vault: attached by its owner, used in place."""

from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from opencrab.adapters.local_files import AttachedFiles
from tests.integration.rest.house import House, problem


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "Obsidian"
    folder.mkdir()
    (folder / "朝会.md").write_text("公開の準備", encoding="utf-8")
    return folder


@pytest.fixture
def home(house: House, tmp_path: Path) -> House:
    """A house on its owner's computer."""
    files = AttachedFiles(tmp_path / "data")
    house.furnish(home=replace(house.runtime.home, files=files, folders=files))
    return house


def test_an_owner_attaches_and_detaches_a_folder(home: House, vault: Path) -> None:
    agent_id = home.agent()
    place = f"/agents/{agent_id}/folders"
    kept = home.call("PUT", f"{place}/vault", {"folder": str(vault)})
    assert kept.json() == {"items": [{"place": "vault", "folder": str(vault)}]}
    assert home.call("GET", place).json() == kept.json()
    note = f"/agents/{agent_id}/workspace/{quote('vault/朝会.md')}"
    assert home.call("GET", note).text == "公開の準備"
    assert home.call("PUT", f"{place}/vault", {"folder": None}).json() == {"items": []}
    assert home.call("GET", note).status_code == 404
    assert (vault / "朝会.md").read_text(encoding="utf-8") == "公開の準備"


def test_the_folder_of_another_agent_is_refused_until_that_one_retires(
    home: House, vault: Path
) -> None:
    first, second = home.agent(), home.agent()
    home.call("PUT", f"/agents/{first}/folders/vault", {"folder": str(vault)})
    place = f"/agents/{second}/folders/vault"
    refused = home.call("PUT", place, {"folder": str(vault)})
    assert "is in use" in problem(refused, 409)["detail"]
    home.call("DELETE", f"/agents/{first}")
    assert (vault / "朝会.md").exists()
    assert home.call("PUT", place, {"folder": str(vault)}).status_code == 200
    late = home.call("PUT", f"/agents/{first}/folders/vault", {"folder": str(vault)})
    assert "has retired" in problem(late, 409)["detail"]


def test_on_aws_no_folder_can_be_attached(house: House, vault: Path) -> None:
    """The house keeps its files in a home without folders, as AWS does."""
    agent_id = house.agent()
    place = f"/agents/{agent_id}/folders"
    refused = house.call("PUT", f"{place}/workspace", {"folder": str(vault)})
    assert "runs on AWS" in problem(refused, 422)["detail"]
    assert house.call("GET", place).json() == {"items": []}
    unknown = house.call("PUT", f"{place}/elsewhere", {"folder": str(vault)})
    assert unknown.status_code == 422
