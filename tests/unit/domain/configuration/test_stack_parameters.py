"""Which settings of a file count on AWS: compared with the variables that the template sets."""

import re

import pytest

from opencrab.domain.configuration.file_check import check_settings_text
from opencrab.domain.configuration.stack_parameters import (
    PARAMETERS,
    RESOURCE_PARAMETERS,
    find_stack_parameter_faults,
    parameters_replaced_by_file,
)
from opencrab.domain.configuration.variable_value import variable_of_setting
from opencrab.settings import load_settings
from tests.conftest import ROOT

KNOWN = tuple(load_settings({}, {}).values)


def test_every_variable_of_the_template_is_a_parameter_that_a_file_may_or_may_not_set() -> None:
    text = (ROOT / "template.yaml").read_text(encoding="utf-8")
    text += "".join(path.read_text(encoding="utf-8") for path in (ROOT / "infra").glob("*.yaml"))
    found = set(re.findall(r"^ +(OPENCRAB_[A-Z]+__\w+):", text, re.M))
    told = {name for name in found if not name.startswith("OPENCRAB_AWS__")}
    assert len(told) > 10
    both = {*PARAMETERS, *RESOURCE_PARAMETERS}
    assert not PARAMETERS.keys() & RESOURCE_PARAMETERS.keys()
    assert {variable_of_setting(name) for name in both} == told
    parameters = set(re.findall(r"^  (\w+):\n    Type: (?:String|Number)", text, re.M))
    assert {*PARAMETERS.values(), *RESOURCE_PARAMETERS.values()} <= parameters


def test_what_resources_follow_is_refused_with_its_line_and_parameter() -> None:
    text = "[web]\nallow = []\n[log]\nlevel = 'DEBUG'\n[search]\nvectors = true\nbackend = 'efs'\n"
    faults = find_stack_parameter_faults(check_settings_text(text, KNOWN))
    assert [(each.line, each.name, each.problem.code) for each in faults] == [
        (4, "log.level", "stack_parameter"),
        (6, "search.vectors", "stack_parameter"),
        (7, "search.backend", "stack_parameter"),
    ]
    assert faults[0].problem.facts == {"parameter": "LogLevel"}
    text = "[gateway.email]\nenabled = true\n"
    (local,) = find_stack_parameter_faults(check_settings_text(text, KNOWN))
    assert (local.line, local.problem.code) == (2, "local_only")
    off = check_settings_text(text.replace("true", "false"), KNOWN)
    assert find_stack_parameter_faults(off) == ()
    sound = check_settings_text("[search]\nvectors = false\n", KNOWN)
    assert find_stack_parameter_faults(sound) == ()


@pytest.mark.parametrize(
    ("names", "replaced"),
    [
        (["web.allow"], set()),
        (["agent.time_zone", "log.level"], {"agent.time_zone"}),
        (["llm.default_provider"], {"llm.default_provider", "llm.default_model"}),
        (["llm.default_model"], {"llm.default_model"}),
    ],
)
def test_a_file_replaces_the_parameters_of_what_it_sets(
    names: list[str], replaced: set[str]
) -> None:
    assert parameters_replaced_by_file(names) == replaced
