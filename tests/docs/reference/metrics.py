"""The page of all metrics, of the alarms that watch them, and of what logs and the ledger hold."""

import ast
import json
import logging
import re
from collections.abc import Iterable
from typing import Any

from opencrab.domain.money.budget import Usage
from opencrab.domain.value import Language
from opencrab.gateways.aws import functions
from opencrab.gateways.rest.agents.models import CallMetrics
from tests.architecture.source import modules
from tests.docs.reference.cloudformation import resources
from tests.docs.reference.section import Section, text_of

_STAGE = "opencrab-${Stage}"
_OURS = "OpenCrab"
_DRAWN = re.compile(r'\["(OpenCrab|AWS/\w+)", "(\w+)"')
_MILLIONS = re.compile(r"\$\{(\w+)\}0{6}$")
_MINUTE, _HOUR = 60, 3_600


def page(language: Language) -> str:
    """The page in one language."""
    return text_of("metrics", sections(language), language)


def sections(_language: Language) -> list[Section]:
    """Everything that the page has."""
    return [
        Section("metric", {name: _metric(name, unit) for name, unit in emitted().items()}),
        Section("alarm", {name: _alarm(each) for name, each in alarms().items()}),
        Section("aws", {name: _of_aws(name) for name in sorted(watched()) if _OURS not in name}),
        Section("log", _named(log_keys())),
        Section("access", _named(access_log_keys())),
        Section("call", _named(call_fields())),
        Section("usage", _named(Usage.model_fields)),
    ]


def emitted() -> dict[str, str]:
    """Every metric that the product emits, with its unit."""
    found = dict[str, str]()
    for module in modules():
        if "add_metric(" not in module.text and "_lambda_log.count(" not in module.text:
            continue
        for call in (node for node in module.nodes if isinstance(node, ast.Call)):
            deed = ast.unparse(call.func)
            if not (call.args and isinstance(call.args[0], ast.Constant)):
                continue
            if deed.endswith(".add_metric"):
                unit = ast.unparse(call.args[1]).removeprefix("MetricUnit.")
                found[str(call.args[0].value)] = unit
            elif deed.endswith("_lambda_log.count"):
                found[str(call.args[0].value)] = "Count"
    return found


def alarms() -> dict[str, dict[str, Any]]:
    """Every alarm by its name without the stage, with its properties and condition."""
    return {
        each["Properties"]["AlarmName"].removeprefix(f"{_STAGE}-"): each
        for each in resources("AWS::CloudWatch::Alarm").values()
    }


def watched() -> set[str]:
    """The metrics that an alarm or the dashboard reads, ours and those of AWS."""
    return _drawn() | {_full_name(each) for each in alarms().values()}


def log_keys() -> list[str]:
    """The keys that a line of a function's log may have."""
    formatter = functions._Formatter("opencrab-main", quoting=False)
    formatter.append_keys(**dict.fromkeys(functions._IDS, "-"))
    error = (LookupError, LookupError(), None)
    record = logging.LogRecord("opencrab", logging.ERROR, __file__, 1, "no", None, error)
    # Powertools adds it only where AWS X-Ray has given the invocation a trace.
    return [*json.loads(formatter.format(record)), "xray_trace_id"]


def access_log_keys() -> list[str]:
    """The keys of a line of the access log."""
    stages = (each["Properties"] for each in resources("AWS::ApiGatewayV2::Stage").values())
    logged = [stage["AccessLogSettings"] for stage in stages if "AccessLogSettings" in stage]
    return [key for settings in logged for key in json.loads(settings["Format"])]


def call_fields() -> list[str]:
    """What is stored of each model call and shown."""
    return [name for name, field in CallMetrics.model_fields.items() if not field.exclude]


def _metric(name: str, unit: str) -> tuple[str, ...]:
    watching = [key for key, each in alarms().items() if _full_name(each) == f"{_OURS} {name}"]
    drawn = ["dashboard"] if f"{_OURS} {name}" in _drawn() else []
    return f"`{name}`", unit, _codes([*watching, *drawn])


def _alarm(alarm: dict[str, Any]) -> tuple[str, ...]:
    found = alarm["Properties"]
    given = [(each["Name"], each["Value"]) for each in found.get("Dimensions", ())]
    dimensions = [f"{name}={value}" for name, value in given if name != value]
    metric = f"`{_full_name(alarm)}`" + "".join(f"<br>`{_plain(each)}`" for each in dimensions)
    seconds = found["Period"]
    time = f"{seconds // _HOUR} h" if seconds >= _HOUR else f"{seconds // _MINUTE} min"
    periods = found["EvaluationPeriods"]
    rule = f"{found['Statistic']} > {_plain(found['Threshold'])}, {time}"
    rule += f", {found['DatapointsToAlarm']} of {periods}" if periods > 1 else ""
    return f"`{found['AlarmName'].removeprefix(f'{_STAGE}-')}`", metric, rule


def _of_aws(name: str) -> tuple[str, ...]:
    watching = [key for key, each in alarms().items() if _full_name(each) == name]
    return f"`{name}`", _codes([*watching, *(["dashboard"] if name in _drawn() else [])])


def _full_name(alarm: dict[str, Any]) -> str:
    found = alarm["Properties"]
    return f"{found['Namespace']} {found['MetricName']}"


def _drawn() -> set[str]:
    """What the dashboard shows."""
    (board,) = resources("AWS::CloudWatch::Dashboard").values()
    told = json.dumps(board["Properties"]["DashboardBody"]).replace('\\"', '"')
    return {" ".join(found) for found in _DRAWN.findall(told)}


def _plain(value: object) -> str:
    """A value of a template as a person reads it, such as `opencrab-STAGE-turns.fifo`."""
    text = str(value).replace("${Stage}", "STAGE")
    return _MILLIONS.sub(r"\1 × 1,000,000", text)


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _named(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    return {name: (f"`{name}`",) for name in names}
