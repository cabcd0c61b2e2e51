"""The real template, built for this computer and deployed to the emulator by `sam deploy`."""

import hashlib
import http.client
import json
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.conftest import ROOT
from tests.deployed.emulator import (
    ENVIRONMENT,
    Credentials,
    Emulator,
    plain_environment,
    rest,
)
from tests.discord.fake import GUILD_ID, OWNER, FakeDiscord

SAM = ROOT / ".venv-sam" / "bin" / "sam"
STAGE = "test"
NAME = f"opencrab-{STAGE}"
KEY = "oc_the-owner-of-the-deployed-house"
ORIGIN = "https://crab.example.org"
BUILD_SECONDS = 540
"""How long a build or a deployment may take, with pip and everything on a slow computer."""

ANSWER_SECONDS = 240
"""How long an answer may take that needs no other time than a slow computer's."""

SECRETS = {"STUB_API_KEY": "sk-kept-in-secrets-manager"}
ROLES = (
    *("RestAuthorizer", "RestGateway", "AgentTurn", "Delivery", "Heartbeat"),
    *("MetaAnalysis", "Compaction", "SearchIndexer"),
    *("DiscordGateway", "DiscordInteractions", "WebsocketGateway"),
)

_BASE = "import sys; print(getattr(sys, '_base_executable', sys.executable))"


@dataclass(frozen=True)
class Answer:
    """What the API answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    seconds: float

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Stack:
    """A deployed stack: what it told, its front door, and its parts."""

    emulator: Emulator
    built: Path
    outputs: Mapping[str, str]

    @property
    def root(self) -> str:
        """Where the emulator serves the HTTP API: the stack's own URL names a host of AWS."""
        api_id = self.outputs["ApiUrl"].removeprefix("https://").partition(".")[0]
        return f"/_aws/execute-api/{api_id}/$default"

    @property
    def socket_root(self) -> str:
        """Where the emulator serves the WebSocket API."""
        host, _, stage = self.outputs["WebSocketUrl"].removeprefix("wss://").partition("/")
        return f"/_aws/execute-api/{host.partition('.')[0]}/{stage}"

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = KEY,
        below: str = "/api",
        **headers: str,
    ) -> Answer:
        """One request through API Gateway; `headers` are named with underscores."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        content = body if isinstance(body, bytes) else None if body is None else json.dumps(body)
        if content is not None:
            sent.setdefault("content-type", "application/json")
        if key is not None:
            sent["authorization"] = f"Bearer {key}"
        began = time.monotonic()
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.emulator.port, timeout=60, context=self.emulator.trust
        )
        try:
            connection.request(method, f"{self.root}{below}{path}", content, sent)
            answer = connection.getresponse()
            given = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, given, answer.read(), time.monotonic() - began)
        finally:
            connection.close()

    def told(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """The JSON of a request that works."""
        answer = self.ask(method, path, body, **headers)
        assert answer.status < 300, answer
        return answer.json

    def agent(self, name: str, language: str = "en", **settings: Any) -> str:
        """A new agent's id; it sleeps until it is asked, as the emulator has enough to do."""
        quiet = {"enabled": False}
        wanted = {"name": name, "language": language, "heartbeat": quiet, **settings}
        return str(self.told("POST", "/agents", wanted)["id"])

    def session(self, *agent_ids: str) -> str:
        """A new session's id."""
        return str(self.told("POST", "/sessions", {"participants": agent_ids})["id"])

    def say(self, session_id: str, text: str, **headers: str) -> Any:
        """A message and what was answered to it; nothing if nobody waits, with `prefer=""`.

        API Gateway waits for half a minute only, which a slow computer needs to start a function:
        so the same is sent again until all has been answered.
        """
        path = f"/sessions/{session_id}/messages"
        if "prefer" in headers:
            return self.told("POST", path, {"text": text}, **headers)
        key = {"idempotency_key": f"said-{time.monotonic_ns()}", **headers}
        deadline = time.monotonic() + ANSWER_SECONDS
        while True:
            said = self.told("POST", path, {"text": text}, prefer="wait=20", **key)
            if not said["pending"] or time.monotonic() > deadline:
                return said

    def ended(self, turn_id: str, seconds: float) -> Any:
        """A turn's story once it has ended; how it stands if that takes longer."""
        deadline = time.monotonic() + seconds
        while True:
            story = self.told("GET", f"/turns/{turn_id}")
            if story["ended_at"] is not None or time.monotonic() >= deadline:
                return story
            rest(0.5)

    def item(self, pk: str, sk: str) -> Any:
        """An item of the table as DynamoDB has it, None if it is not there."""
        key = {"pk": {"S": pk}, "sk": {"S": sk}}
        given = {"TableName": self.outputs["TableName"], "Key": key, "ConsistentRead": True}
        return self.emulator.client("dynamodb").get_item(**given).get("Item")

    def dead_letter(self, queue: str, body: str, seconds: float = ANSWER_SECONDS) -> Any:
        """A letter of a queue of dead letters, taken; None if none of that body comes."""
        sqs, url = self.emulator.client("sqs"), self.outputs[queue]
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = sqs.receive_message(
                QueueUrl=url, WaitTimeSeconds=1, MessageAttributeNames=["All"]
            )
            for letter in found.get("Messages", []):
                sqs.delete_message(QueueUrl=url, ReceiptHandle=letter["ReceiptHandle"])
                if letter["Body"] == body:
                    return letter
        return None

    def function(self, name: str) -> str:
        """A function's name in AWS."""
        return f"{NAME}-{name}"

    def configure(self, name: str, added: Mapping[str, str]) -> None:
        """Add variables to a function's environment, such as where the emulator serves a thing."""
        client, function = self.emulator.client("lambda"), self.function(name)
        known = client.get_function_configuration(FunctionName=function)["Environment"]
        environment = {"Variables": {**known["Variables"], **added}}
        client.update_function_configuration(FunctionName=function, Environment=environment)

    @cached_property
    def roles(self) -> Mapping[str, str]:
        """The ARN of each function's role, by its name in its template without `Role`."""
        found = self.emulator.client("iam").list_roles()["Roles"]
        named = {role["RoleName"]: str(role["Arn"]) for role in found}
        return {
            name: arn
            for name in ROLES
            for full, arn in named.items()
            if full.startswith(f"{NAME}-") and f"-{name}Role-" in full
        }

    def acting_as(self, role: str) -> Credentials:
        """Credentials with exactly the permissions of a function."""
        sts = self.emulator.client("sts")
        given = sts.assume_role(RoleArn=self.roles[role], RoleSessionName="test")["Credentials"]
        return Credentials(given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"])


def why_not() -> str:
    """Why nothing can be deployed here; empty when it can."""
    return "" if SAM.is_file() else "there is no .venv-sam: `make test-deployed` installs it"


def build(folder: Path) -> Path:
    """`sam build` of the checkout for this computer and the emulator's Python."""
    built = folder / "build"
    _run([SAM, "build", "--build-dir", built], folder, built_for_this_computer(folder), cwd=ROOT)
    return built


def built_for_this_computer(folder: Path) -> dict[str, str]:
    """What a build is told: neither the emulator nor the runtime's has arm64 wheels to run here."""
    python = _run([ENVIRONMENT / "bin" / "python", "-c", _BASE], folder, {}).strip()
    return {"LAMBDA_PLATFORM": "host", "LAMBDA_PYTHON": python}


def deploy(
    made: Emulator, built: Path, folder: Path, discord: FakeDiscord, **changed: str
) -> Stack:
    """`sam deploy` of what was built, with nothing in the template changed."""
    parameters = {
        "Stage": STAGE,
        "OwnerKeyHash": hashlib.sha256(KEY.encode()).hexdigest(),
        "DefaultProvider": "scripted",
        "DefaultModel": "rules",
        "SecretArn": changed.get("SecretArn") or _new_secret(made, discord),
        "RequestsPerSecond": "1000",
        "RequestsBurst": "1000",
        "Discord": "on",
        "DiscordApplicationId": discord.application_id,
        "DiscordPublicKey": discord.public_key,
        "DiscordGuildIds": GUILD_ID,
        "DiscordOwnerIds": OWNER.id,
        "DiscordApi": discord.url,
        "SearchVectors": "on",
        "WebSocket": "on",
        "WebSocketOrigins": ORIGIN,
        "WebDashboard": "on",
        **changed,
    }
    command = [SAM, "deploy", "--template-file", built / "template.yaml", "--stack-name", NAME]
    command += ["--resolve-s3", "--capabilities", "CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]
    command += ["--no-confirm-changeset", "--no-progressbar", "--parameter-overrides"]
    command += [f"{name}={value}" for name, value in parameters.items()]
    _run(command, folder, made.environment())
    stacks = made.client("cloudformation").describe_stacks(StackName=NAME)["Stacks"]
    outputs = {each["OutputKey"]: each["OutputValue"] for each in stacks[0]["Outputs"]}
    stack = Stack(made, built, outputs)
    _let_the_owner_act_as_functions(stack)
    return stack


def _new_secret(made: Emulator, discord: FakeDiscord) -> str:
    # With SSM, the default, the emulator asks for a permission on `*` where AWS asks for one on
    # the path: it does not find the resource of GetParametersByPath.
    secret = made.client("secretsmanager").create_secret(
        Name=f"{NAME}-keys", SecretString=json.dumps({**SECRETS, "DISCORD_TOKEN": discord.token})
    )
    return str(secret["ARN"])


def _let_the_owner_act_as_functions(stack: Stack) -> None:
    """Trust the account's owner with each role as Lambda is: permissions stay as they are."""
    iam = stack.emulator.client("iam")
    account = stack.roles["AgentTurn"].split(":")[4]
    owner = {"AWS": f"arn:aws:iam::{account}:root", "Service": "lambda.amazonaws.com"}
    statement = {"Effect": "Allow", "Principal": owner, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    for arn in stack.roles.values():
        iam.update_assume_role_policy(RoleName=arn.rpartition("/")[2], PolicyDocument=document)


def _run(
    command: list[Any], folder: Path, settings: Mapping[str, str], cwd: Path | None = None
) -> str:
    """What a program says; its whole output is told when it fails."""
    run = subprocess.run(
        [str(each) for each in command],
        cwd=cwd or folder,
        env={**plain_environment(folder), **settings},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=BUILD_SECONDS,
    )
    assert run.returncode == 0, f"{command[:2]}: {run.stdout[-3_000:]}\n{run.stderr[-3_000:]}"
    return run.stdout
