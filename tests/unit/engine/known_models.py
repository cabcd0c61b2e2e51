"""Models by name that nobody asks anything: enough to choose among."""

from collections.abc import Sequence

from opencrab.domain.errors import Invalid
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.models.routing import Routing
from opencrab.domain.money.budget import FREE, Price
from opencrab.domain.turn.record import ModelAnswer
from opencrab.ports.models.model import UNWATCHED, AnswerWatch, ChatModel, ChatRequest, ModelInfo


class Named:
    """`ports.model.ChatModel` that never answers."""

    def __init__(
        self,
        name: str,
        *,
        private: bool = False,
        functions: bool = True,
        price: Price | None = FREE,
    ) -> None:
        self.info = ModelInfo(name=name, private=private, functions=functions, price=price)

    def encode(self, request: ChatRequest) -> bytes:
        return request.system.encode()

    def chat(
        self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED
    ) -> ModelAnswer:
        raise ModelCallFailed(f"{self.info.name} never answers", Fault.TIMEOUT)


class Known:
    """`ports.model.Models` with a fixed routing, whose aliases it follows."""

    def __init__(self, models: Sequence[ChatModel], routing: Routing) -> None:
        self._models = {model.info.name: model for model in models}
        self.routing = routing

    def get(self, name: str | None) -> ChatModel:
        full = self.routing.aliases.get(name or "", name or self.routing.default)
        if full not in self._models:
            raise Invalid(f"there is no model {full!r}", field="model")
        return self._models[full]

    def refresh(self, version: int) -> None:
        pass
