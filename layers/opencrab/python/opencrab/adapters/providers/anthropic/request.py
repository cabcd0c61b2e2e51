"""Requests to Anthropic's messages endpoint: a ChatRequest becomes the body of a message.

What is sent for a turn depends on it and on the turns before it alone, so that two requests that
differ in their last turn only are the same up to the last cache mark.
"""

import json
import re
from typing import Any

from opencrab.adapters.providers.anthropic.cache_lifetime import anthropic_cache_marks
from opencrab.adapters.providers.anthropic.replay import (
    anthropic_history_is_append_only,
    anthropic_replay_blocks,
    anthropic_tool_name,
)
from opencrab.adapters.providers.wire.effort import wire_thinking_budget
from opencrab.domain.identifier import content_hash
from opencrab.domain.turn.record import ActionCall
from opencrab.ports.models.model import (
    ActionSchema,
    CallReturn,
    ChatMessage,
    ChatRequest,
    Image,
    ModelInfo,
)

Block = dict[str, Any]

_CALL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NOT_IN_TOOL_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_TOOL_NAME_LENGTH = 64
_IMAGES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
_MOST_TEMPERATURE = 1.0
_NOTHING = "…"
"""What is said where Anthropic wants words and nobody has said any."""

_NO_RESULT = "no result is known"


def anthropic_request(request: ChatRequest, info: ModelInfo, *, stream: bool) -> dict[str, Any]:
    """Build the request body; parts with the longer cache lifetime come first."""
    model = anthropic_tool_name(request.model)
    fixed, history = anthropic_cache_marks(info.price, request.reuse_seconds)
    tools = [_tool(action) for action in request.actions] if info.functions else []
    body: dict[str, Any] = {"model": model, "max_tokens": request.max_output_tokens}
    if stream:
        body["stream"] = True
    if tools:
        tools[-1]["cache_control"] = fixed
        body["tools"] = tools
        if request.require_action and not anthropic_history_is_append_only(model):
            body["tool_choice"] = {"type": "any"}
    thinking = anthropic_thinking(request, info)
    if "thinking" in thinking:
        # Anthropic refuses a forced call together with thinking.
        body.pop("tool_choice", None)
    body |= thinking
    if request.system.strip():
        body["system"] = [{"type": "text", "text": request.system, "cache_control": fixed}]
    conversation = _Conversation(model, tools=bool(tools), vision=info.vision)
    body["messages"] = _messages(request, conversation, history)
    stop = [words for words in request.stop if words.strip() and info.stop]
    if stop:
        body["stop_sequences"] = stop
    if "thinking" not in thinking:
        body |= _sampling(request, info)
    return body


def anthropic_thinking(request: ChatRequest, info: ModelInfo) -> dict[str, Any]:
    """Return the fields for a reasoning effort: a level, or thinking tokens of older models.

    Nothing while results are returned of calls that were made without thinking, as after a change
    of models: Anthropic wants each of them to begin with the thought behind it.
    """
    effort, model = request.reasoning_effort, anthropic_tool_name(request.model)
    if not effort:
        return {}
    open_calls = _has_calls_without_thinking(request, model)
    if info.thinking_budget:
        budget = None if open_calls else wire_thinking_budget(effort, request.max_output_tokens)
        return {} if budget is None else {"thinking": {"type": "enabled", "budget_tokens": budget}}
    asked = {"output_config": {"effort": effort}}
    if open_calls or anthropic_history_is_append_only(model):
        return asked
    return {"thinking": {"type": "adaptive"}, **asked}


def _has_calls_without_thinking(request: ChatRequest, model: str) -> bool:
    """Check whether the turns end in calls of an answer without thoughts to send back."""
    for turn in reversed(request.turns):
        if isinstance(turn, ChatMessage) and turn.role == "assistant":
            return bool(turn.calls) and anthropic_replay_blocks(turn, model) is None
    return False


def _sampling(request: ChatRequest, info: ModelInfo) -> dict[str, Any]:
    """Return temperature or top_p: Anthropic's models refuse both together."""
    if not info.temperature:
        return {}
    if request.top_p is not None:
        return {"top_p": request.top_p}
    if request.temperature is None:
        return {}
    return {"temperature": min(request.temperature, _MOST_TEMPERATURE)}


def _tool(action: ActionSchema) -> dict[str, Any]:
    return {
        "name": action.name,
        "description": action.description,
        "input_schema": {"type": "object", **action.parameters},
    }


def _messages(
    request: ChatRequest, conversation: "_Conversation", mark: Block
) -> list[dict[str, Any]]:
    for turn in request.turns[:-1]:
        conversation.add(turn)
    conversation.mark(mark)
    for turn in request.turns[-1:]:
        conversation.add(turn)
    return conversation.ended()


class _Conversation:
    """Messages as Anthropic demands them: alternating roles, user first and last.

    Each tool call is followed by its result at once.
    """

    def __init__(self, model: str, *, tools: bool, vision: bool) -> None:
        self._model = model
        self._tools = tools
        self._vision = vision
        self._messages: list[dict[str, Any]] = []
        self._open: list[tuple[str, str]] = []
        self._used: set[str] = set()

    def add(self, turn: ChatMessage | CallReturn) -> None:
        """Append one turn; a result without an open tool call becomes text."""
        if isinstance(turn, CallReturn):
            self._return(turn)
        elif turn.role == "user":
            self._settle()
            images = turn.images if self._vision else ()
            self._put("user", [*_images(images), *_text(turn.text)])
        else:
            self._settle()
            self._put("assistant", self._answer(turn))

    def mark(self, mark: Block) -> None:
        """Set a cache breakpoint on the last block that is not thinking."""
        blocks = self._messages[-1]["content"] if self._messages else []
        for block in reversed(blocks):
            if block["type"] not in {"thinking", "redacted_thinking"}:
                block["cache_control"] = mark
                return

    def ended(self) -> list[dict[str, Any]]:
        """Return the messages, ending with a user message, as newer models demand."""
        self._settle()
        if not self._messages or self._messages[-1]["role"] == "assistant":
            self._put("user", _text(_NOTHING))
        return self._messages

    def _put(self, role: str, blocks: list[Block]) -> None:
        if not blocks:
            return
        if self._messages and self._messages[-1]["role"] == role:
            self._messages[-1]["content"].extend(blocks)
            return
        if not self._messages and role == "assistant":
            self._put("user", _text(_NOTHING))
        self._messages.append({"role": role, "content": blocks})

    def _return(self, returned: CallReturn) -> None:
        found = next((pair for pair in self._open if pair[0] == returned.call_id), None)
        if found is None:
            self._settle()
            self._put("user", _text(f"[{returned.name} → {returned.content}]"))
            return
        self._open.remove(found)
        self._put("user", [_result(found[1], returned.content)])

    def _settle(self) -> None:
        """Add results for open tool calls, since Anthropic rejects calls without one."""
        unanswered, self._open = self._open, []
        self._put("user", [_result(tool_use_id, _NO_RESULT) for _, tool_use_id in unanswered])

    def _answer(self, said: ChatMessage) -> list[Block]:
        if not self._tools:
            calls = [f"[{call.name}: {json.dumps(_input(call))}]" for call in said.calls]
            return _text("\n".join(filter(str.strip, (said.text, *calls))))
        blocks = anthropic_replay_blocks(said, self._model)
        if blocks is None:
            blocks = [*_text(said.text), *({"type": "tool_use"} for _ in said.calls)]
        calls_left = iter(said.calls)
        return [
            self._call(next(calls_left), block.get("id", "")) if _is_call(block) else block
            for block in blocks
        ]

    def _call(self, call: ActionCall, vendors_id: str) -> Block:
        name = _NOT_IN_TOOL_NAMES.sub("_", call.name)[:_TOOL_NAME_LENGTH] or "unnamed"
        tool_use_id = self._unused(vendors_id or call.id)
        self._open.append((call.id, tool_use_id))
        return {"type": "tool_use", "id": tool_use_id, "name": name, "input": _input(call)}

    def _unused(self, call_id: str) -> str:
        """Return the id if it is valid and unused, else a hash derived from it."""
        free = call_id
        while free in self._used or not _CALL_ID.fullmatch(free):
            free = content_hash(f"{free} {len(self._used)}".encode("utf-8", "replace"))[:32]
        self._used.add(free)
        return free


def _text(text: str) -> list[Block]:
    """Return a text block; none for blank text, which Anthropic rejects."""
    return [{"type": "text", "text": text}] if text.strip() else []


def _images(images: tuple[Image, ...]) -> list[Block]:
    return [
        {
            "type": "image",
            "source": {"type": "base64", "media_type": image.media_type, "data": image.data},
        }
        for image in images
        if image.media_type in _IMAGES
    ]


def _result(tool_use_id: str, content: str) -> Block:
    result = {"type": "tool_result", "tool_use_id": tool_use_id}
    return {**result, "content": content} if content.strip() else result


def _input(call: ActionCall) -> dict[str, Any]:
    """Return a past call's arguments; unreadable ones are wrapped, as an object is required."""
    return {"unreadable": call.raw} if call.arguments is None else call.arguments


def _is_call(block: Block) -> bool:
    return bool(block["type"] == "tool_use")
