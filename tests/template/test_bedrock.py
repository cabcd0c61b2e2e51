"""The default model of a new stack: without any secret where Bedrock offers it, and no other."""

from typing import Any

import pytest

from tests.conftest import ROOT
from tests.template.stacks import Stacks, Templates, evaluated
from tests.template.tools import is_installed, transform

pytestmark = pytest.mark.skipif(
    not is_installed(), reason="no .venv-template: `make validate` installs it"
)
SONNET = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
HAIKU = "arn:aws:bedrock:us-east-1:000000000000:inference-profile/us.anthropic.claude-haiku-4-5"


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """The real templates after the transform."""
    return transform(ROOT, tmp_path_factory.mktemp("template"))


def _stack(templates: Templates, region: str, **given: str) -> Stacks:
    return evaluated(templates, ROOT, {"AWS::Region": region, **given})


def _default(stacks: Stacks) -> tuple[str, str]:
    worker = next(each for each in stacks.resources if each.name == "AgentTurnFunction")
    variables = worker.at("Environment", "Variables")
    return (
        variables["OPENCRAB_LLM__DEFAULT_PROVIDER"],
        variables["OPENCRAB_LLM__DEFAULT_MODEL"],
    )


def _allowed(stacks: Stacks) -> list[tuple[list[str], Any]]:
    """The resources of each statement about Bedrock, and the profile that it is bound to."""
    found = [each for each in stacks.resources if each.name == "BedrockAccess"]
    statements = found[0].at("PolicyDocument")["Statement"] if found else []
    return [
        (
            each["Resource"] if isinstance(each["Resource"], list) else [each["Resource"]],
            each.get("Condition", {}).get("StringEquals", {}).get("bedrock:InferenceProfileArn"),
        )
        for each in statements
    ]


@pytest.mark.parametrize(
    ("region", "given", "default"),
    [
        ("us-east-1", {}, ("bedrock", "us.amazon.nova-2-lite-v1:0")),
        ("eu-central-1", {}, ("bedrock", "eu.amazon.nova-2-lite-v1:0")),
        ("ap-northeast-1", {}, ("bedrock", "jp.amazon.nova-2-lite-v1:0")),
        ("sa-east-1", {}, ("openai", "")),
        ("us-east-1", {"DefaultModel": SONNET}, ("bedrock", SONNET)),
        ("us-east-1", {"DefaultProvider": "anthropic"}, ("anthropic", "")),
        (
            "sa-east-1",
            {"DefaultProvider": "bedrock"},
            ("bedrock", "global.amazon.nova-2-lite-v1:0"),
        ),
    ],
)
def test_the_region_decides_the_default_unless_somebody_does(
    templates: Templates, region: str, given: dict[str, str], default: tuple[str, str]
) -> None:
    assert _default(_stack(templates, region, **given)) == default


def test_the_role_may_call_the_default_model_and_no_other(templates: Templates) -> None:
    (first, bound), (models, profile) = _allowed(_stack(templates, "eu-west-1"))
    assert (len(first), bound) == (1, None)
    assert first[0].endswith(":inference-profile/eu.amazon.nova-2-lite-v1:0")
    assert models == ["arn:${AWS::Partition}:bedrock:*::foundation-model/*"]
    assert profile == first[0]


def test_without_bedrock_nothing_of_it_is_allowed(templates: Templates) -> None:
    assert _allowed(_stack(templates, "us-east-1", DefaultProvider="openai")) == []
    assert _allowed(_stack(templates, "sa-east-1")) == []


def test_further_models_are_allowed_by_name(templates: Templates) -> None:
    given = {"DefaultProvider": "openai", "BedrockModels": HAIKU}
    (first, bound), (models, profile) = _allowed(_stack(templates, "us-east-1", **given))
    assert (first, bound) == ([HAIKU], None)
    assert models[0].endswith("foundation-model/*")
    assert profile == [HAIKU]
