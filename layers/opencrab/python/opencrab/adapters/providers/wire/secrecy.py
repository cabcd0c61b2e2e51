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
class ProviderKeyRedactor:
    """A redactor that replaces one API key by `***`."""

    key: str = field(repr=False)

    def redact_error(self, body: bytes) -> bytes:
        """Redact an error's body, also where it ends in the middle of the key."""
        if len(self.key) < _SHORTEST_IN_ERRORS:
            return body
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            return self._cut(body)
        return json.dumps(_without(self.key, value)).encode()

    def redact_json(self, value: Any) -> Any:
        """Redact a JSON value that holds an error."""
        return _without(self.key, value) if len(self.key) >= _SHORTEST_IN_ERRORS else value

    def redact_text(self, text: str) -> str:
        """Redact a text, unless the key is so short that it could be a word."""
        is_long = len(self.key) >= _SHORTEST_IN_ANSWERS
        return text.replace(self.key, _HIDDEN) if is_long else text

    def redact_beginning(self, text: str) -> str:
        """Redact a text that is still arriving, without what may be the beginning of the key."""
        if len(self.key) < _SHORTEST_IN_ANSWERS:
            return text
        text = self.redact_text(text)
        for length in range(min(len(self.key) - 1, len(text)), _SHORTEST_IN_ERRORS - 1, -1):
            if text.endswith(self.key[:length]):
                return text[:-length]
        return text

    def redact_answer(self, answer: ModelAnswer) -> ModelAnswer:
        """Redact a model answer."""
        if len(self.key) < _SHORTEST_IN_ANSWERS or self._written not in answer.model_dump_json():
            return answer
        return ModelAnswer.model_validate(_without(self.key, answer.model_dump(mode="json")))

    @property
    def _written(self) -> str:
        """The key as it is escaped in JSON."""
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
