"""The table that tests run on is the table that is deployed."""

from typing import Any

import yaml  # type: ignore[import-untyped]  # it comes with moto, without types

from tests.aws_home import table_definition
from tests.conftest import ROOT


class _Stack(yaml.SafeLoader):  # type: ignore[misc]  # no types, no base
    """CloudFormation's YAML, as far as a table needs it: a reference stays its text."""


_Stack.add_multi_constructor("!", lambda loader, _suffix, node: node.value)


def deployed() -> dict[str, Any]:
    """The table's properties in infra/data.yaml."""
    text = (ROOT / "infra" / "data.yaml").read_text(encoding="utf-8")
    stack = yaml.load(text, Loader=_Stack)  # noqa: S506 - a safe loader with CloudFormation's tags
    properties: dict[str, Any] = stack["Resources"]["OwnTable"]["Properties"]
    return properties


def test_tests_run_on_the_table_that_is_deployed() -> None:
    tested, real = table_definition(), deployed()
    stream = tested.pop("StreamSpecification")
    assert stream["StreamViewType"] == real["StreamSpecification"]["StreamViewType"]
    attributes = tested.pop("AttributeDefinitions")
    assert attributes == sorted(
        real["AttributeDefinitions"], key=lambda attribute: str(attribute["AttributeName"])
    )
    assert tested == {name: real[name] for name in tested}
