"""An operator's computer: a checkout that was built, a home, and a `sam` that takes notes."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

from infra.deploy import main
from tests.conftest import ROOT
from tests.integration.cli.forked import run_forked

ACCOUNT = "123456789012"
URL = "https://abc.execute-api.eu-west-1.amazonaws.com"

# Like CloudFormation, a stack keeps what it is not told. `typed` is what the operator answers when
# guided; Enter takes the rest.
STACK = f"""
import json, pathlib, sys
here = pathlib.Path(__file__).parent
stack, typed = here / "stack", here / "typed"
with (here / "calls").open("a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")

def listed():
    if (here / "trouble").exists():
        sys.exit((here / "trouble").read_text())
    if not stack.exists():
        sys.exit("Error: The input stack s does not exist on Cloudformation in the region r")
    told = json.loads(stack.read_text())
    stage = told["Stage"]
    queue = f"https://sqs.eu-west-1.amazonaws.com/1/opencrab-{{stage}}-turns.fifo"
    found = {{"ApiUrl": "{URL}", "TurnsQueueUrl": queue}}
    if not (here / "older").exists():
        made = f"{{queue[:-11]}}-Data-1A2B-TurnsQueue-3C4D.fifo"
        found |= {{"Stage": stage, "TurnsQueueUrl": made}}
    found["DefaultProvider"] = told.get("DefaultProvider", "openai")
    if told.get("AlarmMail"):
        found["Alarms"] = "on"
    if told.get("SecretArn"):
        found["SecretArn"] = told["SecretArn"]
    if told.get("SnapStart") == "on":
        found["Release"] = told["Release"]
    if told.get("Discord") == "on":
        found["DiscordInteractionsUrl"] = "{URL}/discord/interactions"
    if told.get("WebSocket") == "on":
        found["WebSocketUrl"] = "wss://def.execute-api.eu-west-1.amazonaws.com/live"
    if told.get("WebDashboard") == "on":
        host = "d123.cloudfront.net"
        named = told.get("WebDashboardDomain") or host
        found |= {{"WebDashboardUrl": f"https://{{named}}", "WebDashboardHost": host}}
        found["WebDashboardBucket"] = "page-bucket"
    print(json.dumps([{{"OutputKey": name, "OutputValue": found[name]}} for name in found]))

def answered(told):
    offered = {{"Stage": "main", "OwnerKeyHash": "", "AlarmMail": "", "Table": "", **told}}
    return offered | (json.loads(typed.read_text()) if typed.exists() else {{}})

def kept(told):
    before = json.loads(stack.read_text()) if stack.exists() else {{}}
    stack.write_text(json.dumps(before | told))
"""

FAKE = f"""#!{sys.executable}
{STACK}
import shlex, tomllib

def option(name):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else None

def pairs(texts):
    return {{name: shlex.split(value)[0] if value else "" for name, _, value in (
        text.partition("=") for text in texts)}}

if sys.argv[1] == "list":
    listed()
    sys.exit()
told, path = {{}}, pathlib.Path(option("--config-file") or "samconfig.toml")
config = tomllib.loads(path.read_text()) if path.exists() else {{}}
mine = config.get(option("--config-env") or "default", {{}}).get("deploy", {{}})
mine = mine.get("parameters", {{}})
if "--parameter-overrides" in sys.argv:
    told = pairs(sys.argv[sys.argv.index("--parameter-overrides") + 1 :])
elif mine.get("parameter_overrides"):
    told = pairs(shlex.split(mine["parameter_overrides"]))
if "--guided" in sys.argv:
    told = answered(told)
    saved = " ".join(f'{{name}}=\\\\"{{value}}\\\\"' for name, value in told.items())
    region = told.pop("region", option("--region"))
    path.write_text(
        f'version = 0.1\\n[{{option("--config-env")}}.deploy.parameters]\\n'
        f'stack_name = "{{option("--stack-name")}}"\\nregion = "{{region}}"\\n'
        f'parameter_overrides = "{{saved}}"\\n'
    )
kept(told)
"""

# SAM itself: it reads its command line and configuration, and saves them; only AWS is left out.
REAL = f"""#!{ROOT / ".venv-sam" / "bin" / "python"}
{STACK}
import inspect

def do_cli(*values, **more):
    told = inspect.signature(original).bind(*values, **more).arguments
    overrides = dict(told["parameter_overrides"])
    if told["guided"]:
        overrides = answered(overrides)
        command_line = ("stack_name", "s3_prefix", "region", "profile", "resolve_s3")
        GuidedConfig(told["template_file"], "parameters").save_config(
            {{name: {{"Value": overrides[name], "Hidden": False}} for name in overrides}},
            told["config_env"],
            told["config_file"],
            confirm_changeset=False,
            capabilities=told["capabilities"],
            **{{name: told[name] for name in command_line}},
        )
    (here / "told").write_text(json.dumps(told, default=str))
    kept(overrides)

if sys.argv[1] == "list":
    listed()
    sys.exit()
from samcli.cli.main import cli
from samcli.commands.deploy import command
from samcli.commands.deploy.guided_config import GuidedConfig
original, command.do_cli = command.do_cli, do_cli
sys.exit(cli(prog_name="sam"))
"""

TEMPLATE = "Parameters:\n" + "".join(
    f'  {name}:\n    Type: String\n    Default: ""\n'
    for name in (
        *("Stage", "OwnerKeyHash", "DefaultProvider", "SecretArn"),
        *(
            "AlarmMail",
            "SnapStart",
            "Release",
            "Table",
            "Discord",
            "WebSocket",
            "WebDashboard",
            "WebDashboardDomain",
        ),
    )
)
TEMPLATE += "\nResources:\n  Queue:\n    Type: AWS::SQS::Queue\n"


@dataclass
class Desk:
    """An operator's computer, with credentials and a region."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        """Where keys lie, and what SAM saves."""
        return self.folder / "home" / ".opencrab"

    @property
    def key(self) -> Path:
        """The owner's key of the usual stage."""
        return self.home / f"main-{ACCOUNT}-eu-west-1.key"

    @property
    def checkout(self) -> Path:
        """The checkout, where everything is built."""
        return self.folder / "checkout"

    def arrange(self, sam: str = FAKE) -> None:
        """Put everything in its place."""
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "sam").write_text(sam, encoding="utf-8")
        (programs / "sam").chmod(0o755)
        built = self.checkout / ".aws-sam" / "build"
        built.mkdir(parents=True)
        for folder in (built, self.checkout):
            (folder / "template.yaml").write_text(TEMPLATE, encoding="utf-8")
        config = (ROOT / "samconfig.toml").read_text(encoding="utf-8")
        (self.checkout / "samconfig.toml").write_text(config, encoding="utf-8")

    def deploy(self, *args: str, **more: str) -> "subprocess.CompletedProcess[str]":
        """Run it from the checkout, with nobody at the keyboard."""
        return self._run(_deploy, *args, **more)

    def sit_and_deploy(self, *args: str, **more: str) -> "subprocess.CompletedProcess[str]":
        """The same with somebody at the keyboard, who presses Enter or types what is `typed`."""
        return self._run(_sit_and_deploy, *args, **more)

    def sam(self, command: str) -> list[list[str]]:
        """What SAM was told to do so far, by its first word."""
        calls = self.folder / "bin" / "calls"
        lines = calls.read_text().splitlines() if calls.exists() else []
        return [call for line in lines if (call := json.loads(line))[0] == command]

    def types(self, **answers: str) -> None:
        """What the operator will type when SAM asks."""
        (self.folder / "bin" / "typed").write_text(json.dumps(answers), encoding="utf-8")

    @property
    def stack(self) -> dict[str, str]:
        """The parameters that the stack has now."""
        found = json.loads((self.folder / "bin" / "stack").read_text(encoding="utf-8"))
        assert isinstance(found, dict)
        return found

    @property
    def saved(self) -> dict[str, Any]:
        """What SAM saved when it guided."""
        config = tomllib.loads((self.home / "main.toml").read_text(encoding="utf-8"))
        parameters = config["main"]["deploy"]["parameters"]
        assert isinstance(parameters, dict)
        return parameters

    def _run(
        self, start: Callable[[], object], *args: str, **more: str
    ) -> "subprocess.CompletedProcess[str]":
        code, out, err = run_forked(
            self.checkout,
            args,
            typed="",
            environment={**self.environ, **more},
            folder=ROOT,
            timeout=60,
            start=start,
        )
        assert b"Traceback" not in err, err
        return subprocess.CompletedProcess(args, code, out.decode(), err.decode())


def _deploy() -> None:
    """`make deploy` in the checkout that this process is named after."""
    checkout, *args = sys.argv
    sys.exit(main(args, os.environ, Path(checkout)))  # noqa: TID251 - as the module itself does


def _sit_and_deploy() -> None:
    sys.stdin.isatty = lambda: True  # type: ignore[method-assign]
    _deploy()


class _Identity(BaseHTTPRequestHandler):
    """Says whose credentials these are, as STS does; refuses those named `expired`.

    It is the heartbeat function, too, which needs two calls to upgrade the data of a stage; the
    function of the stage `broken` fails. It also says, as Lambda does, how much of the account may
    run at once.
    """

    upgraded: ClassVar[dict[str, int]] = {}

    def do_GET(self) -> None:
        assert self.path.startswith("/2016-08-19/account-settings")
        body = json.dumps({"AccountLimit": {"ConcurrentExecutions": self.server.at_once}})  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("/invocations"):
            assert json.loads(content) == {"upgrade": {}}
            self._upgrade(self.path.split("/")[3])
            return
        expired = "Credential=expired/" in self.headers["Authorization"]
        result = f"<GetCallerIdentityResult><Account>{ACCOUNT}</Account></GetCallerIdentityResult>"
        body = f"<GetCallerIdentityResponse>{result}</GetCallerIdentityResponse>"
        if expired:
            body = "<ErrorResponse><Error><Code>ExpiredToken</Code></Error></ErrorResponse>"
        self.send_response(403 if expired else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def _upgrade(self, function: str) -> None:
        calls = self.upgraded[function] = self.upgraded.get(function, 0) + 1
        record = {"name": "first_heartbeats", "checked": 60 * min(calls, 2), "changed": 3}
        record |= {"ended": calls > 1, "was_done": calls > 2}
        told = {"ended": calls > 1, "before": None, "release": "0.2.0", "migrations": [record]}
        fails = function == "opencrab-broken-heartbeat"
        body = json.dumps({"errorMessage": "no table"} if fails else told).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        if fails:
            self.send_header("X-Amz-Function-Error", "Unhandled")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@contextmanager
def sts() -> Iterator[str]:
    """The address of an STS that knows one account, which is new: ten functions at once."""
    with HTTPServer(("127.0.0.1", 0), _Identity) as server:
        server.at_once = 10  # type: ignore[attr-defined]
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def environ(folder: Path, sts_url: str) -> dict[str, str]:
    """The environment of the desk in this folder."""
    return {
        "PATH": f"{folder / 'bin'}:/usr/bin:/bin",
        "HOME": str(folder / "home"),
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL_STS": sts_url,
        "AWS_ENDPOINT_URL_LAMBDA": sts_url,
    }
