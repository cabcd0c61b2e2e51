"""A key that a server quotes back is told to nobody: not in an error, and not in an answer."""

import json
from dataclasses import dataclass, field
from typing import Any

from opencrab.domain.turn.record import ModelAnswer

_HIDDEN = "***"
_SHORTEST_IN_ERRORS = 6
_SHORTEST_IN_ANSWERS = 16
"""A shorter key may be a word, such as `ollama`, that a model or we ourselves say."""


@dataclass(frozen=True)
class KeyRedactor:
    """Hides one key; what comes out has three stars in its place."""

    key: str = field(repr=False)

    def error(self, body: bytes) -> bytes:
        """What a server said of an error, without the key nor its beginning where it was cut."""
        if len(self.key) < _SHORTEST_IN_ERRORS:
            return body
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            return self._cut(body)
        return json.dumps(_without(self.key, value)).encode()

    def value(self, value: Any) -> Any:
        """A JSON value that turned out to be an error, without the key."""
        return _without(self.key, value) if len(self.key) >= _SHORTEST_IN_ERRORS else value

    def words(self, text: str) -> str:
        """Words of ours or of a model, without the key unless it could be a word itself."""
        is_long = len(self.key) >= _SHORTEST_IN_ANSWERS
        return text.replace(self.key, _HIDDEN) if is_long else text

    def answer(self, answer: ModelAnswer) -> ModelAnswer:
        """An answer without the key, in however many pieces it came."""
        if len(self.key) < _SHORTEST_IN_ANSWERS or self._written not in answer.model_dump_json():
            return answer
        return ModelAnswer.model_validate(_without(self.key, answer.model_dump(mode="json")))

    @property
    def _written(self) -> str:
        """The key as it is written in JSON."""
        return json.dumps(self.key)[1:-1]

    def _cut(self, body: bytes) -> bytes:
        key, hidden = self.key.encode(), _HIDDEN.encode()
        body = body.replace(key, hidden)
        for length in range(len(key) - 1, _SHORTEST_IN_ERRORS - 1, -1):
            if body.endswith(key[:length]):
                return body[:-length] + hidden
        return body


def _without(key: str, value: Any) -> Any:
    match value:
        case str():
            return value.replace(key, _HIDDEN)
        case dict():
            return {_without(key, name): _without(key, item) for name, item in value.items()}
        case list():
            return [_without(key, item) for item in value]
        case _:
            return value
