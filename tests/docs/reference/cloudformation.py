"""The templates as the reference reads them: every resource of every stack, with its properties."""

from functools import cache
from typing import Any

import yaml  # type: ignore[import-untyped, unused-ignore]

from tests.conftest import ROOT

STACKS = (ROOT / "template.yaml", *sorted((ROOT / "infra").glob("*.yaml")))


class Cloudformation(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """CloudFormation's YAML: `!Ref x` is read as x."""


def _plain(loader: Any, _suffix: str, node: Any) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_mapping(node, deep=True)


Cloudformation.add_multi_constructor("!", _plain)


@cache
def stacks() -> dict[str, dict[str, Any]]:
    """Every template by the name of its file."""
    return {
        path.name: yaml.load(path.read_text(encoding="utf-8"), Cloudformation)  # noqa: S506
        for path in STACKS
    }


def resources(kind: str) -> dict[str, dict[str, Any]]:
    """All resources of a type by their names, in any stack."""
    return {
        name: resource
        for stack in stacks().values()
        for name, resource in stack["Resources"].items()
        if resource["Type"] == kind
    }
