"""docs/design/template-rules.md, written from the rules' own words and their mutations."""

import textwrap
from collections.abc import Iterator

from tests.conftest import ROOT
from tests.template.mutations import MUTATIONS
from tests.template.rules import RULES, Rule, explained
from tests.template.tools import exceptions

DOCUMENT = ROOT / "docs" / "design" / "template-rules.md"

INTRODUCTION = """\
# The rules of the template

`make validate` transforms `template.yaml` and the stacks below it as CloudFormation would, without
network or account, and looks at the result: cfn-lint on the source and on the transformed
templates, checkov on the transformed ones, and the rules below. A rule sees all stacks at once,
with references between them resolved: with the parameters' defaults, with each other allowed value
of a parameter that is not a number, and with each of these while all optional parts are on.

Each rule is tested: a test changes the real template as listed under "Fails when", and exactly this
rule must fail. This page is written by `make validate ARGS=--write`; a test compares.

| prefix in a report | template |
|---|---|
| `template.` | template.yaml |
| `data.` | infra/data.yaml |
| `observability.` | infra/observability.yaml |
| `page.` | infra/page.yaml |
| `search.` | infra/search.yaml |
| `search_efs.` | infra/search_efs.yaml |
| `websocket.` | infra/websocket.yaml |
"""


def document() -> str:
    """The whole page."""
    return "\n".join([INTRODUCTION, *_rules(), *_exceptions()])


def _rules() -> Iterator[str]:
    for number, rule in enumerate(RULES, 1):
        first, reason, source = explained(rule)
        yield f"## {number}. `{rule.__name__}`\n"
        yield f"**{first}**\n"
        yield _wrapped(reason) + "\n"
        yield _wrapped(f"Fails when {'; when '.join(_mutations(rule))}.") + "\n"
        if source:
            yield f"Source: <{source}>\n"


def _exceptions() -> Iterator[str]:
    yield "## Exceptions of cfn-lint and checkov\n"
    yield "| tool | check | resources | reason |\n|---|---|---|---|"
    for each in exceptions():
        yield f"| {each.tool} | {each.check} | `{'`, `'.join(each.resources)}` | {each.reason} |"
    yield ""


def _mutations(rule: Rule) -> list[str]:
    return [mutation.words for mutation in MUTATIONS if mutation.rule is rule]


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)
