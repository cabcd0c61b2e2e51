"""The exporter of public prices: what it makes of the library's list, and of the real one."""

import json
import subprocess
from datetime import date
from pathlib import Path

import pytest

from infra import prices
from opencrab.adapters.providers.catalogue.model_facts import ModelFacts
from opencrab.adapters.providers.catalogue.prices import read_provider_price_list
from opencrab.domain.money.budget import Price
from tests.conftest import ROOT

PYTHON = ROOT / ".venv-prices" / "bin" / "python"
TODAY = date(2026, 11, 21)
PUBLISHED = [
    {
        "id": "anthropic",
        "models": [
            {
                "id": "claude-海-4-5",
                "context_window": 200_000,
                "match": {"or": [{"equals": "claude-海"}]},
                "prices": {
                    "input_mtok": {"base": 3, "tiers": [{"start": 100_000, "price": 6}]},
                    "output_mtok": 15,
                    "cache_read_mtok": 0.3,
                },
            }
        ],
    }
]


def test_the_file_is_one_line_a_model_and_reads_as_what_it_was() -> None:
    text = prices.document(read_provider_price_list(PUBLISHED, TODAY), TODAY, "test 1")
    lines = text.splitlines()
    assert len(lines) == 3
    written = json.loads(text)
    assert (written["as_of"], written["source"]) == ("2026-11-21", "test 1")
    facts = ModelFacts(listing=lambda: written).settings_for("anthropic:claude-海-4.5")
    assert facts.price == Price(
        input_per_million=3_000_000, output_per_million=15_000_000, cached_per_million=300_000
    )
    assert (facts.max_input_tokens, facts.max_total_tokens) == (100_000, 200_000)
    assert (
        ModelFacts(listing=lambda: written).settings_for("anthropic:claude-海").price == facts.price
    )
    assert facts.as_of == TODAY


def test_the_library_gives_what_is_published(tmp_path: Path) -> None:
    if not PYTHON.is_file():
        pytest.skip("there is no .venv-prices: `make prices` makes it")
    code = (
        "from infra import prices; import datetime, sys; "
        "found = prices.read_provider_price_list(prices.installed(), datetime.date(2026, 11, 21)); "
        "sys.stdout.write(prices.document(found, datetime.date(2026, 11, 21), 'x'))"
    )
    run = subprocess.run(
        [PYTHON, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert run.returncode == 0, run.stderr
    models = json.loads(run.stdout)["models"]
    assert len(models) > 400
    assert models["openai:gpt-4o"]["input"] == 2.5
    assert models["bedrock:global.amazon.nova-2-lite-v1:0"]["output"] == 2.5
    assert models["anthropic:claude-sonnet-4-5"]["max_input_tokens"] == 200_000
