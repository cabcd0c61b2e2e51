"""The guided setup finds what is there, tests it, and writes what was chosen; also by options."""

from collections.abc import Iterator
from http.server import HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.unit.gateways.cli.configuration.home import Home
from tests.unit.gateways.cli.configuration.test_providers import Listing

NOWHERE = {
    "OPENCRAB_LLM__PROVIDERS__OLLAMA__BASE_URL": "http://127.0.0.1:9",
    "OPENCRAB_LLM__PROVIDERS__LLAMACPP__BASE_URL": "http://127.0.0.1:9",
}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, before=())


@pytest.fixture
def url() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Listing)
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(("language", "said"), [("en", "no key"), ("ja", "見つかりません")])
def test_with_nothing_it_says_what_to_give(home: Home, language: str, said: str) -> None:
    assert home.run("setup", "--yes", language=language, **NOWHERE).code == 2
    assert said in home.err
    assert "--provider openai --key" in home.err
    assert not home.file.exists()


def test_a_key_that_is_there_is_found_and_its_provider_tested(home: Home, url: str) -> None:
    given = {**NOWHERE, "OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": url}
    assert home.run("setup", "--yes", "--json", **given).code == 0, home.err
    assert (home.json["provider"], home.json["model"]) == ("openai", "gpt-5.2")
    assert "sk-1" not in home.out + home.err + home.file.read_text()


@pytest.mark.parametrize(("language", "said"), [("en", "answers by default"), ("ja", "既定の")])
def test_a_gateway_with_a_key_is_set_up_by_options(
    home: Home, url: str, language: str, said: str
) -> None:
    args = ("--provider", "mine", "--base-url", url, "--key", "--day-usd", "2", "--yes")
    done = home.run("setup", *args, typed="sk-KANARI\n", language=language)
    assert done.code == 0, done.err
    assert said in done.out
    assert "mine:llama" in done.out
    text = home.file.read_text()
    assert 'default_provider = "mine"' in text
    assert 'default_model = "llama"' in text
    assert "agent_day_usd = 2" in text
    assert "KANARI" not in text + done.out + done.err
    again = home.run("setup", "--provider", "mine", "--model", "other", "--yes")
    assert again.code == 0
    assert 'default_model = "other"' in home.file.read_text()


BILLED = {"OPENCRAB_LLM__PROVIDERS__MINE__PRIVATE": "false"}
"""A gateway here that passes requests on to a vendor who bills."""


@pytest.mark.parametrize(("language", "said"), [("en", "no price list"), ("ja", "料金はどの一覧")])
def test_a_model_without_a_price_needs_one_before_anything_is_written(
    home: Home, url: str, language: str, said: str
) -> None:
    args = ("setup", "--provider", "mine", "--base-url", url, "--yes")
    assert home.run(*args, language=language, **BILLED).code == 2
    assert said in home.err
    assert "--price 0.15/0.60" in home.err
    for price in ("0/0", "0.0 / 0", "much", "1", "-1/2", "1/2/3", "20000/1"):
        assert home.run(*args, "--price", price, language=language, **BILLED).code == 2, price
        assert "0.15/0.60" in home.err, price
    assert not home.file.exists()
    assert home.run(*args, "--price", "$0.15/$0.60", **BILLED).code == 0, home.err
    assert 'usd_per_million = "0.15/0.60"' in home.file.read_text()
    assert home.run(*args, **BILLED).code == 0, "its price is known now"


def test_what_does_not_answer_becomes_no_default(home: Home) -> None:
    args = ("--provider", "ollama", "--base-url", "http://127.0.0.1:9", "--yes")
    assert home.run("setup", *args).code == 3
    assert not home.file.exists()
    assert home.run("setup", "--provider", "nobody", "--yes").code == 5
