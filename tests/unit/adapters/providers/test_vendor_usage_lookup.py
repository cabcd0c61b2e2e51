"""A vendor's id of a call that broke off, and what the vendor tells of it afterwards."""

from typing import Any

import pytest

from opencrab.adapters.providers.openrouter.endpoint import OpenRouterWire
from opencrab.adapters.providers.vendor import VendorModel, look_up_usage_at_provider
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Usage
from opencrab.ports.models.model import ChatMessage, ChatRequest
from tests.unit.adapters.providers.fake import Replying
from tests.unit.adapters.providers.test_vendor import ENDPOINT, INFO, JSON, KEY, STREAM
from tests.unit.adapters.providers.tiny import TinyWire

NAMED = {"x-generation-id": "gen-蟹1"}


def _failed(transport: Any, *, stream: bool = True, wire: Any = None) -> ModelCallFailed:
    """The error of a call to a vendor that tells later what it cost."""
    wire = wire or OpenRouterWire()
    model = VendorModel(wire, ENDPOINT, "crab-1", INFO, transport, stream=stream)
    request = ChatRequest("", (), "", (ChatMessage("user", "はい"),), 100)
    with pytest.raises(ModelCallFailed) as caught:
        model.chat(request, model.encode(request))
    return caught.value


@pytest.mark.parametrize(
    ("transport", "stream"),
    [
        (Replying(b'data: {"choices":[]}\n\n', headers=NAMED), True),
        (Replying(headers=NAMED, trouble=ModelCallFailed("cut", Fault.BROKEN_OFF)), True),
        (Replying(b"data: {\n\n", headers=NAMED), True),
        (Replying(b"{}", headers=NAMED | JSON), True),
        (Replying(b"<nothing>", headers=NAMED), False),
        (Replying(b"", status=502, headers=NAMED), True),
        (Replying(b"", status=502, headers=NAMED), False),
    ],
)
def test_a_call_that_broke_off_keeps_the_vendors_id_of_it(
    transport: Replying,
    stream: bool,  # noqa: FBT001
) -> None:
    error = _failed(transport, stream=stream)
    assert (error.provider_call_id, error.may_be_billed) == ("gen-蟹1", True)


def test_a_call_of_a_vendor_without_a_lookup_has_no_id() -> None:
    error = _failed(Replying(STREAM[:20], headers=NAMED), wire=TinyWire())
    assert error.provider_call_id == ""


def _looked_up(transport: Any, call_id: str = "gen 1") -> Any:
    return look_up_usage_at_provider(OpenRouterWire(), ENDPOINT, call_id, transport, 5.0)


def test_a_vendor_is_asked_what_a_call_cost() -> None:
    transport = Replying(b'{"data":{"total_cost":0.25,"native_tokens_prompt":9}}')
    found = _looked_up(transport)
    assert found.usage == Usage(input_tokens=9, reported_micro_usd=250_000)
    (sent,) = transport.sent
    assert (sent.url, sent.body) == ("http://crab/v1/generation?id=gen%201", None)
    assert sent.headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "transport",
    [
        Replying(b'{"error":{"code":404,"message":"Generation not found"}}', status=404),
        Replying(b"<html>"),
        Replying(b'{"data":{}}'),
        Replying(trouble=ModelCallFailed("nobody listens", Fault.UNREACHABLE)),
        Replying(f"echo {KEY}".encode(), status=500),
    ],
)
def test_a_vendor_that_does_not_know_the_call_leaves_it_as_it_is(transport: Replying) -> None:
    found = _looked_up(transport)
    assert (found.usage, bool(found.problem), bool(found.cure)) == (None, True, True)
    assert KEY not in found.problem + found.cure


def test_a_call_without_an_id_is_not_looked_up() -> None:
    transport = Replying(b"{}")
    found = _looked_up(transport, "")
    assert (found.usage, transport.sent) == (None, [])
    assert "no ID" in found.problem
