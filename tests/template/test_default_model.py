"""The default model of a stack's parameter, or of its settings file, is the one that answers."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from opencrab.adapters.providers.registry import ProviderModels
from opencrab.adapters.providers.scripted.script import ScriptedAnswer
from opencrab.bootstrap.aws.models import aws_models_from_settings
from opencrab.bootstrap.aws.uploaded_settings import UploadedSettings
from opencrab.domain.conversation.message import LineKind
from opencrab.domain.value import Language
from tests.conftest import ROOT
from tests.contract.homes import aws_in_memory
from tests.contract.speaking import VENDORS
from tests.e2e.house import House
from tests.template.stacks import evaluated
from tests.template.tools import is_installed, transform
from tests.unit.adapters.providers.fake import Replying
from tests.unit.bootstrap.aws.test_uploaded_settings import Shelf, Watch

pytestmark = pytest.mark.skipif(
    not is_installed(), reason="no .venv-template: `make validate` installs it"
)
FILE = b'[llm]\ndefault_model = "gpt-4o"\n'
ANSWER = "Greetings from the vendor. ご挨拶です。"


class Keys:
    """A secrets store with one vendor's key."""

    def get(self, name: str) -> str | None:
        return "sk-right" if name == "OPENAI_API_KEY" else None

    def put(self, name: str, value: str) -> None:
        raise AssertionError(name, value)

    def forget(self) -> None:
        """Nothing is remembered."""


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables about models that the worker has in a stack with these parameters."""
    given = {"AWS::Region": "eu-west-1", "DefaultProvider": "openai", "DefaultModel": "gpt-4o-mini"}
    templates = transform(ROOT, tmp_path_factory.mktemp("template"))
    stacks = evaluated(templates, ROOT, given)
    worker = next(each for each in stacks.resources if each.name == "AgentTurnFunction")
    found = worker.at("Environment", "Variables")
    return {name: each for name, each in found.items() if name.startswith("OPENCRAB_LLM__")}


@pytest.mark.parametrize(
    "named", [(None, "gpt-4o-mini"), (FILE, "gpt-4o")], ids=["parameter", "file"]
)
@pytest.mark.parametrize(
    "asked",
    [
        (Language.EN, "Hello there"),
        (Language.EN, "Prove that the square root of 2 is irrational, step by step."),
        (Language.JA, "√2が無理数であることを、順を追って証明してください。"),
    ],
)
def test_the_default_model_of_a_stack_answers_whatever_is_asked(
    tmp_path: Path,
    variables: dict[str, str],
    named: tuple[bytes | None, str],
    asked: tuple[Language, str],
) -> None:
    (file, model), (language, text) = named, asked
    speaks = VENDORS["openai"]
    transport = Replying(
        speaks.stream(ScriptedAnswer(text=ANSWER)), headers={"content-type": speaks.kind}
    )
    uploaded = UploadedSettings(Shelf(file), None, Watch(), variables)
    uploaded.look()
    house = House(aws_in_memory, tmp_path)
    models = ProviderModels(
        lambda: aws_models_from_settings(uploaded.load, Keys()), lambda: transport
    )
    house.runtime = replace(house.runtime, models=models)
    agent = house.agent("crab", (), language)
    house.home.agents.save(agent.replaced(model=None))
    house.session(agent)
    house.say(text)
    house.work()
    assert house.lines(LineKind.SPEECH)[-1].text == ANSWER
    house.close()
    models_asked = {json.loads(each.body or b"{}").get("model") for each in transport.sent}
    assert models_asked == {model}
