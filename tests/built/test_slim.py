"""The layer's botocore knows what we call, and less of everything else."""

import gzip
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import ROOT


def only_sqs(folder: str, names: list[str]) -> set[str]:
    """Leave out other services' descriptions, which are large."""
    if Path(folder).name != "data":
        return set()
    return {name for name in names if (Path(folder) / name).is_dir() and name != "sqs"}


@pytest.fixture(scope="module")
def program() -> ModuleType:
    """layers/dependencies/slim.py, which belongs to no package."""
    path = ROOT / "layers" / "dependencies" / "slim.py"
    spec = importlib.util.spec_from_file_location("slim", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_service_that_we_call_stays(program: ModuleType) -> None:
    package = ROOT / "layers" / "opencrab" / "python" / "opencrab"
    asked = re.compile(r"\b(?:DeferredAwsClient|open_client)\(\s*\"([a-z0-9-]+)\"")
    called = {
        name
        for path in package.rglob("*.py")
        for name in asked.findall(path.read_text(encoding="utf-8"))
    }
    assert {"s3", "sqs", "ssm"} <= called
    assert called <= program.SERVICES


def test_words_for_people_go_and_members_of_that_name_stay(program: ModuleType) -> None:
    told = {
        "documentation": "<p>words</p>",
        "shapes": {"Page": {"members": {"documentation": {"shape": "Text"}}, "required": ["a"]}},
    }
    assert program.without_words(told) == {
        "documentation": "",
        "shapes": {"Page": {"members": {"documentation": {"shape": "Text"}}, "required": ["a"]}},
    }


def test_endpoints_of_other_services_go(program: ModuleType) -> None:
    partition = {
        "partition": "aws",
        "services": {"sqs": {"a": 1}, "polly": {}},
        "regions": {"r": 1},
    }
    slimmed = program.without_others({"partitions": [partition]})
    assert slimmed["partitions"][0]["services"] == {"sqs": {"a": 1}}
    assert slimmed["partitions"][0]["regions"] == {"r": 1}


def test_a_folder_of_data_is_made_slim(program: ModuleType, tmp_path: Path) -> None:
    for service in ("sqs", "polly"):
        folder = tmp_path / service / "2012-11-05"
        folder.mkdir(parents=True)
        (folder / "examples-1.json").write_text("{}")
        with gzip.open(folder / "service-2.json.gz", "wt", encoding="utf-8") as file:
            json.dump({"metadata": {"id": "蟹"}, "documentation": "words"}, file)
    (tmp_path / "endpoints.json").write_text('{"partitions": []}')
    program.slim(tmp_path)
    files = (path for path in tmp_path.rglob("*") if path.is_file())
    left = sorted(path.relative_to(tmp_path).as_posix() for path in files)
    assert left == ["endpoints.json", "sqs/2012-11-05/service-2.json.gz"]
    with gzip.open(tmp_path / left[1], "rt", encoding="utf-8") as file:
        assert json.load(file) == {"metadata": {"id": "蟹"}, "documentation": ""}


def test_docstrings_of_clients_go_and_what_handlers_need_stays(
    program: ModuleType, tmp_path: Path
) -> None:
    found = importlib.util.find_spec("botocore")
    assert found is not None
    assert found.submodule_search_locations is not None
    copied = tmp_path / "botocore"
    shutil.copytree(found.submodule_search_locations[0], copied, ignore=only_sqs)
    program.leave_out_docstrings(copied / "docs")
    assert sorted(path.name for path in (copied / "docs").glob("*.py")) == [
        "__init__.py",
        "docstring.py",
        "utils.py",
    ]
    script = """
import sys
import botocore.session
client = botocore.session.Session().create_client(
    "sqs", region_name="r-1", aws_access_key_id="a", aws_secret_access_key="b"
)
print(botocore.__file__, client.meta.method_to_api_mapping["send_message"])
print(client.get_paginator("list_queues").__class__.__name__, "html.parser" in sys.modules)
"""
    ran = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    first, second = ran.stdout.splitlines() or [ran.stderr, ""]
    assert first == f"{copied / '__init__.py'} SendMessage"
    assert second == "SQS.Paginator.ListQueues False"
