"""`opencrab up` with the usual variables of OpenTelemetry: a person's turn is a trace."""

from pathlib import Path

from tests.otlp import attributes_of, receiver
from tests.running import server


def test_a_turn_of_opencrab_up_arrives_at_a_receiver_without_what_was_said(tmp_path: Path) -> None:
    with receiver() as found:
        variables = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": found.url,
            "OTEL_EXPORTER_OTLP_HEADERS": "x-key=abc",
            "OTEL_SERVICE_NAME": "crabs",
            "OTEL_BSP_SCHEDULE_DELAY": "20",
            "OPENCRAB_LLM__DEFAULT_PROVIDER": "scripted",
        }
        with server(tmp_path / "data", more=variables) as running:
            session = running.session("蟹")
            answer = running.say(session, "say 干潮です")
            assert "干潮です" in repr(answer)
            spans = found.spans()
    assert spans[0].name == "invoke_agent 蟹"
    assert attributes_of(spans[0])["gen_ai.conversation.id"] == session
    assert {attributes_of(span)["gen_ai.operation.name"] for span in spans} >= {"chat"}
    assert "干潮です" not in repr([attributes_of(span) for span in spans])
    assert found.resources[0]["service.name"] == "crabs"
    assert found.headers[0]["x-key"] == "abc"
