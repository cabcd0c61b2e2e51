"""What a call of a tool brought, as structured content and as text."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ToolResult:
    """The result of one call; without `text` its text is the structured content as JSON."""

    content: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    is_error: bool = False

    @classmethod
    def failed(cls, why: str) -> "ToolResult":
        """Return the result of a call that brought nothing, with what to do about it."""
        return cls(text=why, is_error=True)

    def told(self) -> Mapping[str, Any]:
        """Return the result as MCP has it."""
        text = self.text or json.dumps(self.content, ensure_ascii=False)
        told: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
        if self.content:
            told["structuredContent"] = self.content
        if self.is_error:
            told["isError"] = True
        return told
