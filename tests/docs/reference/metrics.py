"""The page of all metrics, of the alarms that watch them, and of what logs and the ledger hold."""

import ast
import json
import logging
import re
from collections.abc import Iterable
from typing import Any

from opencrab.domain.money.budget import Usage
from opencrab.domain.value import Language
from opencrab.gateways.aws import lambda_log
from opencrab.gateways.rest.agents.models import CallMetrics
from tests.architecture.source import modules
from tests.docs.reference.cloudformation import resources
from tests.docs.reference.section import Section, text_of

_STAGE = "opencrab-${Stage}"
_OURS = "OpenCrab"
_DRAWN = re.compile(r'\["(OpenCrab|AWS/\w+)", "(\w+)"')
_MILLIONS = re.compile(r"\$\{(\w+)\}0{6}$")
_QUEUE = re.compile(r"^(\w+Queue)Name$")
"""The parameter that holds the generated name of a queue, which is called so in its template."""

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
            elif deed.endswith("_lambda_log.count") or (
                deed == "self.count" and "add_metric(" in module.text
            ):
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
    return _drawn() | {name for each in alarms().values() for name in _full_names(each)}


def log_keys() -> list[str]:
    """The keys that a line of a function's log may have."""
    formatter = lambda_log._Formatter("opencrab-main", quoting=False)
    formatter.append_keys(**dict.fromkeys(lambda_log._IDS, "-"))
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
    watching = [key for key, each in alarms().items() if f"{_OURS} {name}" in _full_names(each)]
    drawn = ["dashboard"] if f"{_OURS} {name}" in _drawn() else []
    return f"`{name}`", unit, _codes([*watching, *drawn])


def _alarm(alarm: dict[str, Any]) -> tuple[str, ...]:
    found = alarm["Properties"]
    metrics = _metrics(alarm)
    shown = [f"`{name}`" for name in dict.fromkeys(_full_names(alarm))]
    for metric in metrics:
        given = [(each["Name"], each["Value"]) for each in metric.get("Dimensions", ())]
        shown += [f"`{_plain(f'{name}={value}')}`" for name, value in given if name != value]
    seconds = metrics[0]["Period"]
    time = f"{seconds // _HOUR} h" if seconds >= _HOUR else f"{seconds // _MINUTE} min"
    periods = found["EvaluationPeriods"]
    sign = "<" if found["ComparisonOperator"].startswith("Less") else ">"
    level = found.get("Statistic") or f"`{_plain(_expression(found))}`"
    rule = f"{level} {sign} {_plain(found['Threshold'])}, {time}"
    rule += f", {found['DatapointsToAlarm']} of {periods}" if periods > 1 else ""
    name = found["AlarmName"].removeprefix(f"{_STAGE}-")
    return f"`{name}`", "<br>".join(dict.fromkeys(shown)), rule


def _expression(found: dict[str, Any]) -> str:
    return next(str(each["Expression"]) for each in found["Metrics"] if "Expression" in each)


def _metrics(alarm: dict[str, Any]) -> list[dict[str, Any]]:
    """The metrics that an alarm watches, those that only Discord adds included."""
    found = alarm["Properties"]
    if "MetricName" in found:
        return [found]
    # A list is an !If: what is watched only with a switch, and what is there without it.
    given = [each[1] if isinstance(each, list) else each for each in found["Metrics"]]
    stats = [each["MetricStat"] for each in given if "MetricStat" in each]
    return [{**each["Metric"], "Period": each["Period"]} for each in stats]


def _of_aws(name: str) -> tuple[str, ...]:
    watching = [key for key, each in alarms().items() if name in _full_names(each)]
    return f"`{name}`", _codes([*watching, *(["dashboard"] if name in _drawn() else [])])


def _full_names(alarm: dict[str, Any]) -> list[str]:
    return [f"{each['Namespace']} {each['MetricName']}" for each in _metrics(alarm)]


def _drawn() -> set[str]:
    """What the dashboard shows."""
    (board,) = resources("AWS::CloudWatch::Dashboard").values()
    told = json.dumps(board["Properties"]["DashboardBody"]).replace('\\"', '"')
    return {" ".join(found) for found in _DRAWN.findall(told)}


def _plain(value: object) -> str:
    """A value of a template as a person reads it, such as `opencrab-STAGE` or `TurnsQueue`."""
    text = _QUEUE.sub(r"\1", str(value).replace("${Stage}", "STAGE"))
    return _MILLIONS.sub(r"\1 × 1,000,000", text)


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _named(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    return {name: (f"`{name}`",) for name in names}
