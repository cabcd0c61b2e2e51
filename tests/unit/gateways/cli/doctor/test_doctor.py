"""The doctor: what is well, what is not, and what to do about it."""

from datetime import UTC, datetime

import httpx
import pytest

from tests.unit.gateways.cli.server import Program, Server, ok, page, problem
from tests.unit.gateways.cli.views import agent_view

DEPLOYED = {
    "version": "0.2.0",
    "home": {
        "kind": "aws",
        "stage": "prod",
        "region": "us-east-1",
        "secrets": "ssm:/opencrab/prod/",
    },
    "model": {"default": "openai:gpt", "notes": []},
    "budget": {"turn_usd": 0.5, "agent_day_usd": 1.0, "installation_day_usd": 5.0},
    "heartbeat": {"at": "2026-01-05T08:59:20Z"},
    "missing": [],
}
DATED = {"Date": "Mon, 05 Jan 2026 09:00:00 GMT"}
MISSING = [{"part": "gateway.discord", "variable": "DISCORD_TOKEN", "cure": "set it"}]


def setup(model: str, *notes: str) -> httpx.Response:
    return ok({"model": {"default": model, "notes": list(notes)}, "missing": MISSING})


@pytest.fixture
def server() -> Server:
    """A server on which all is well."""
    server = Server()
    server.on("GET /health", ok({"status": "ok", "version": "0.2.0"}))
    server.on("GET /setup", setup("openai:gpt", "fast"))
    server.on("GET /agents", page(agent_view("Ada")))
    return server


def verdicts(program: Program, *args: str) -> dict[str, str]:
    found = program.run(*args, "doctor", "--json").json
    assert all(set(finding) == {"name", "verdict", "detail", "cure"} for finding in found)
    return {finding["name"]: finding["verdict"] for finding in found}


def test_all_is_well(program: Program) -> None:
    shown = program.run("doctor")
    assert shown.code == 0
    assert shown.out.splitlines()[1:] == [
        "✓ server: http://127.0.0.1:8080 (OpenCrab 0.2.0)",
        "✓ key: accepted",
        "✓ model: openai:gpt fast",
        "· setup: off until their variables are set: gateway.discord (DISCORD_TOKEN)",
        "✓ agents: 1: Ada",
    ]
    assert shown.out.startswith("✓ python: 3.")


def test_all_is_well_in_japanese(program: Program) -> None:
    shown = program.run("--language", "ja", "doctor")
    assert shown.code == 0
    assert shown.out.splitlines()[1:] == [
        "✓ サーバー: http://127.0.0.1:8080(OpenCrab 0.2.0)",
        "✓ API キー: 有効です",
        "✓ モデル: openai:gpt fast",
        "· 設定: 変数を設定すると有効になります: gateway.discord (DISCORD_TOKEN)",
        "✓ エージェント: 1 体: Ada",
    ]


def test_what_comes_switched_off_takes_one_line_and_ones_own_settings_one_each(
    program: Program, server: Server
) -> None:
    missing = [
        {"part": part, "variable": variable}
        for part, variable in (
            ("actions.values.desk", "DESK"),
            ("gateway.line", "LINE_CHANNEL_SECRET"),
            ("llm.providers.groq", "GROQ_API_KEY"),
        )
    ]
    server.on("GET /setup", ok({"model": {"default": "openai:gpt"}, "missing": missing}))
    assert [line for line in program.run("doctor").out.splitlines() if "setup:" in line] == [
        "· setup: actions.values.desk is off: DESK is not set",
        "· setup: off until their variables are set: gateway.line (LINE_CHANNEL_SECRET), "
        "llm.providers.groq (GROQ_API_KEY)",
    ]


@pytest.mark.parametrize(
    ("language", "model", "cure"),
    [
        ("en", "no language model", "opencrab setup"),
        ("ja", "台本どおりのモデル(言語モデルではなく、簡単な規則で応答します", "opencrab setup"),
    ],
)
def test_a_scripted_model_and_no_agents_are_notes_with_cures(
    program: Program, server: Server, language: str, model: str, cure: str
) -> None:
    server.on("GET /setup", setup("scripted:rules"))
    server.on("GET /agents", page())
    shown = program.run("--language", language, "doctor")
    assert shown.code == 0
    assert model in shown.out
    assert cure in shown.out
    assert "opencrab agents create" in shown.out


@pytest.mark.parametrize(
    ("language", "down"), [("en", "✗ server: no answer from"), ("ja", "応答がありません")]
)
def test_without_a_server_nothing_else_is_looked_at(
    program: Program, server: Server, language: str, down: str
) -> None:
    server.on("GET /health", httpx.ConnectError("refused"))
    shown = program.run("--language", language, "doctor")
    assert shown.code == 1
    assert down in shown.out
    assert "`make up`" in shown.out
    assert "Traceback" not in shown.out + shown.err
    assert verdicts(program) == {"python": "well", "server": "wrong"}


def test_something_else_at_the_address_is_told_apart(program: Program, server: Server) -> None:
    server.on("GET /health", httpx.Response(200, html="<h1>hello</h1>"))
    assert verdicts(program) == {"python": "well", "server": "wrong"}


def test_a_key_that_is_not_accepted_is_wrong(program: Program, server: Server) -> None:
    server.on("GET /setup", problem(401, "no"))
    shown = program.run("doctor")
    assert shown.code == 1
    assert "✗ key: the server rejected this API key" in shown.out
    assert verdicts(program) == {"python": "well", "server": "well", "key": "wrong"}


@pytest.mark.parametrize("url", ["http://crab.example", "http://192.168.0.2:8080"])
def test_a_key_that_travels_in_the_open_is_wrong(program: Program, url: str) -> None:
    assert verdicts(program, "--url", url, "--key", "k")["key"] == "wrong"
    assert verdicts(program, "--url", "https://crab.example", "--key", "k")["key"] == "well"


def test_no_model_at_all_is_wrong(program: Program, server: Server) -> None:
    server.on("GET /setup", ok({}))
    shown = program.run("doctor")
    assert shown.code == 1
    assert "✗ model: no model available" in shown.out


def test_agents_that_cannot_be_read_are_wrong(program: Program, server: Server) -> None:
    server.on("GET /agents", problem(500, "the database is locked", cure="close the other"))
    shown = program.run("doctor")
    assert shown.code == 1
    assert "✗ agents: the database is locked\n  → close the other\n" in shown.out


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        (
            "en",
            [
                "✓ server: https://crab.example (OpenCrab 0.2.0)",
                "✓ key: accepted",
                "✓ clock: differs from the server's clock by 2 s",
                "✓ home: aws (stage prod, region us-east-1, secrets ssm:/opencrab/prod/)",
                "✓ model: openai:gpt",
                "✓ budget: $0.50 per turn, $1.00 per agent and day, $5.00 per day in total",
                "✓ heartbeat: last heartbeat 40 s ago",
                "✓ agents: 1: Ada",
            ],
        ),
        (
            "ja",
            [
                "✓ サーバー: https://crab.example(OpenCrab 0.2.0)",
                "✓ API キー: 有効です",
                "✓ 時計: サーバーとの差は 2 秒です",
                "✓ ホーム: AWS (ステージ prod, リージョン us-east-1, "
                "シークレット ssm:/opencrab/prod/)",
                "✓ モデル: openai:gpt",
                "✓ 予算: 1ターン $0.50、エージェントごとに1日 $1.00、全体で1日 $5.00",
                "✓ ハートビート: 最後のハートビートは 40 秒前です",
                "✓ エージェント: 1 体: Ada",
            ],
        ),
    ],
)
def test_a_deployment_is_examined_from_afar(
    program: Program, server: Server, language: str, expected: list[str]
) -> None:
    server.on("GET /setup", httpx.Response(200, json=DEPLOYED, headers=DATED))
    program.now = lambda: datetime(2026, 1, 5, 9, 0, 2, tzinfo=UTC)
    shown = program.run(
        *("--url", "https://crab.example", "--key", "k", "--language", language, "doctor")
    )
    assert shown.code == 0
    assert shown.out.splitlines()[1:] == expected


def test_a_deployment_whose_heart_stopped_and_whose_clock_is_off(
    program: Program, server: Server
) -> None:
    stopped = {**DEPLOYED, "heartbeat": {"at": "2026-01-04T09:00:00Z"}}
    server.on("GET /setup", httpx.Response(200, json=stopped, headers=DATED))
    program.now = lambda: datetime(2026, 1, 5, 10, 0, tzinfo=UTC)
    shown = program.run("--url", "https://crab.example", "--key", "k", "doctor")
    assert shown.code == 1
    assert (
        "· clock: differs from the server's clock by 3600 s\n  → synchronise this computer's clock"
        in shown.out
    )
    assert "✗ heartbeat: last heartbeat 86400 s ago\n  → read the log" in shown.out


@pytest.mark.parametrize(
    ("status", "detail", "cure"),
    [
        (401, "the server rejected this API key", "~/.opencrab/STAGE-ACCOUNT-REGION.key"),
        (403, "the server rejected this API key", "~/.opencrab/STAGE-ACCOUNT-REGION.key"),
        (429, "is unavailable (HTTP 429)", "a moment"),
        (500, "the Lambda function behind", "rest_gateway"),
        (503, "is unavailable (HTTP 503)", "a moment"),
        (404, "is not OpenCrab (HTTP 404)", "--url"),
    ],
)
def test_what_api_gateway_answers_itself_is_understood(
    program: Program, server: Server, status: int, detail: str, cure: str
) -> None:
    headers = {"apigw-requestid": "Xyz="}
    answer = httpx.Response(status, json={"message": "…"}, headers=headers)
    server.on("GET /setup", answer)
    shown = program.run("--url", "https://crab.example", "--key", "k", "doctor")
    assert shown.code == 1
    assert "✗ key: " in shown.out
    assert detail in shown.out
    assert cure in shown.out


def test_a_server_elsewhere_that_starts_cold_is_asked_once_more(
    program: Program, server: Server
) -> None:
    late, healthy = httpx.ReadTimeout("late"), ok({"status": "ok", "version": "0.1.0"})
    server.on("GET /health", late, healthy)
    assert verdicts(program, "--url", "https://crab.example", "--key", "k")["server"] == "well"
    server.on("GET /health", late, late, healthy)
    assert verdicts(program, "--url", "https://crab.example", "--key", "k")["server"] == "wrong"
