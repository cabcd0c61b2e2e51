"""Variables of vendors' own libraries give the address that those libraries would use."""

import pytest

from opencrab.domain.configuration.vendor_address import vendor_address
from opencrab.settings import load_settings


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://localhost:11434"),  # noqa: S104 - what people set for the server
        ("0.0.0.0:9000", "http://localhost:9000"),
        ("[::]:9000", "http://localhost:9000"),
        (":9000", "http://localhost:9000"),
        ("gpu.local:1234", "http://gpu.local:1234"),
        ("http://gpu.local", "http://gpu.local"),
        ("https://gpu.local/ollama/", "https://gpu.local/ollama"),
    ],
)
def test_ollama_host_may_lack_scheme_host_and_port(host: str, address: str) -> None:
    assert vendor_address("OLLAMA_HOST", host) == address
    found = load_settings({}, {"OLLAMA_HOST": host}).effective("llm.providers.ollama.base_url")
    assert (found.value, found.source) == (address, "OLLAMA_HOST")


@pytest.mark.parametrize(
    ("variable", "name"),
    [
        ("OPENAI_BASE_URL", "llm.providers.openai.base_url"),
        ("OPENAI_API_BASE", "llm.providers.openai.base_url"),
        ("ANTHROPIC_BASE_URL", "llm.providers.anthropic.base_url"),
    ],
)
def test_a_vendors_variable_is_used_unless_opencrab_has_an_address_of_its_own(
    variable: str, name: str
) -> None:
    gateway = "https://gateway.example.org/v1"
    assert load_settings({}, {variable: gateway}).get(name) == gateway
    own = f"OPENCRAB_{name.upper().replace('.', '__')}"
    given = {variable: gateway, own: "https://own.example.org"}
    assert load_settings({}, given).get(name) == "https://own.example.org"
    assert load_settings({}, {variable: " "}).values == load_settings({}, {}).values


def test_the_newer_of_openais_variables_wins() -> None:
    given = {"OPENAI_API_BASE": "https://old.test", "OPENAI_BASE_URL": "https://new.test"}
    assert load_settings({}, given).get("llm.providers.openai.base_url") == "https://new.test"
