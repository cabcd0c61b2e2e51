"""Models and providers at the terminal: listed with their prices, which can be made new."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import pytest

from opencrab.domain.errors import Unavailable
from opencrab.domain.models.preferences import DatedPrice
from opencrab.domain.models.price_check import NewPrices, classify_model_prices
from opencrab.domain.money.budget import Price
from opencrab.ports.installation.configuration import SettingsPaths
from tests.unit.gateways.cli.server import Program, Server, ok, page, problem

PRICE = {
    "input_per_million": 1_250_000,
    "output_per_million": 10_000_000,
    "cached_per_million": None,
    "cache_write_per_million": None,
    "cache_write_long_per_million": None,
}


def model(name: str, price: Mapping[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """A model as OpenCrab shows it."""
    facts = {
        "name": name,
        "provider": name.partition(":")[0],
        "max_input_tokens": 400_000,
        "max_output_tokens": 4_096,
        "max_total_tokens": None,
        "price": price,
        "functions": True,
        "vision": False,
        "private": False,
        "notes": [],
    }
    return {**facts, **changes}


MODELS = (model("ollama:llama", {**PRICE, "input_per_million": 0}, private=True), model("openai:x"))


@dataclass
class List:
    """A public price list; it remembers what it was asked about."""

    prices: dict[str, DatedPrice] = field(default_factory=dict)
    error: Exception | None = None
    asked: list[tuple[dict[str, Price | None], dict[str, int]]] = field(default_factory=list)

    def __call__(
        self,
        known: Mapping[str, Price | None],
        limits: Mapping[str, int],
        /,
        *,
        allow_lower: bool = False,
        places: SettingsPaths,
    ) -> NewPrices:
        self.asked.append((dict(known), dict(limits)))
        if self.error is not None:
            raise self.error
        return classify_model_prices(self.prices, known, allow_lower=allow_lower)


NEWEST = DatedPrice(
    price=Price(input_per_million=2_000_000, output_per_million=500_000), as_of=date(2026, 2, 17)
)


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ["name", "provider", "context", "unknown", "private"]),
        ("ja", ["名前", "プロバイダー", "コンテキスト", "不明", "非公開"]),
    ],
)
def test_models_are_listed_with_their_providers_and_prices(
    program: Program, server: Server, language: str, words: list[str]
) -> None:
    *heads, unknown, private = words
    server.on("GET /llm/models", page(MODELS[0], next_cursor="c"), page(MODELS[1]))
    said = program.run("--language", language, "models")
    rows = [row.split() for row in said.out.splitlines()]
    assert rows[0][:3] == heads
    assert rows[1] == ["ollama:llama", "ollama", "400,000", "$0.00", "$10.00", private]
    assert rows[2] == ["openai:x", "openai", "400,000", unknown, unknown]
    assert "refresh-prices" in said.out


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", ("free, private", "not usable: gone")), ("ja", ("無料", "使えません"))],
)
def test_free_and_unusable_models_are_marked(
    program: Program, server: Server, language: str, words: tuple[str, str]
) -> None:
    free = model("ollama:qwen", PRICE, private=True, free=True, problem="")
    server.on("GET /llm/models", page(free, model("ollama:x", PRICE, problem="gone")))
    told = program.run("--language", language, "models").out
    assert all(word in told for word in words)


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        ("provider 'x' is not set up: X_KEY", "プロバイダー 'x' は設定されていません: X_KEY"),
        ("the price of 'x:y' is not known", "'x:y' の料金が不明です"),
        ("it is not installed: run `ollama pull y`", "`ollama pull y` を実行してください"),
        ("gone", "gone"),
    ],
)
def test_why_a_model_cannot_be_used_is_told_in_japanese(
    program: Program, server: Server, problem: str, told: str
) -> None:
    server.on("GET /llm/models", page(model("x:y", PRICE, problem=problem)))
    assert told in program.run("--language", "ja", "models").out
    assert problem in program.run("models").out


@pytest.mark.parametrize("word", ["list", "show"])
def test_a_group_that_lists_by_itself_does_so_by_name_too(
    program: Program, server: Server, word: str
) -> None:
    server.on("GET /llm/models", page(*MODELS))
    assert program.run("models", word).out == program.run("models").out
    assert word not in re.findall(r"^  (\S+)", program.run("models", "-h").out, re.MULTILINE)


@pytest.mark.parametrize("args", [("--json", "models"), ("models", "--json")], ids=" ".join)
def test_a_script_gets_models_with_name_and_provider(
    program: Program, server: Server, args: tuple[str, ...]
) -> None:
    server.on("GET /llm/models", page(*MODELS))
    found = program.run(*args).json
    assert [(one["name"], one["provider"]) for one in found] == [
        ("ollama:llama", "ollama"),
        ("openai:x", "openai"),
    ]


def test_models_of_one_provider_are_asked_for(program: Program, server: Server) -> None:
    server.on("GET /llm/models", page())
    assert program.run("models", "--provider", "openai").out == "no matching models\n"
    assert server.requests[0].url.params["provider"] == "openai"


@pytest.mark.parametrize(
    ("language", "said"), [("en", "updated 1 prices"), ("ja", "1 件の料金を更新しました")]
)
def test_newer_prices_are_taken_over(
    program: Program, server: Server, language: str, said: str
) -> None:
    server.on("GET /llm/models", page(*MODELS))
    server.on("PUT /llm/prices", ok({"prices": {}}))
    program.prices = listed = List({"openai:x": NEWEST})
    out = program.run("--language", language, "models", "refresh-prices").out
    assert said in out
    assert "$2.00 / $0.50" in out
    known, limits = listed.asked[0]
    assert (known["openai:x"], limits) == (None, {"ollama:llama": 400_000, "openai:x": 400_000})
    assert known["ollama:llama"] == Price(input_per_million=0, output_per_million=10_000_000)
    assert server.sent("PUT") == [{"prices": {"openai:x": NEWEST.model_dump(mode="json")}}]


@pytest.mark.parametrize(
    "args", [("models", "--json", "refresh-prices"), ("models", "refresh-prices", "--json")]
)
def test_new_prices_are_a_list_for_a_script(
    program: Program, server: Server, args: tuple[str, ...]
) -> None:
    server.on("GET /llm/models", page(*MODELS))
    server.on("PUT /llm/prices", ok({"prices": {}}))
    program.prices = List({"openai:x": NEWEST})
    assert program.run(*args).json == [{"name": "openai:x", **NEWEST.model_dump(mode="json")}]


def test_prices_that_did_not_change_are_not_sent(program: Program, server: Server) -> None:
    server.on("GET /llm/models", page(*MODELS))
    program.prices = List()
    assert "no price has changed" in program.run("models", "refresh-prices").out
    assert server.sent("PUT") == []


def test_a_price_list_that_does_not_come_is_a_sentence(program: Program, server: Server) -> None:
    server.on("GET /llm/models", page(*MODELS))
    refused = program.run("models", "refresh-prices")
    assert (refused.code, refused.out) == (2, "")
    assert "there is no price list" in refused.err
    program.prices = List(error=Unavailable("the price list cannot be fetched", cure="try later"))
    refused = program.run("models", "refresh-prices")
    assert refused.err == "opencrab: the price list cannot be fetched\n  → try later\n"
    server.on("PUT /llm/prices", problem(409, "somebody was faster", cure="try again"))
    program.prices = List({"openai:x": NEWEST})
    assert program.run("models", "refresh-prices").code == 6


@pytest.mark.parametrize(
    ("language", "states"),
    [
        ("en", ["disabled", "OPENAI_API_KEY is not set", "ready", "not ready: nobody"]),
        ("ja", ["無効", "OPENAI_API_KEY が未設定", "利用可能", "応答なし: nobody"]),
    ],
)
def test_providers_are_listed_with_what_they_lack(
    program: Program, server: Server, language: str, states: list[str]
) -> None:
    facts = {"kind": "openai", "base_url": "https://a.example", "private": False}
    facts |= {"has_key": False, "default_model": "gpt"}
    providers = (
        {"name": "a", "enabled": False, "missing": "", **facts},
        {"name": "b", "enabled": True, "missing": "OPENAI_API_KEY", **facts},
        {"name": "c", "enabled": True, "missing": "", "ready": True, **facts},
        {"name": "d", "enabled": True, "missing": "", "ready": False, "problem": "nobody", **facts},
    )
    server.on("GET /llm/providers", page(*providers))
    rows = program.run("--language", language, "providers").out.splitlines()[1:]
    assert all(state in row for state, row in zip(states, rows, strict=True))
    assert program.run("providers", "--json").json == list(providers)


LOW = DatedPrice(price=Price(input_per_million=0, output_per_million=1), as_of=date(2026, 2, 17))
DEAR = {**PRICE, "input_per_million": 4_000_000}


@pytest.mark.parametrize(("language", "said"), [("en", "kept 1 prices"), ("ja", "1 件は")])
def test_prices_that_fall_far_are_shown_and_not_sent(
    program: Program, server: Server, language: str, said: str
) -> None:
    server.on("GET /llm/models", page(model("openai:x", DEAR)))
    program.prices = List({"openai:x": LOW})
    shown = program.run("--language", language, "models", "refresh-prices")
    assert said in shown.out
    assert "--allow-lower" in shown.out
    assert "$4.00 / $10.00" in shown.out
    assert server.sent("PUT") == []
    rows = program.run("models", "refresh-prices", "--json").json
    assert [(row["name"], row["refused"]) for row in rows] == [("openai:x", True)]
    assert rows[0]["kept"]["input_per_million"] == 4_000_000


def test_prices_may_fall_where_the_owner_says_so(program: Program, server: Server) -> None:
    server.on("GET /llm/models", page(model("openai:x", DEAR)))
    server.on("PUT /llm/prices", ok({"prices": {}, "refused": {}}))
    program.prices = List({"openai:x": LOW})
    assert "updated 1 prices" in program.run("models", "refresh-prices", "--allow-lower").out
    assert server.sent("PUT")[0]["allow_lower"] is True


def test_what_the_server_refuses_is_told(program: Program, server: Server) -> None:
    low = {"kept": DEAR, "refused": NEWEST.price.model_dump()}
    server.on("GET /llm/models", page(*MODELS))
    server.on("PUT /llm/prices", ok({"prices": {}, "refused": {"openai:x": low}}))
    program.prices = List({"openai:x": NEWEST})
    out = program.run("models", "refresh-prices").out
    assert "no price has changed" in out
    assert "kept 1 prices" in out


@pytest.mark.parametrize(
    ("args", "typed", "sent"), [((), ["n"], 0), ((), ["はい"], 1), (("--yes",), [], 1)]
)
def test_a_person_sees_the_new_prices_and_agrees_to_them(
    program: Program, server: Server, args: tuple[str, ...], typed: list[str], sent: int
) -> None:
    server.on("GET /llm/models", page(*MODELS))
    server.on("PUT /llm/prices", ok({"prices": {}, "refused": {}}))
    program.prices = List({"openai:x": NEWEST})
    shown = program.sit("models", "refresh-prices", *args, typed=typed)
    assert "$2.00 / $0.50" in shown.out
    assert len(server.sent("PUT")) == sent
    assert ("no price was changed" in shown.out) is not bool(sent)


def test_a_narrow_terminal_shows_names_and_prices_only(program: Program, server: Server) -> None:
    server.on("GET /llm/models", page(*MODELS))
    shown = program.sit("models", COLUMNS="40", TERM="xterm", NO_COLOR="1").out
    assert "400,000" not in shown
    assert "private" not in shown
    row = next(line for line in shown.splitlines() if "ollama:llama" in line)
    assert row.split() == ["ollama:llama", "$0.00", "$10.00"]
