"""Requests of every kind, for the schemas of all vendors that speak OpenAI's format."""

import json
from typing import Any

from opencrab.domain.turn.record import ActionCall
from opencrab.ports.models.model import ActionSchema, CallReturn, ChatMessage, ChatRequest, Image

WRITE = ActionSchema(
    name="ws_write",
    description="ファイルを書く。Write a file.",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    },
)
CALL = ActionCall(
    id="t1.s1.c0", name="ws_write", arguments={"path": "日記.md", "content": "今日は晴れ"}
)
UNREAD = ActionCall(id="c" * 90, name="", arguments=None, raw="{")
PNG = Image("image/png", "iVBORw0KGgo=")


def asking(*turns: ChatMessage | CallReturn, **changes: Any) -> ChatRequest:
    """A request that says hello, unless it is told otherwise."""
    wanted: dict[str, Any] = {
        "model": "gpt-4o-mini",
        "actions": (WRITE,),
        "system": "あなたは蟹です。You are a crab.",
        "turns": turns or (ChatMessage("user", "こんにちは。Hello! 🦀", name="rin"),),
        "max_output_tokens": 200,
    }
    return ChatRequest(**{**wanted, **changes})


CASES = (
    asking(),
    asking(temperature=0.4),
    asking(stop=("終わり", "END")),
    asking(ChatMessage("user", "見て", images=(PNG,)), ChatMessage("user", "", images=(PNG, PNG))),
    asking(require_action=True),
    asking(actions=(), require_action=True),
    asking(system=""),
    asking(ChatMessage("user", "蟹は？", name="凛")),
    asking(
        ChatMessage("user", "書いて", name="rin"),
        ChatMessage("assistant", "", calls=(CALL,)),
        CallReturn(CALL.id, CALL.name, '{"ok":true}'),
        ChatMessage("assistant", "書きました。"),
    ),
    asking(
        ChatMessage("user", "write"),
        ChatMessage("assistant", "はい", calls=(UNREAD,)),
        CallReturn(UNREAD.id, "", "壊れた"),
    ),
)


def asked(body: Any) -> ChatRequest:
    """A recorded request as one of ours, as far as we speak of what it asks."""
    said = [message for message in body["messages"] if message["role"] not in _SYSTEM]
    told = [_text(message) for message in body["messages"] if message["role"] in _SYSTEM]
    functions = (tool["function"] for tool in body.get("tools", ()) if "function" in tool)
    stop = body.get("stop") or ()
    return ChatRequest(
        model=body["model"],
        actions=tuple(
            ActionSchema(
                name=function["name"],
                description=function.get("description") or "",
                parameters=function.get("parameters") or {},
            )
            for function in functions
        ),
        system="\n".join(told),
        turns=tuple(_turn(message) for message in said),
        max_output_tokens=body.get("max_completion_tokens") or body.get("max_tokens") or 500,
        temperature=body.get("temperature"),
        stop=(stop,) if isinstance(stop, str) else tuple(stop),
        require_action=body.get("tool_choice") == "required",
    )


_SYSTEM = {"system", "developer"}


def _turn(message: Any) -> ChatMessage | CallReturn:
    if message["role"] == "tool":
        return CallReturn(message["tool_call_id"], message.get("name") or "", _text(message))
    calls = tuple(
        ActionCall(
            id=entry["id"],
            name=entry["function"]["name"],
            arguments=json.loads(entry["function"]["arguments"] or "{}"),
        )
        for entry in message.get("tool_calls") or ()
    )
    return ChatMessage(message["role"], _text(message), calls=calls)


def _text(message: Any) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content)
    return content or ""
