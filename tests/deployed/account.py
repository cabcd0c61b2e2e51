"""A stack of a random stage in an AWS account: deployed, asked, removed with all that it left.

`make test-aws` does it in an account of yours, `test_account.py` in the emulator, by the same code.
Everything made has the stage in its name, and only that is removed.
"""

import contextlib
import hashlib
import json
import os
import secrets
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import botocore.session
from botocore.config import Config
from botocore.exceptions import ClientError

SAM_BUCKET_STACK = "aws-sam-cli-managed-default"
_GONE = {"AccessDenied", "NoSuchBucket", "ResourceNotFoundException", "ValidationError"}

Say = Callable[[str], object]


@dataclass
class AccountStack:
    """One stack in an account; `environment` is that of SAM, and says whose account it is."""

    sam: Path
    built: Path
    folder: Path
    environment: Mapping[str, str]
    region: str
    say: Say
    api: Callable[[str], str] = str
    """The address at which the stack's API is served, from the one that the stack names."""
    trust: ssl.SSLContext | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    stage: str = field(default_factory=lambda: f"t{secrets.token_hex(4)}")
    key: str = field(default_factory=lambda: f"oc_{secrets.token_hex(32)}", repr=False)
    outputs: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The stack's name."""
        return f"opencrab-{self.stage}"

    @cached_property
    def _session(self) -> Any:
        return botocore.session.Session(profile=self.environment.get("AWS_PROFILE"))

    def client(self, service: str, **credentials: str) -> Any:
        """A client of one service, of the account's owner or with other credentials."""
        given = {
            "aws_access_key_id": self.environment.get("AWS_ACCESS_KEY_ID"),
            "aws_secret_access_key": self.environment.get("AWS_SECRET_ACCESS_KEY"),
            "aws_session_token": self.environment.get("AWS_SESSION_TOKEN"),
            **credentials,
        }
        return self._session.create_client(
            service,
            region_name=self.region,
            endpoint_url=self.environment.get("AWS_ENDPOINT_URL"),
            verify=self.environment.get("AWS_CA_BUNDLE"),
            config=Config(read_timeout=70),
            **given,
        )

    def deploy(self) -> None:
        """`sam deploy` of what was built, without Discord, search back end or alarms."""
        given = {
            "Stage": self.stage,
            "OwnerKeyHash": hashlib.sha256(self.key.encode()).hexdigest(),
            "DefaultProvider": "scripted",
            "DefaultModel": "rules",
            "LogRetentionDays": "1",
            "InstallationDayUsd": "0",
            "AgentDayUsd": "0",
            **self.parameters,
        }
        command: list[Any] = [self.sam, "deploy", "--template-file", self.built / "template.yaml"]
        command += ["--stack-name", self.name, "--s3-prefix", self.name, "--resolve-s3"]
        command += ["--capabilities", "CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]
        command += ["--region", self.region, "--no-confirm-changeset", "--no-progressbar"]
        command += ["--parameter-overrides", *(f"{name}={value}" for name, value in given.items())]
        run = subprocess.run(
            [str(each) for each in command],
            cwd=self.folder,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, f"sam deploy: {run.stdout[-3_000:]}\n{run.stderr[-3_000:]}"
        (found,) = self.client("cloudformation").describe_stacks(StackName=self.name)["Stacks"]
        self.outputs = {each["OutputKey"]: each["OutputValue"] for each in found["Outputs"]}

    def told(
        self, method: str, path: str, body: Any = None, *, seconds: float = 60, **headers: str
    ) -> Any:
        """The JSON of a request that works; one that a cold function is late for is repeated."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        sent |= {"authorization": f"Bearer {self.key}", "content-type": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        url = f"{self.api(self.outputs['ApiUrl'])}/api{path}"
        deadline = time.monotonic() + seconds
        while True:
            request = urllib.request.Request(url, content, sent, method=method)  # noqa: S310
            try:
                with urllib.request.urlopen(request, timeout=60, context=self.trust) as answer:  # noqa: S310
                    return json.loads(answer.read() or b"null")
            except urllib.error.HTTPError as error:
                if error.code not in {429, 503} or time.monotonic() > deadline:
                    raise AssertionError(
                        f"{method} {path}: {error.code} {error.read()!r}"
                    ) from None
            rest(2)

    def new_session(self) -> str:
        """A session with an agent that sleeps until it is asked."""
        wanted = {"name": "Nami", "heartbeat": {"enabled": False}}
        agent = self.told("POST", "/agents", wanted, idempotency_key=secrets.token_hex(8))
        with_agent = {"participants": [agent["id"]]}
        return str(self.told("POST", "/sessions", with_agent)["id"])

    def send(self, session: str, text: str) -> str:
        """Say something, and do not wait; the turn's id."""
        key = secrets.token_hex(8)
        path = f"/sessions/{session}/messages"
        (turn,) = self.told("POST", path, {"text": text}, idempotency_key=key)["turn_ids"]
        return str(turn)

    def wait_for_turn(self, turn: str, seconds: float) -> Any:
        """A turn's story once it has ended."""
        deadline = time.monotonic() + seconds
        while True:
            story = self.told("GET", f"/turns/{turn}")
            if story["ended_at"] is not None:
                return story
            assert time.monotonic() < deadline, f"the turn has not ended: {story}"
            rest(2)

    def function(self, name: str) -> str:
        """A function's name in AWS."""
        return f"{self.name}-{name}"

    @contextlib.contextmanager
    def short_calls(self, name: str, seconds: int) -> Iterator[None]:
        """Let calls of a function take so long only."""
        client, function = self.client("lambda"), self.function(name)
        before = client.get_function_configuration(FunctionName=function)["Timeout"]

        def limit(timeout: int) -> None:
            client.update_function_configuration(FunctionName=function, Timeout=timeout)
            while True:
                found = client.get_function_configuration(FunctionName=function)
                if found.get("LastUpdateStatus", "Successful") == "Successful":
                    return
                rest(1)

        limit(seconds)
        try:
            yield
        finally:
            limit(before)

    def calls_of(self, name: str, log: str, since: float) -> int:
        """How often a function was called since then, as its log says."""
        found = self.client("cloudformation").describe_stack_resources(StackName=self.name)
        nested = {each["LogicalResourceId"]: each for each in found["StackResources"]}
        stack = nested["Observability"]["PhysicalResourceId"]
        of = self.client("cloudformation").describe_stack_resources(StackName=stack)
        (group,) = [
            each["PhysicalResourceId"]
            for each in of["StackResources"]
            if each["LogicalResourceId"] == log
        ]
        pages = self.client("logs").get_paginator("filter_log_events")
        given = {"logGroupName": group, "startTime": int(since * 1_000)}
        lines = (each["message"] for page in pages.paginate(**given) for each in page["events"])
        # As plain text, or as Lambda's JSON.
        return sum(line.startswith("START ") or '"platform.start"' in line for line in lines)

    def acting_as(self, role: str) -> dict[str, str]:
        """Credentials of a function's role, which trusts this account's owner from now on."""
        iam, sts = self.client("iam"), self.client("sts")
        found = self.client("cloudformation").describe_stack_resources(StackName=self.name)
        (name,) = [
            each["PhysicalResourceId"]
            for each in found["StackResources"]
            if each["LogicalResourceId"] == f"{role}Role"
        ]
        arn = iam.get_role(RoleName=name)["Role"]["Arn"]
        owner = {"AWS": f"arn:aws:iam::{arn.split(':')[4]}:root", "Service": "lambda.amazonaws.com"}
        statement = {"Effect": "Allow", "Principal": owner, "Action": "sts:AssumeRole"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        iam.update_assume_role_policy(RoleName=name, PolicyDocument=document)
        deadline = time.monotonic() + 60
        while True:
            try:
                given = sts.assume_role(RoleArn=arn, RoleSessionName="smoke")["Credentials"]
            except ClientError:
                # The change takes some seconds to be known everywhere.
                if time.monotonic() > deadline:
                    raise
                rest(3)
                continue
            return {
                "aws_access_key_id": given["AccessKeyId"],
                "aws_secret_access_key": given["SecretAccessKey"],
                "aws_session_token": given["SessionToken"],
            }

    def delete_stack(self) -> None:
        """Delete the stack, and see that it is gone."""
        client = self.client("cloudformation")
        client.delete_stack(StackName=self.name)
        deadline = time.monotonic() + 900
        while True:
            try:
                (found,) = client.describe_stacks(StackName=self.name)["Stacks"]
            except ClientError as error:
                if error.response["Error"]["Code"] in _GONE:
                    return
                raise
            assert found["StackStatus"] != "DELETE_FAILED", found.get("StackStatusReason")
            if found["StackStatus"] == "DELETE_COMPLETE":
                return
            assert time.monotonic() < deadline, found["StackStatus"]
            rest(3)

    def left(self) -> dict[str, list[str]]:
        """What of this stage is still in the account: tables, buckets, queues, parameters."""
        mark = f"{self.name}-"
        tables = self.client("dynamodb").get_paginator("list_tables").paginate()
        queues = self.client("sqs").list_queues(QueueNamePrefix=mark)
        path = f"/opencrab/{self.stage}/"
        named = self.client("ssm").get_parameters_by_path(Path=path)["Parameters"]
        return {
            "tables": [n for page in tables for n in page["TableNames"] if self._is_own(n)],
            "buckets": [
                each["Name"]
                for each in self.client("s3").list_buckets()["Buckets"]
                if self._is_own(each["Name"])
            ],
            "queues": list(queues.get("QueueUrls", [])),
            "parameters": [each["Name"] for each in named],
        }

    def _is_own(self, name: str) -> bool:
        return name == self.name or name.startswith(f"{self.name}-")

    def remove_all(self) -> None:
        """Delete the stack if it is there, and what it left; each step tried, whatever failed."""
        problems = []
        for step in (self.delete_stack, self._delete_data, self._delete_uploads):
            try:
                step()
            except (ClientError, AssertionError) as error:
                problems.append(f"{step.__name__.strip('_')}: {error}")
        remains = {kind: names for kind, names in self.left().items() if names}
        if problems or remains:
            raise AssertionError(f"remove by hand: {remains}; {problems}")

    def _delete_data(self) -> None:
        left = self.left()
        for url in left["queues"]:
            self.client("sqs").delete_queue(QueueUrl=url)
        for name in left["parameters"]:
            self.client("ssm").delete_parameter(Name=name)
        for name in left["buckets"]:
            self._empty(name, "")
            self.client("s3").delete_bucket(Bucket=name)
        dynamodb = self.client("dynamodb")
        for name in left["tables"]:
            dynamodb.update_table(TableName=name, DeletionProtectionEnabled=False)
            dynamodb.get_waiter("table_exists").wait(TableName=name)
            dynamodb.delete_table(TableName=name)
            dynamodb.get_waiter("table_not_exists").wait(TableName=name)

    def _delete_uploads(self) -> None:
        """What SAM uploaded for this stack; its bucket stays, as others may use it."""
        client = self.client("cloudformation")
        (found,) = client.describe_stacks(StackName=SAM_BUCKET_STACK)["Stacks"]
        outputs = {each["OutputKey"]: each["OutputValue"] for each in found["Outputs"]}
        self._empty(outputs["SourceBucket"], f"{self.name}/")

    def _empty(self, bucket: str, prefix: str) -> None:
        s3 = self.client("s3")
        for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket, Prefix=prefix):
            for each in (*page.get("Versions", ()), *page.get("DeleteMarkers", ())):
                s3.delete_object(Bucket=bucket, Key=each["Key"], VersionId=each["VersionId"])


def rest(seconds: float) -> None:
    """Give AWS time."""
    time.sleep(seconds)  # noqa: TID251 - nothing tells us when AWS is ready


def own_environment() -> dict[str, str]:
    """The environment of this process, for SAM in an account of one's own."""
    return {**os.environ, "SAM_CLI_TELEMETRY": "0"}  # noqa: TID251 - AWS's own variables
