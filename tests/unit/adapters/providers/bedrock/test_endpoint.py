"""Bedrock's paths, its key, its models and its embeddings."""

import json
from collections.abc import Mapping

import pytest

from opencrab.adapters.providers.bedrock.endpoint import BedrockWire
from opencrab.adapters.providers.bedrock.signing import SignedTransport
from opencrab.adapters.providers.vendor import VendorEmbedder, VendorModel
from opencrab.adapters.providers.wire.wire import Endpoint, ErrorParty
from opencrab.domain.errors import Unavailable
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.ports.models.model import ChatMessage, ChatRequest, ModelInfo
from tests.unit.adapters.providers.fake import Replying

WIRE = BedrockWire()
URL = "https://bedrock-runtime.eu-west-1.amazonaws.com"
TITAN = "amazon.titan-embed-text-v2:0"


def test_a_model_is_named_in_the_path() -> None:
    arn = "arn:aws:bedrock:us-east-1:000000000000:application-inference-profile/abc"
    assert WIRE.chat_path("amazon.nova-lite-v1:0", stream=False) == (
        "/model/amazon.nova-lite-v1%3A0/converse"
    )
    assert WIRE.chat_path(arn, stream=True).endswith(
        "application-inference-profile%2Fabc/converse-stream"
    )


def test_a_key_is_sent_only_if_there_is_one() -> None:
    assert WIRE.headers(Endpoint("bedrock", URL)) == {}
    assert WIRE.headers(Endpoint("bedrock", URL, "k")) == {"authorization": "Bearer k"}


def test_the_list_of_models_is_read() -> None:
    summaries = [{"modelId": "amazon.nova-lite-v1:0"}, {"modelId": 3}, None]
    assert WIRE.models_from_wire({"modelSummaries": summaries}) == ("amazon.nova-lite-v1:0",)
    assert WIRE.models_from_wire([]) == ()


def test_each_text_is_embedded_by_a_request_of_its_own() -> None:
    reply = json.dumps({"embedding": [0.5, -1], "inputTextTokenCount": 3}).encode()
    transport = Replying(reply, headers={"content-type": "application/json"})
    embedder = VendorEmbedder(
        WIRE, Endpoint("bedrock", URL, "k"), TITAN, ModelInfo(name=f"bedrock:{TITAN}"), transport
    )
    found = embedder.embed(("蟹", ""), timeout_seconds=5)
    assert found.vectors == ((0.5, -1.0), (0.5, -1.0))
    assert (found.usage.input_tokens, found.model) == (6, TITAN)
    assert [json.loads(sent.body or b"") for sent in transport.sent] == [
        {"inputText": "蟹"},
        {"inputText": " "},
    ]
    assert transport.sent[0].url == f"{URL}/model/amazon.titan-embed-text-v2%3A0/invoke"


@pytest.mark.parametrize("body", [{}, {"embedding": []}, {"embedding": ["x"]}, []])
def test_what_is_no_embedding_is_refused(body: object) -> None:
    with pytest.raises(ModelCallFailed) as caught:
        WIRE.embeddings_from_wire(body, ("a",), ErrorParty("bedrock", TITAN))
    assert caught.value.fault is Fault.NONSENSE


@pytest.mark.parametrize("model", ["cohere.command-r-v1:0", "amazon.nova-lite-v1:0", "x.embed-v4"])
def test_other_models_have_no_embeddings(model: str) -> None:
    assert WIRE.embeddings_path(model) is None


COHERE = {
    "cohere.embed-multilingual-v3": "END",
    "cohere.embed-english-v3": "END",
    "cohere.embed-v4:0": "RIGHT",
    "eu.cohere.embed-v4:0": "RIGHT",
}


def _cohere(model: str, transport: Replying) -> VendorEmbedder:
    return VendorEmbedder(
        WIRE, Endpoint("bedrock", URL, "k"), model, ModelInfo(name=f"bedrock:{model}"), transport
    )


@pytest.mark.parametrize(("query", "kind"), [(False, "search_document"), (True, "search_query")])
@pytest.mark.parametrize(("model", "truncate"), COHERE.items())
def test_cohere_is_told_what_is_searched_and_what_is_searched_with(
    *, model: str, truncate: str, query: bool, kind: str
) -> None:
    vectors = {"float": [[0.5, -1], [1, 0]]}
    reply = {"id": "x", "response_type": "embeddings_by_type", "embeddings": vectors}
    transport = Replying(
        json.dumps(reply).encode(),
        headers={"content-type": "application/json", "x-amzn-bedrock-input-token-count": "7"},
    )
    found = _cohere(model, transport).embed(("蟹", ""), timeout_seconds=5, query=query)
    assert found.vectors == ((0.5, -1.0), (1.0, 0.0))
    assert (found.usage.input_tokens, found.model) == (7, model)
    assert [json.loads(sent.body or b"") for sent in transport.sent] == [
        {
            "texts": ["蟹", " "],
            "input_type": kind,
            "truncate": truncate,
            "embedding_types": ["float"],
        }
    ]
    assert transport.sent[0].url == f"{URL}/model/{model.replace(':', '%3A')}/invoke"


@pytest.mark.parametrize(
    ("model", "characters"), [("cohere.embed-multilingual-v3", 2_048), ("cohere.embed-v4:0", 9_000)]
)
def test_the_third_version_gets_no_longer_text_than_it_takes(model: str, characters: int) -> None:
    body = WIRE.embeddings_to_wire(model, ("蟹" * 9_000,))
    assert [len(text) for text in body["texts"]] == [characters]


def test_cohere_takes_96_texts_at_once_and_an_answer_without_types_is_read() -> None:
    transport = Replying(
        json.dumps({"response_type": "embeddings_floats", "embeddings": [[1, 0]] * 96}).encode(),
        headers={"content-type": "application/json"},
    )
    embedder = _cohere("cohere.embed-multilingual-v3", transport)
    found = embedder.embed(("a",) * 96, timeout_seconds=5)
    assert len(found.vectors) == 96
    # Nothing counts the tokens: the whole reservation is charged.
    assert not found.usage.is_counted
    with pytest.raises(ModelCallFailed) as caught:
        embedder.embed(("a",) * 97, timeout_seconds=5)
    assert caught.value.fault is Fault.NONSENSE
    assert len(transport.sent) == 3


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"embeddings": []},
        {"embeddings": [[]]},
        {"embeddings": {"int8": [[1]]}},
        {"embeddings": [["x"]]},
        {"embeddings": [[1], [2]]},
        [],
    ],
)
def test_what_is_no_embedding_of_cohere_is_refused(body: object) -> None:
    with pytest.raises(ModelCallFailed) as caught:
        WIRE.embeddings_from_wire(body, ("a",), ErrorParty("bedrock", "cohere.embed-v4:0"))
    assert caught.value.fault is Fault.NONSENSE


def test_a_count_that_is_no_number_counts_nothing() -> None:
    assert not WIRE.embedding_usage({"x-amzn-bedrock-input-token-count": "many"}).is_counted


def test_every_request_is_signed_when_it_is_sent() -> None:
    asked = []

    def sign(method: str, url: str, body: bytes) -> Mapping[str, str]:
        asked.append((method, url, body))
        return {"authorization": f"signed {len(asked)}"}

    inner = Replying(b'{"modelSummaries": []}', headers={"content-type": "application/json"})
    transport = SignedTransport(inner, sign)
    transport.send(f"{URL}/foundation-models", headers={"accept": "x"}, timeout_seconds=1)
    with transport.open(f"{URL}/m", headers={}, body=b"{}", timeout_seconds=1):
        pass
    assert asked == [("GET", f"{URL}/foundation-models", b""), ("POST", f"{URL}/m", b"{}")]
    assert inner.sent[0].headers == {"accept": "x", "authorization": "signed 1"}
    assert inner.sent[1].headers == {"authorization": "signed 2"}


def test_missing_credentials_are_an_error_of_the_call() -> None:
    def sign(method: str, url: str, body: bytes) -> Mapping[str, str]:
        raise Unavailable("this process has no AWS credentials", cure="log in")

    model = VendorModel(
        WIRE,
        Endpoint("bedrock", URL),
        "m",
        ModelInfo(name="bedrock:m"),
        SignedTransport(Replying(b""), sign),
    )
    request = ChatRequest("m", (), "", (ChatMessage("user", "やあ"),), 9)
    with pytest.raises(ModelCallFailed) as caught:
        model.chat(request, model.encode(request))
    assert (caught.value.fault, caught.value.cure) == (Fault.AUTH, "log in")
    assert not caught.value.may_be_billed
