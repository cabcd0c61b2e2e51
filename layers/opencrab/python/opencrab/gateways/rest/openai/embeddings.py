"""Embeddings: clients of OpenAI's API get vectors of texts, which an agent's budget pays for.

Source of the format: OpenAI's API reference, "Embeddings". The model is that of the use `embedding`
in the settings, the same as for memories.
"""

import base64
import struct
from typing import Annotated, Any, Literal

from fastapi import Response
from pydantic import Field

from opencrab.domain.errors import Invalid, TooLarge
from opencrab.domain.value import Value
from opencrab.engine.memory.embedding import CountedVectors, MeteredEmbedder
from opencrab.engine.models.preferences import require_directory_of_models
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.http.access import Talker
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api
from opencrab.gateways.rest.http.idempotency import Repeatable, refuse_unfinished_http_repeat
from opencrab.gateways.rest.openai.messages import ClientRequestPart
from opencrab.gateways.rest.openai.models import find_agent_as_model

TEXTS = 256
TEXTS_ON_AWS = 64
"""The most texts of a request: all vectors are one answer, and Lambda's has at most 6 MB."""

TEXT_CHARACTERS = 32_000
"""The most characters of a text: models of embeddings take 8,192 tokens or fewer."""

_LARGEST = 3.4028234e38
"""What a float of four bytes can hold."""

_SETTING = "[llm.models] embedding"

router = http_routes_below("/v1/embeddings", "openai")


class EmbeddingRequest(ClientRequestPart, defer_build=False):
    """Texts whose vectors a client wants."""

    model: Annotated[str, Field(min_length=1, max_length=264)] = Field(
        description="the agent whose budget pays: its id, or its name if no other agent has it"
    )
    input: Any = Field(description="a text, or a list of texts")
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: int | None = Field(
        default=None, description="refused: vectors have the length that their model gives them"
    )

    def texts(self, most: int) -> tuple[str, ...]:
        """Return the texts; raises Invalid, TooLarge."""
        if self.dimensions is not None:
            raise Invalid(
                "dimensions is not supported here",
                field="dimensions",
                cure=f"omit it, or let {_SETTING} name a model with shorter vectors",
            )
        found = [self.input] if isinstance(self.input, str) else self.input
        if not isinstance(found, list) or not found or not all(isinstance(e, str) for e in found):
            raise Invalid(
                "input is neither a text nor a list of texts",
                field="input",
                cure="send texts, not tokens: models count these differently",
            )
        if len(found) > most:
            raise TooLarge(
                f"{len(found)} texts are too many for one request",
                field="input",
                cure=f"send at most {most} texts with each request",
            )
        for place, text in enumerate(found):
            self._check(place, text)
        return tuple(found)

    @staticmethod
    def _check(place: int, text: str) -> None:
        if not text.strip():
            raise Invalid(f"text {place} is blank", field="input", cure="leave it out")
        if len(text) > TEXT_CHARACTERS:
            raise TooLarge(
                f"text {place} has {len(text)} characters",
                field="input",
                cure=f"cut it into parts of at most {TEXT_CHARACTERS} characters",
            )


class EmbeddingObject(Value):
    """The vector of one text: numbers, or base64 of small floats."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: tuple[float, ...] | str


class EmbeddingUsage(Value):
    """Tokens of the texts, as the model counted them."""

    prompt_tokens: int
    total_tokens: int


class EmbeddingList(Value):
    """The vectors of all texts, and the model that made them: those of two do not compare."""

    object: Literal["list"] = "list"
    data: tuple[EmbeddingObject, ...]
    model: str
    usage: EmbeddingUsage


@router.post("", response_model=EmbeddingList, operation_id="create_openai_embeddings")
def create_openai_embeddings(
    api: Api, caller: Talker, once: Repeatable, body: Strict[EmbeddingRequest]
) -> Response:
    """Turn texts into vectors, as clients of OpenAI's API ask for them."""
    texts = body.texts(TEXTS if api.longest_seconds is None else TEXTS_ON_AWS)
    agents = api.runtime.home.agents
    agent_id = find_agent_as_model(agents, caller.principal, body.model).agent.id
    embedder = _embedder(api.runtime)

    def make() -> EmbeddingList:
        found = embedder.embed_or_raise(agent_id, texts, api.longest_seconds)
        return _list(found, as_base64=body.encoding_format == "base64")

    return once.answer(body, make, again=refuse_unfinished_http_repeat)


def _embedder(runtime: Runtime) -> MeteredEmbedder:
    """Return the installation's embedder; raises Invalid, which names the setting, without one."""
    directory = require_directory_of_models(runtime.directory)
    home = runtime.home
    try:
        directory.embedder(None)
    except Invalid as error:
        raise Invalid(
            f"there is no embedding model that can be used: {error.message}",
            field="model",
            cure=f"the owner sets {_SETTING} to a model whose provider has what it needs",
        ) from None
    return MeteredEmbedder(
        home.journal,
        home.agents,
        runtime.models,
        runtime.clock,
        runtime.rules,
        directory=directory,
    )


def _list(found: CountedVectors, *, as_base64: bool) -> EmbeddingList:
    return EmbeddingList(
        data=tuple(
            EmbeddingObject(index=place, embedding=_small_floats(each) if as_base64 else each)
            for place, each in enumerate(found.vectors)
        ),
        model=found.model,
        usage=EmbeddingUsage(prompt_tokens=found.tokens, total_tokens=found.tokens),
    )


def _small_floats(vector: tuple[float, ...]) -> str:
    """Return a vector as OpenAI's clients unpack it: little-endian floats of four bytes."""
    fitting = (max(-_LARGEST, min(number, _LARGEST)) for number in vector)
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *fitting)).decode("ascii")
