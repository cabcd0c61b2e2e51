"""What can go wrong with each provider becomes the fault that the page of documentation says."""

import json
import traceback
from pathlib import Path

import pytest

from opencrab.adapters.providers.vendor import VendorModel
from opencrab.adapters.providers.wire.wire import Endpoint
from opencrab.domain.models.fault import ModelCallFailed
from opencrab.ports.models.model import ChatMessage, ChatRequest, ModelInfo
from tests.contract.faults import Vendor, cases, table
from tests.contract.trouble import Trouble
from tests.unit.adapters.providers.fake import Replying

KEY = "canary-5f1c9e7a20"
INFO = ModelInfo(name="crab:crab-1")
REQUEST = ChatRequest("crab-1", (), "あなたは蟹です", (ChatMessage("user", "こんにちは"),), 64)
PAGE = Path(__file__).parents[2] / "docs" / "design" / "model-errors.md"


def _model(vendor: Vendor, trouble: Trouble, *, stream: bool = True) -> VendorModel:
    body = b"" if trouble.body is None else json.dumps(trouble.body).encode()
    kind = vendor.kind if trouble.chunks else "application/json"
    transport = Replying(
        body=body.replace(b'"message": "', f'"message": "{KEY} '.encode()),
        status=trouble.status,
        headers={"content-type": kind, **dict(trouble.headers)},
        chunks=trouble.chunks,
        trouble=trouble.raised,
    )
    endpoint = Endpoint("crab", "https://crab.example/v1", KEY, key_name="CRAB_API_KEY")
    return VendorModel(vendor.wire, endpoint, "crab-1", INFO, transport, stream=stream)


def _failed(model: VendorModel) -> ModelCallFailed:
    with pytest.raises(ModelCallFailed) as caught:
        model.chat(REQUEST, model.encode(REQUEST))
    return caught.value


@pytest.mark.parametrize(
    ("vendor", "error", "trouble"),
    [pytest.param(*case, id=f"{case[0].name}: {case[1]}") for case in cases()],
)
def test_each_error_is_the_fault_that_it_should_be(
    vendor: Vendor, error: str, trouble: Trouble
) -> None:
    found = _failed(_model(vendor, trouble))
    assert found.fault is trouble.fault, found.message
    assert found.may_be_billed is trouble.charged
    if trouble.retry_after is not None:
        assert found.retry_after_seconds == pytest.approx(trouble.retry_after)
    if error == "401":
        assert "CRAB_API_KEY" in f"{found.message} {found.cure}"


@pytest.mark.parametrize(
    ("vendor", "trouble", "stream"),
    [
        pytest.param(vendor, trouble, stream, id=f"{vendor.name}: {error}, {way}")
        for vendor, error, trouble in cases()
        for way, stream in (("streamed", True), ("whole", False))
        if stream or not trouble.chunks
    ],
)
def test_no_error_tells_the_key(vendor: Vendor, trouble: Trouble, *, stream: bool) -> None:
    found = _failed(_model(vendor, trouble, stream=stream))
    told = "".join(traceback.format_exception(found)) + repr(vars(found))
    assert KEY not in told


def test_the_page_of_documentation_is_what_is_tested() -> None:
    assert PAGE.read_text(encoding="utf-8") == table(cases())
