"""SnapStart and processes kept ready: off unless asked for, and then everything calls the alias."""

import pytest

from tests.conftest import ROOT
from tests.template.stacks import Stacks, Templates, evaluated
from tests.template.tools import is_installed, transform

pytestmark = pytest.mark.skipif(
    not is_installed(), reason="no .venv-template: `make validate` installs it"
)
PUBLISHED = ("AgentTurn", "RestGateway")


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """The real templates after the transform."""
    return transform(ROOT, tmp_path_factory.mktemp("template"))


def _stack(templates: Templates, **given: str) -> Stacks:
    return evaluated(templates, ROOT, {"Release": "r1", **given})


def _called(stacks: Stacks) -> set[str]:
    """What API Gateway and the queue of turns call, and what permissions are for."""
    found = {each.name: each for each in stacks.resources}
    named = [
        found["RestIntegration"].at("IntegrationUri"),
        found["AgentTurnFunctionTurn"].at("FunctionName"),
    ]
    named += [
        each.at("FunctionName")
        for each in stacks.of("AWS::Lambda::Permission")
        if "RestGateway" in str(each.at("FunctionName"))
    ]
    return {str(each) for each in named}


def test_without_it_nothing_is_published_and_functions_are_called_as_ever(
    templates: Templates,
) -> None:
    stacks = _stack(templates)
    assert not list(stacks.of("AWS::Lambda::Version", "AWS::Lambda::Alias"))
    assert not any("Alias" in each for each in _called(stacks))
    for function in stacks.of("AWS::Lambda::Function"):
        assert function.at("SnapStart") is None
        assert function.at("Description") is None


@pytest.mark.parametrize(
    ("given", "applied_on", "ready"),
    [
        ({"SnapStart": "on"}, "PublishedVersions", None),
        ({"ProvisionedConcurrency": "2"}, None, "2"),
    ],
)
def test_with_it_two_functions_are_called_by_the_alias_of_a_version_of_this_release(
    templates: Templates, given: dict[str, str], applied_on: str | None, ready: str | None
) -> None:
    stacks = _stack(templates, **given)
    assert all("Alias" in each for each in _called(stacks)), _called(stacks)
    versions = {each.name: each for each in stacks.of("AWS::Lambda::Version")}
    assert sorted(versions) == [f"{name}Version" for name in PUBLISHED]
    assert {each.at("Description") for each in versions.values()} == {"r1"}
    for alias in stacks.of("AWS::Lambda::Alias"):
        config = alias.at("ProvisionedConcurrencyConfig", "ProvisionedConcurrentExecutions")
        assert config == ready
    for function in stacks.of("AWS::Lambda::Function"):
        is_published = function.name.removesuffix("Function") in PUBLISHED
        applied = function.at("SnapStart", "ApplyOn")
        assert applied == (applied_on if is_published else None)
        assert function.at("Description") == ("Release r1" if is_published else None)
