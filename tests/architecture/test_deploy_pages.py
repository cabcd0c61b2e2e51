"""The pages on deploying, the price sheet and the template: each says what the others say."""

import gzip
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped, unused-ignore]
from typer.testing import CliRunner

from infra.page import page_objects
from opencrab import settings
from opencrab.domain.usage.aws_cost import PriceSheet, estimate_aws_usage_cost
from opencrab.domain.usage.aws_meter import Meter
from opencrab.domain.usage.aws_workload import AwsWorkload
from opencrab.gateways.cli.app import build_cli_app
from opencrab.gateways.cli.terminal.options import Options
from tests.conftest import ROOT
from tests.docs.reference.cloudformation import Cloudformation

EXPLANATION = "explanation/deployment"
PARAMETERS = "reference/stack-parameters"
ALARMS = "how-to/respond-to-an-alarm"
DEAD_LETTERS = "how-to/redrive-dead-letters"
LANGUAGES = (".md", ".ja.md")
DOLLAR = 1_000_000
SWITCHES = {
    *("UsesDiscord", "UsesChannels", "TakesInteractions", "UsesWebSocket", "UsesWorld"),
    *(
        "HasDiscord",
        "HasChannels",
        "HasInteractions",
        "HasWebSocket",
        "HasReceiver",
        "HasDashboard",
    ),
}
"""Conditions of what is off by default, in each of the templates."""

VISIT_ASKS = 100
"""How often one visit to the dashboard asks the API; the sheet says so."""

WORLDS = 1
"""Queues that are there only with World; docs/explanation/worlds.md says what they cost."""


def page(name: str, language: str = ".md") -> str:
    """A page of the documentation, in one language."""
    return (ROOT / "docs" / f"{name}{language}").read_text(encoding="utf-8")


@cache
def sheet() -> PriceSheet:
    return PriceSheet.of(settings.aws_pricing_settings(folder=ROOT / "config"))


@cache
def template(name: str = "template.yaml") -> dict[str, Any]:
    path = ROOT / Path(name)
    if not path.is_file():
        pytest.skip(f"there is no {name}")
    found = yaml.load(path.read_text(encoding="utf-8"), Cloudformation)  # noqa: S506 - a SafeLoader
    assert isinstance(found, dict)
    return found


def resources(kind: str, *names: str, beside: bool = True) -> list[dict[str, Any]]:
    """Resources of a type; `beside` adds what is there only with Discord or WebSocket."""
    return [
        each["Properties"]
        for name in names or ("template.yaml", "infra/data.yaml", "infra/observability.yaml")
        for each in template(name)["Resources"].values()
        if each["Type"] == kind and (beside or each.get("Condition") not in SWITCHES)
    ]


def functions() -> dict[str, int]:
    """The memory of every function that is always there, by its folder."""
    parameters = template()["Parameters"]
    usual = template()["Globals"]["Function"]["MemorySize"]
    found = {}
    for each in resources("AWS::Serverless::Function", "template.yaml", beside=False):
        memory = each.get("MemorySize", usual)
        found[Path(each["CodeUri"]).name] = parameters.get(memory, {}).get("Default", memory)
    return found


def test_an_idle_month_costs_at_most_a_dollar() -> None:
    assert 0 < estimate_aws_usage_cost(sheet(), AwsWorkload()).idle.micro_usd <= DOLLAR


def test_a_day_of_an_agent_that_has_nothing_to_do_costs_less_than_a_cent() -> None:
    found = estimate_aws_usage_cost(sheet(), AwsWorkload()).beating
    assert 0 < found.after_free_micro_usd <= found.micro_usd < DOLLAR // 100
    for language in LANGUAGES:
        told = re.search(r"^- \*\*.*61.*$", page(EXPLANATION, language), re.M)
        assert told is not None
        assert f"{found.micro_usd / DOLLAR:.4f}" in told[0]


def test_a_thousand_turns_cost_at_most_ten_cents() -> None:
    assert (
        0
        < estimate_aws_usage_cost(sheet(), AwsWorkload()).thousand_turns.after_free_micro_usd
        <= DOLLAR // 10
    )
    without_model = estimate_aws_usage_cost(sheet(), AwsWorkload(model_seconds=0)).thousand_turns
    assert 0 < without_model.micro_usd <= DOLLAR // 10


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_shows_what_the_command_says(language: str) -> None:
    environment = dict.fromkeys(("LC_ALL", "LC_MESSAGES", "LANG"), "")
    program = build_cli_app(lambda _: 0, Options(sheet=sheet))
    said = CliRunner().invoke(program, ["cost", "estimate"], env=environment)
    assert said.exit_code == 0
    expected = "\n".join(row.rstrip() for row in said.stdout.splitlines())
    told = page(EXPLANATION, language)
    shown = re.search(r"^\$ opencrab costs estimate-aws\n(.*?)\n```$", told, re.M | re.S)
    assert shown is not None
    assert shown[1] == expected, f"paste this into {EXPLANATION}{language}:\n{expected}"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_explains_every_parameter_with_its_default(language: str) -> None:
    told = page(PARAMETERS, language)
    rows = dict(re.findall(r"^\| ([A-Z]\w+) \| (\S*) ?\| \S[^|]* \| \S", told, re.M))
    expected = {
        name: str(each.get("Default", "")) for name, each in template()["Parameters"].items()
    }
    assert rows == expected


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_says_what_to_do_for_every_alarm(language: str) -> None:
    row = r"^\| ([a-z-]+) \| \S[^|]{7,} \| \S[^|]{7,} \|$"
    explained = set(re.findall(row, page(ALARMS, language), re.M)) - {"alarm"}
    names = {
        each["AlarmName"].removeprefix("opencrab-${Stage}-")
        for each in resources("AWS::CloudWatch::Alarm")
    }
    assert explained == names


@pytest.mark.parametrize("name", [EXPLANATION, DEAD_LETTERS])
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_names_every_dead_letter_queue(name: str, language: str) -> None:
    # Their names are generated; in the console they hold those of the template.
    template = (ROOT / "infra" / "data.yaml").read_text(encoding="utf-8")
    dead = set(re.findall(r"^  (\w+DeadQueue):$", template, re.MULTILINE))
    assert len(dead) == 5
    told = page(name, language)
    assert not {queue for queue in dead if f"`{queue}`" not in told}


def watched(*, beside: bool) -> int:
    """How many metrics alarms watch; `beside` those that Discord adds."""
    given = [
        each.get("Metrics", [{"MetricStat": {}}]) for each in resources("AWS::CloudWatch::Alarm")
    ]
    return sum(
        isinstance(metric, list) if beside else isinstance(metric, dict) and "MetricStat" in metric
        for metrics in given
        for metric in metrics
    )


def events(kind: str, *, beside: bool = False) -> int:
    """How many functions events of a kind start, with `beside` those that need a switch."""
    return sum(
        event["Type"] == kind and (beside or "Enabled" not in event["Properties"])
        for each in resources("AWS::Serverless::Function", "template.yaml", beside=beside)
        for event in each.get("Events", {}).values()
    )


def test_the_sheet_counts_the_alarms_dashboards_and_queues_of_the_template() -> None:
    standing, choices = sheet().standing, sheet().choices
    assert resources("AWS::CloudWatch::Alarm", beside=False) == []
    assert standing[Meter.ALARMS] == standing[Meter.DASHBOARDS] == 0
    assert choices["alarms"].standing[Meter.ALARMS] == watched(beside=False)
    assert choices["discord_alarms"].standing[Meter.ALARMS] == watched(beside=True)
    boards = len(resources("AWS::CloudWatch::Dashboard"))
    assert choices["dashboard"].standing[Meter.DASHBOARDS] == boards
    ordered = sum("FifoQueue" in each for each in resources("AWS::SQS::Queue", "infra/data.yaml"))
    polling = sheet().polling
    mapped = resources("AWS::Lambda::EventSourceMapping", beside=False)
    of_queues = sum("Queue" in str(each["EventSourceArn"]) for each in mapped)
    assert polling.queues + polling.standard_queues == events("SQS") + of_queues
    assert polling.standard_queues == 1 < ordered
    beside = choices["discord"].queues + choices["world"].standard_queues
    assert beside == events("SQS", beside=True) - events("SQS")
    assert events("Schedule") == 3


def test_the_sheet_reckons_with_every_file_of_the_dashboard() -> None:
    files = [gzip.compress(each.body) for each in page_objects().values()]
    uses = sheet().visit.uses
    for meter, counted in (
        (Meter.S3_READS, len(files)),
        (Meter.CLOUDFRONT_REQUESTS, len(files) + VISIT_ASKS),
        (Meter.CLOUDFRONT_BYTES, sum(map(len, files)) + VISIT_ASKS * 2_000 + len(files) * 400),
    ):
        assert counted <= uses[meter] <= counted * 2, f"count {meter} again"


def test_the_page_says_what_discord_costs_while_nobody_speaks() -> None:
    prices = {meter.value: tariff for meter, tariff in sheet().prices.items()}
    queues = events("SQS", beside=True) - events("SQS") - WORLDS
    all_of_them = sheet().polling.usage[Meter.SQS_REQUESTS]
    asked = prices["sqs_requests"].micro_usd(all_of_them / sheet().polling.queues * queues)
    discord = f"${asked / DOLLAR:.2f}"
    english, japanese = (page(EXPLANATION, language) for language in LANGUAGES)
    assert f"**Discord** adds {discord} a month" in english
    line = re.search(r"^- \*\*Discord\*\*.*$", japanese, re.M)
    assert line is not None
    assert f"{discord.removeprefix('$')}ドル" in line[0]


def test_the_sheet_knows_every_function_and_its_memory() -> None:
    assert sheet().beat.functions.keys() == sheet().heartbeat.functions.keys()
    works = (sheet().turn, sheet().heartbeat, sheet().memory, sheet().night, sheet().cold)
    runs = {name: run for work in works for name, run in work.functions.items()}
    assert {name: run.memory_mb for name, run in runs.items()} == functions()


def test_the_deployment_reads_the_output_that_the_template_gives() -> None:
    script = (ROOT / "infra" / "deploy.py").read_text(encoding="utf-8")
    assert 'outputs.get("ApiUrl"' in script
    assert "ApiUrl" in template()["Outputs"]
    pattern = template()["Parameters"]["Stage"]["AllowedPattern"]
    assert f're.compile(r"{pattern}")' in script
