"""The way to worlds as settings name it: none by default, and loaded by the first message."""

import subprocess
import sys
from typing import Any

import pytest

from opencrab import settings
from opencrab.adapters.local_files.secrets import FileSecrets
from opencrab.bootstrap.aws.world_inbound import lambda_world_receiver
from opencrab.bootstrap.world import configured_world_link
from tests.conftest import ROOT
from tests.unit.bootstrap.aws.test_functions import LAMBDA, PLACES
from tests.unit.gateways.function import own_log

LIGHT = """
import sys
from pathlib import Path
from opencrab import settings
from opencrab.adapters.local_files.secrets import FileSecrets
from opencrab.bootstrap.world import configured_world_link
loaded = settings.load_settings({"world.bus": "worlds"})
assert configured_world_link(loaded, FileSecrets(Path("nowhere")))
print(*({"msgpack", "cryptography", "botocore"} & set(sys.modules)))
"""


def test_there_is_no_way_unless_a_bus_is_named(tmp_path: Any) -> None:
    secrets = FileSecrets(tmp_path)
    assert configured_world_link(settings.load_settings({}), secrets) is None
    link = configured_world_link(settings.load_settings({"world.bus": "worlds"}), secrets)
    assert link is not None
    assert link.secrets is secrets
    pair = link.envelopes.new_key()
    assert link.envelopes.key_id(pair.public_key) == pair.key_id
    assert pair.private_key not in repr(pair)


def test_nothing_is_loaded_before_the_first_message() -> None:
    command = [sys.executable, "-c", LIGHT]
    printed = subprocess.run(command, capture_output=True, check=True, timeout=60, cwd=ROOT)
    assert printed.stdout.decode().strip() == ""


def test_the_function_refuses_what_is_no_message_and_keeps_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {**PLACES, **LAMBDA, "OPENCRAB_WORLD__BUS": "worlds"}.items():
        monkeypatch.setenv(name, value)
    with own_log():
        receive = lambda_world_receiver()
        record = {"messageId": "m1", "body": '{"detail": {"envelope": "eA=="}}'}
        assert receive({"Records": [record]}, None) == {"batchItemFailures": []}
    assert "world message rejected: id=m1, code=invalid" in capsys.readouterr().out
