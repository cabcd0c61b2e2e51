"""The template and the functions: all are deployed, handlers are thin, builds are true."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

LONGEST_HANDLER = 60
ENVIRONMENT = {"os", "dotenv", "environ", "getenv"}

THIN = '''"""Says hello."""


def handler(event: object, context: object) -> None:
    """Say it."""
'''
TEMPLATE = """
  {name}Function:
    Type: AWS::Serverless::Function
    Metadata: {{ SkipBuild: true }}
    Properties:
      CodeUri: functions/{name}/
"""


def undeployed(root: Path) -> set[str]:
    """Function folders without a resource, and resources without a folder."""
    templates = [root / "template.yaml", *sorted((root / "infra").glob("*.yaml"))]
    template = "\n".join(each.read_text(encoding="utf-8") for each in templates)
    folders = {path.parent.name for path in (root / "functions").glob("*/*.py")}
    blocks = re.split(r"^  (?=\w+:$)", template, flags=re.M)
    resources = [block for block in blocks if "Type: AWS::Serverless::Function\n" in block]
    deployed = []
    for block in resources:
        code = re.search(r"^ +CodeUri: (?:\.\./)?functions/(\w+)/$", block, re.M)
        taken_as_it_is = re.search(r"^    Metadata: \{ SkipBuild: true \}$", block, re.M)
        name = block.partition(":")[0]
        deployed.append(code[1] if code and taken_as_it_is else name)
    twice = {name for name in deployed if deployed.count(name) > 1}
    return (folders ^ set(deployed)) | twice


def faults(handler: Path) -> Iterator[str]:
    """What makes a handler more than a thin one."""
    text = handler.read_text(encoding="utf-8")
    tree = ast.parse(text)
    if len(text.splitlines()) > LONGEST_HANDLER:
        yield f"it is longer than {LONGEST_HANDLER} lines"
    if not ast.get_docstring(tree):
        yield "it does not say what it is for"
    defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
    names = [
        getattr(node, "name", "lambda") for node in ast.walk(tree) if isinstance(node, defined)
    ]
    if names != ["handler"]:
        yield f"it defines {', '.join(names) or 'nothing'}; it should define handler alone"
    if _words(tree) & ENVIRONMENT:
        yield "it reads the environment"


def _words(tree: ast.Module) -> set[str]:
    """Every module and attribute that the code names."""
    words: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            words |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            words |= {(node.module or "").partition(".")[0], *(alias.name for alias in node.names)}
        elif isinstance(node, ast.Attribute):
            words.add(node.attr)
    return words


def pins(lock: str) -> set[str]:
    """The exact versions that a lock names."""
    text = (ROOT / "requirements" / lock).read_text(encoding="utf-8")
    return {match[1] for match in re.finditer(r"^([\w.-]+==[^\s;]+)", text, re.M)}


def untrue(samconfig: str) -> set[str]:
    """Settings of `sam build` under which it would miss or repeat old files."""
    build = tomllib.loads(samconfig).get("default", {}).get("build", {}).get("parameters", {})
    wanted = {"build_in_source": True, "cached": False}
    return {name for name, value in wanted.items() if build.get(name) is not value}


def test_every_function_is_deployed_and_nothing_else() -> None:
    assert len(list((ROOT / "functions").iterdir())) >= 4
    assert not undeployed(ROOT)


@pytest.mark.parametrize(
    "handler", sorted((ROOT / "functions").glob("*/*.py")), ids=lambda path: path.parent.name
)
def test_a_handler_is_thin(handler: Path) -> None:
    assert handler.name == "handler.py"
    assert not list(faults(handler))


def test_a_build_sees_the_sources_as_they_are() -> None:
    assert not untrue((ROOT / "samconfig.toml").read_text(encoding="utf-8"))


def test_lambda_runs_the_versions_that_are_tested_here() -> None:
    assert pins("lambda.txt")
    assert not pins("lambda.txt") - pins("dev.txt")


@pytest.mark.parametrize(
    ("folders", "resources", "wrong"),
    [
        ({"greet"}, ["greet"], set()),
        ({"greet", "forgotten"}, ["greet"], {"forgotten"}),
        ({"greet"}, ["greet", "gone"], {"gone"}),
        ({"greet"}, ["greet", "greet"], {"greet"}),
    ],
)
def test_a_function_that_is_not_deployed_is_found(
    tmp_path: Path, folders: set[str], resources: list[str], wrong: set[str]
) -> None:
    for name in folders:
        (tmp_path / "functions" / name).mkdir(parents=True)
        (tmp_path / "functions" / name / "handler.py").write_text(THIN, encoding="utf-8")
    template = "Resources:" + "".join(TEMPLATE.format(name=name) for name in resources)
    (tmp_path / "template.yaml").write_text(template, encoding="utf-8")
    assert undeployed(tmp_path) == wrong


def test_a_function_that_sam_would_build_itself_is_found(tmp_path: Path) -> None:
    (tmp_path / "functions" / "greet").mkdir(parents=True)
    (tmp_path / "functions" / "greet" / "handler.py").write_text(THIN, encoding="utf-8")
    template = "Resources:" + TEMPLATE.format(name="greet").replace("true", "false")
    (tmp_path / "template.yaml").write_text(template, encoding="utf-8")
    assert "greetFunction" in undeployed(tmp_path)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("# one more line\n" * LONGEST_HANDLER, "longer"),
        ("def second() -> None: ...\n", "handler alone"),
        ("async def second() -> None: ...\n", "handler alone"),
        ("class Second: ...\n", "handler alone"),
        ("second = lambda: None\n", "handler alone"),
        ("import os.path\n", "environment"),
        ("from os import environ as e\n", "environment"),
        ("import sys\nsys.modules['o' + 's'].environ\n", "environment"),
    ],
)
def test_a_handler_that_grows_is_found(tmp_path: Path, change: str, why: str) -> None:
    path = tmp_path / "handler.py"
    path.write_text(THIN, encoding="utf-8")
    assert not list(faults(path))
    path.write_text(THIN + change, encoding="utf-8")
    (found,) = faults(path)
    assert why in found


@pytest.mark.parametrize(
    "samconfig",
    [
        "",
        "[default.build.parameters]\ncached = false\n",
        "[default.build.parameters]\nbuild_in_source = true\n",
        "[default.build.parameters]\nbuild_in_source = true\ncached = true\n",
    ],
)
def test_a_build_that_would_miss_something_is_found(samconfig: str) -> None:
    assert untrue(samconfig)


@pytest.mark.parametrize(
    "role", ["RestGateway", "AgentTurn", "DiscordInteractions", "WebsocketGateway", "Heartbeat"]
)
def test_whoever_may_move_an_instruction_may_tell_the_channel_it_was_given_in(role: str) -> None:
    template = (ROOT / "template.yaml").read_text(encoding="utf-8")
    (block,) = re.findall(rf"^  {role}Role:\n(.*?)(?=^  \w+:\n|\Z)", template, re.M | re.S)
    (sends, *more) = re.findall(r"Action: sqs:SendMessage\n +Resource:\n((?: +- .*\n)+)", block)
    assert not more
    assert "Data.Outputs.DeliveriesQueueArn" in sends
