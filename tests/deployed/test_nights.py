"""A deployed installation learns by night: what waits is done, and the report lies in the files."""

import json

import pytest

from opencrab.adapters.system_clock import SystemClock
from tests.deployed.stack import Stack

pytest_plugins = ["tests.deployed.fixture"]
pytestmark = [pytest.mark.deployed, pytest.mark.timeout(600)]


def test_the_schedules_function_looks_at_the_day_of_an_agent_that_had_turns(stack: Stack) -> None:
    agent = stack.agent("Yoru", "ja")
    stack.say(stack.session(agent), "「潮が満ちました」と言って")
    today = SystemClock().now().date().isoformat()
    message = {"v": 1, "agent": agent, "period": f"daily-{today}"}
    sqs, url = stack.emulator.client("sqs"), stack.outputs["NightsQueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody=json.dumps(message))
    event = json.dumps({"source": "aws.events", "detail-type": "Scheduled Event"})
    name = stack.function("meta-analysis")
    answer = stack.emulator.client("lambda").invoke(FunctionName=name, Payload=event)
    told = json.loads(answer["Payload"].read())
    assert "FunctionError" not in answer, told
    assert (told["done"], told["failed"]) >= (1, 0), told
    for ending in (".md", ".ja.md"):
        path = f"/agents/{agent}/workspace/reports/learning/{today}{ending}"
        report = stack.ask("GET", path)
        assert report.status == 200, report
        assert today in report.body.decode()
    assert stack.item(f"FACT#{agent}", f"night#daily-{today}") is not None
