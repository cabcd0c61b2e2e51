"""How each vendor spells what can go wrong, what fault that is, and what the router then does.

`python -m tests.contract.faults > docs/design/model-errors.md` writes the table of it.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import ceil

from opencrab.adapters.providers.anthropic.endpoint import AnthropicWire
from opencrab.adapters.providers.bedrock.endpoint import BedrockWire
from opencrab.adapters.providers.google.endpoint import GoogleWire
from opencrab.adapters.providers.llamacpp.endpoint import LlamaCppWire
from opencrab.adapters.providers.ollama.endpoint import OllamaWire
from opencrab.adapters.providers.openai.endpoint import AzureWire, OpenAIWire
from opencrab.adapters.providers.openrouter.endpoint import OpenRouterWire
from opencrab.adapters.providers.responses.endpoint import ResponsesWire
from opencrab.adapters.providers.wire.wire import Wire
from opencrab.domain.models.fault import Fault, FaultResponse
from tests.contract import trouble
from tests.contract.trouble import Trouble

SSE, NDJSON = "text/event-stream", "application/x-ndjson"
AWS = "application/vnd.amazon.eventstream"
ERRORS = (
    "401",
    "402",
    "429 retryable",
    "429 final",
    "500",
    "529",
    "timeout before the first byte",
    "timeout in the middle",
    "error in the middle",
    "context too long",
)


@dataclass(frozen=True)
class Vendor:
    """A provider, its wire, the kind of its streams, and its troubles by error."""

    name: str
    wire: Wire
    kind: str
    troubles: dict[str, Trouble]


VENDORS = (
    Vendor("openai", OpenAIWire(), SSE, trouble.openai()),
    Vendor("openai (Responses API)", ResponsesWire(), SSE, trouble.responses()),
    Vendor("azure", AzureWire(), SSE, trouble.openai()),
    Vendor("anthropic", AnthropicWire(), SSE, trouble.anthropic()),
    Vendor("google", GoogleWire(), SSE, trouble.google()),
    Vendor("bedrock", BedrockWire(), AWS, trouble.bedrock()),
    Vendor("openrouter", OpenRouterWire(), SSE, trouble.openrouter()),
    Vendor("ollama", OllamaWire(), NDJSON, trouble.ollama()),
    Vendor("llamacpp", LlamaCppWire(), SSE, trouble.llamacpp()),
)


def cases() -> Iterator[tuple[Vendor, str, Trouble]]:
    """Every vendor with every error."""
    for vendor in VENDORS:
        for error in ERRORS:
            yield vendor, error, vendor.troubles[error]


_DOES = {
    FaultResponse.RETRY: "asks again, at most twice, after {wait}; then the next provider",
    FaultResponse.NEXT: "asks the next provider; asks again, at most 3 times, if there is none",
    FaultResponse.STOP: "ends the turn and says why",
}


def does(found: Trouble) -> str:
    """What the router does about it, in words."""
    if found.fault is Fault.AUTH:
        return "ends the turn and says whose key"
    if found.fault.response is FaultResponse.NEXT and not found.fault.may_pass:
        return "asks the next provider; ends the turn if there is none"
    # As `router.seconds_before_model_retry`: never sooner than asked, and up to 2 s of jitter more.
    asked = found.retry_after or 0
    wait = f"{max(1, ceil(asked))} to {ceil(asked + 2)} s"
    return _DOES[found.fault.response].format(wait=wait)


def table(rows: Iterable[tuple[Vendor, str, Trouble]]) -> str:
    """The page of documentation."""
    lines = [
        "# Errors of model providers, and what the router does",
        "",
        "Written by `python -m tests.contract.faults` from the parameters of the test of the same",
        "name, which sends each of these through the provider's own code. A charged call costs its",
        "whole reservation, unless the provider says what it counted:",
        "[costs](../explanation/costs.md).",
        "",
        "| provider | error | fault | the router | charged |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {vendor.name} | {error} | `{found.fault}` | {does(found)} | "
        f"{'yes' if found.charged else 'no'} |"
        for vendor, error, found in rows
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(table(cases()))
