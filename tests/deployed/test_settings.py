"""A settings file that is uploaded to a running stack: it counts without a deployment."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.s3_files.settings_file import S3SettingsFile
from opencrab.bootstrap.aws.uploaded_settings import LOOK_SECONDS
from opencrab.domain.configuration.uploaded_file import SETTINGS_KEY
from tests.deployed.emulator import REGION, plain_environment, rest
from tests.deployed.stack import STAGE, Stack

pytest_plugins = ["tests.deployed.fixture"]
pytestmark = [pytest.mark.deployed, pytest.mark.timeout(900)]

FILE = """
[llm.aliases]
tide = "scripted:rules"

[llm.fallback]
chain = ["tide"]

[web]
allow = ["https://docs.example.org/"]
"""
BIN = Path(sys.executable).parent
SOON = 60.0
"""Seconds within which a file counts: what the documentation promises."""


@pytest.fixture(scope="module")
def file(stack: Stack) -> Iterator[S3SettingsFile]:
    """The stack's settings file; the tests of other modules find none that says anything."""
    made = S3SettingsFile(stack.emulator.client("s3"), stack.outputs["BucketName"])
    yield made
    made.replace(b"")
    soon(lambda: setting(stack, "web.allow")["value"] == [])


def soon(look: Callable[[], Any]) -> Any:
    """What is found within a minute, and how long that took."""
    began = time.monotonic()
    while not (found := look()):
        assert time.monotonic() - began < SOON + 15, "it took longer than a minute"
        rest(1)
    return found


def setting(stack: Stack, name: str) -> Any:
    """A setting as the REST function has it."""
    rows = stack.told("GET", "/settings")["settings"]
    return next(each for each in rows if each["name"] == name)


def config(stack: Stack, *words: str) -> str:
    """What `opencrab config` says of the stack to its operator."""
    run = subprocess.run(
        [BIN / "opencrab", "config", words[0], *words[1:], "--stage", STAGE],
        env={
            **plain_environment(stack.emulator.folder),
            **stack.emulator.environment(),
            "AWS_REGION": REGION,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def answer_of(stack: Stack, agent: str, text: str) -> str:
    """What a new session has after an agent's turn; on a busy machine that takes its time."""
    session = stack.session(agent)
    (turn_id,) = stack.say(session, text, prefer="")["turn_ids"]
    ended = stack.ended(turn_id, 120)
    assert ended["status"] == "completed", ended
    said = stack.told("GET", f"/sessions/{session}/messages")["items"]
    return " ".join(str(each["text"]) for each in said if each["kind"] == "speech")


def test_an_uploaded_file_counts_without_a_deployment(stack: Stack, file: S3SettingsFile) -> None:
    before = stack.emulator.client("lambda").get_function(FunctionName=stack.function("agent-turn"))
    asked = {"models": {"conversation": "tide"}}
    agent = stack.agent("Umi")
    refused = stack.ask("PUT", f"/agents/{agent}/llm/config", asked)
    assert refused.status == 422, refused
    # It is warm from here on, and does not look again by itself before the REST function has.
    assert "before" in answer_of(stack, agent, "say before the tide")
    path = stack.emulator.folder / "config.toml"
    path.write_text(FILE, encoding="utf-8")
    assert "uploaded" in config(stack, "push", str(path))
    assert FILE.strip() in config(stack, "pull")
    assert "current" in config(stack, "versions")
    soon(lambda: setting(stack, "web.allow")["value"] == ["https://docs.example.org/"])
    assert setting(stack, "llm.aliases.tide") == {
        "name": "llm.aliases.tide",
        "value": "scripted:rules",
        "origin": "file",
        "from": "settings/config.toml:3",
    }
    assert stack.told("GET", "/llm/aliases")["aliases"]["tide"] == "scripted:rules"
    assert stack.told("GET", "/llm/fallback")["fallback"] == ["tide"]
    stack.told("PUT", f"/agents/{agent}/llm/config", asked)
    assert "the tide is in" in answer_of(stack, agent, "say the tide is in")
    after = stack.emulator.client("lambda").get_function(FunctionName=stack.function("agent-turn"))
    assert after["Configuration"]["RevisionId"] == before["Configuration"]["RevisionId"]


def test_a_broken_file_is_survived_and_told(stack: Stack, file: S3SettingsFile) -> None:
    file.replace(FILE.encode())
    soon(lambda: setting(stack, "web.allow")["value"])
    # Past the check, as somebody may do with other tools.
    bucket, s3 = stack.outputs["BucketName"], stack.emulator.client("s3")
    s3.put_object(Bucket=bucket, Key=SETTINGS_KEY, Body=b"[web]\nalow = []\n")
    found = soon(lambda: stack.told("GET", "/setup")["settings_file"]["problem"])
    assert found == "settings/config.toml:2: there is no setting web.alow"
    assert setting(stack, "web.allow")["value"] == ["https://docs.example.org/"]
    assert "still here" in answer_of(stack, stack.agent("Umi"), "say still here")


def test_functions_may_read_the_file_and_write_nothing_there(
    stack: Stack, file: S3SettingsFile
) -> None:
    file.replace(FILE.encode())
    bucket = stack.outputs["BucketName"]
    for role in ("AgentTurn", "RestGateway", "Heartbeat", "Delivery", "MetaAnalysis"):
        s3 = stack.emulator.client("s3", stack.acting_as(role))
        assert s3.get_object(Bucket=bucket, Key=SETTINGS_KEY)["Body"].read() == FILE.encode()
        with pytest.raises(s3.exceptions.ClientError, match="AccessDenied"):
            s3.put_object(Bucket=bucket, Key=SETTINGS_KEY, Body=b"")
    assert LOOK_SECONDS < SOON
