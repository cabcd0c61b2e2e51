"""An HTTP API with an OpenAPI description is used by an agent of `opencrab up`, once trusted."""

import json
from pathlib import Path

from tests.http_api import serving
from tests.running import server

SETTINGS = """
[mcp.servers.tides]
openapi = "{url}/openapi.json"
headers = {{Authorization = "Bearer ${{TIDES_TOKEN}}"}}
operations = ["getTides", "addNote"]
"""
ANSWERS = """
[[answers]]
calls = [{name = "mcp__tides__get_tides", arguments = '{"place": "東京"}'}]
[[answers]]
calls = [{name = "mcp__tides__add_note", arguments = '{"body": {"text": "干潮"}}'}]
[[answers]]
text = "done"
"""


def test_an_agent_calls_what_its_owner_trusts_with_the_settings_header(tmp_path: Path) -> None:
    place = tmp_path / "config" / "opencrab" / "config.toml"
    place.parent.mkdir(parents=True)
    script = tmp_path / "script.toml"
    script.write_text(ANSWERS, encoding="utf-8")
    with serving() as (app, url):
        place.write_text(SETTINGS.format(url=url), encoding="utf-8")
        more = {
            "TIDES_TOKEN": "t0p",
            "OPENCRAB_LLM__DEFAULT_PROVIDER": "scripted",
            "OPENCRAB_LLM__PROVIDERS__SCRIPTED__SCRIPT": str(script),
        }
        with server(tmp_path / "data", more=more) as running:
            tools = running.call("GET", "/mcp/servers/tides/tools")["items"]
            for tool in tools:
                body = {"fingerprint": tool["fingerprint"], "impact": "read", "effect": "pure"}
                if tool["name"] == "addNote":
                    body = {"fingerprint": tool["fingerprint"]}
                running.call("PUT", f"/mcp/servers/tides/tools/{tool['name']}", body)
            session = running.session("蟹")
            running.say(session, "潮は?", wait=20)
            assert app.state.seen == [], "nothing runs unasked"
            (waiting,) = running.call("GET", "/approvals")["items"]
            running.call("POST", f"/approvals/{waiting['id']}/decide", {"approved": True}, wait=20)
            steps = running.only_turn(session)["steps"]
    told = json.dumps([call["data"] for step in steps for call in step["calls"]])
    assert json.dumps("干潮") in told
    assert app.state.seen == ["Bearer t0p"]
