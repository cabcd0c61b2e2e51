"""`opencrab costs estimate-aws`: a table for people, micro-dollars for scripts, no server."""

import pytest

from opencrab.domain.errors import Invalid
from opencrab.domain.usage.aws_cost import PriceSheet
from tests.unit.domain.usage.test_aws_cost import table
from tests.unit.gateways.cli.server import Program, Server

ESTIMATE = ("cost", "estimate")


@pytest.fixture
def program(program: Program) -> Program:
    """The program with a sheet of round prices."""
    free = {"usd": 0.1, "free": 10, "as_of": "2025-06-01"}
    prices = {**table()["prices"], "alarms": free}
    uses = {"uses": {"write_units": 0.5}, "functions": {}}
    standing = {"alarms": 12, "kept_log_gb": 0.25}
    made = table(prices=prices, standing=standing, turn=uses, beat=uses, beat_seconds=29)
    program.sheet = lambda: PriceSheet.of(made)
    return program


def test_an_estimate_shows_an_idle_month_and_a_thousand_turns(
    program: Program, server: Server
) -> None:
    shown = program.run(*ESTIMATE, "--turns", "50000")
    assert (shown.code, shown.err) == (0, "")
    rows = [" ".join(row.split()) for row in shown.out.splitlines()]
    assert "moon-1 as of 2025-06-01, entered by hand, not verified" in rows[0]
    assert rows[2:7] == [
        "A month without traffic",
        "part amount cost after free tier",
        "alarms 12 $1.2000 $0.2000",
        "kept log GB 0.25 $0.2500 $0.2500",
        "total $1.4500 $0.4500",
    ]
    assert rows[8] == "One agent with a heartbeat every 29 s and nothing to do, per day"
    assert rows[10].startswith("write units 1,489.655 $1,489.6552")
    assert rows[13] == "1,000 turns, each waiting 0 s for its model"
    assert rows[15:17] == ["write units 500 $500.0000 $500.0000", "total $500.0000 $500.0000"]
    assert rows[18].startswith("A month with 50,000 turns: $25,001.4500; $25,000.4500 after")
    assert server.requests == []


def test_an_estimate_speaks_japanese(program: Program) -> None:
    shown = program.run("--language", "ja", *ESTIMATE, "--waiting")
    for text in (
        "利用のない1か月",
        "ハートビートが 29 秒ごと",
        "アラーム",
        "クライアントも待つ",
        "無料枠",
        "合計",
    ):
        assert text in shown.out
    assert "alarms" not in shown.out


@pytest.mark.parametrize(
    ("language", "section", "row"),
    [
        ("en", "1,000 visits to the dashboard behind CloudFront", "CloudFront requests"),
        ("ja", "CloudFront で配信するダッシュボードを 1,000 回", "CloudFront リクエスト"),
    ],
)
def test_an_estimate_names_the_cost_of_the_dashboard_behind_cloudfront(
    program: Program, language: str, section: str, row: str
) -> None:
    visit = {"uses": {"cloudfront_requests": 2}, "functions": {}}
    program.sheet = lambda: PriceSheet.of(table(visit=visit))
    shown = program.run("--language", language, *ESTIMATE).out
    rows = [" ".join(each.split()) for each in shown.partition(section)[2].splitlines()]
    assert "WebDashboard=on" in rows[0]
    assert rows[2] == f"{row} 2,000 $2,000.0000 $2,000.0000"
    found = program.run(*ESTIMATE, "--json").json
    assert found["thousand_visits"]["micro_usd"] == 2_000_000_000


def test_an_estimate_for_scripts_is_in_whole_micro_dollars(program: Program) -> None:
    found = program.run(*ESTIMATE, "--json", "--turns", "3", "--model-seconds", "7").json
    assert {found[name] for name in ("region", "as_of", "turns", "model_seconds", "waiting")} == {
        "moon-1",
        "2025-06-01",
        3,
        7,
        False,
    }
    assert found["month"]["micro_usd"] == 2_950_000
    assert found["agent_day"]["micro_usd"] == 1_489_655_173
    assert found["idle"] == {
        "micro_usd": 1_450_000,
        "after_free_micro_usd": 450_000,
        "parts": [
            {
                "meter": "alarms",
                "amount": "12",
                "micro_usd": 1_200_000,
                "after_free_micro_usd": 200_000,
            },
            {
                "meter": "kept_log_gb",
                "amount": "0.25",
                "micro_usd": 250_000,
                "after_free_micro_usd": 250_000,
            },
        ],
    }
    assert (
        program.run("--language", "ja", *ESTIMATE, "--json", "--turns", "3").json["idle"]
        == (found["idle"])
    )


@pytest.mark.parametrize(
    "args",
    [
        ("--turns", "-1"),
        ("--turns", "many"),
        ("--turns", "1.5"),
        ("--turns", "1000000001"),
        ("--model-seconds", "nan"),
        ("--model-seconds", "301"),
        ("--region", "eu-west-1"),
    ],
    ids=" ".join,
)
def test_numbers_that_make_no_sense_are_refused(program: Program, args: tuple[str, ...]) -> None:
    refused = program.run(*ESTIMATE, *args)
    assert (refused.code, refused.out) == (2, "")
    assert args[0] in refused.err


@pytest.mark.parametrize(
    ("language", "told", "cure"),
    [
        ("en", "there is no price 'tax'", "correct it"),
        ("ja", "there is no price 'tax'", "直してください"),
    ],
)
def test_a_sheet_that_cannot_be_used_is_explained(
    program: Program, language: str, told: str, cure: str
) -> None:
    def broken() -> PriceSheet:
        raise Invalid(told, field="tax", cure="correct it")

    program.sheet = broken
    refused = program.run("--language", language, *ESTIMATE)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == f"opencrab: {told}\n  → {cure}\n"
    program.sheet = None
    assert program.run("--language", language, *ESTIMATE).code == 2
