"""A model that lives in the demo world: it reads its prompt, and trades by what stands there.

It knows nothing else: what it may send, to whom and for how much comes from the lines about its
world and from the world's events.
"""

import json
import re
import threading
from typing import Any

_WORLD = re.compile(r"\[(?:Your world|あなたのワールド)\]")
_KEY = re.compile(r"agent_id\): ([0-9a-f]{64})")
_UNITS = re.compile(r"(?:Cycle|サイクル) (\d+): (?:予算の残り )?(\d+)")
_BALANCE = re.compile(r"(?:Balance|残高) (\d+)")
_BOUNTY = re.compile(r'"bounty_id": "(b\d+)"')
_REVIEW = re.compile(r'"bounty_id": "(b[^"]+)"[^\n]*"kind": "review"')
_OTHER = re.compile(r'"from": "([0-9a-f]{64})"')


class Trader:
    """The vendor of a model that trades; `seen` are the prompts that told of a world."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._lock = threading.Lock()
        self._turns: dict[str, int] = {}

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """What it says to one request, in OpenAI's form."""
        with self._lock:
            message = self._message(body["messages"])
        used = {"prompt_tokens": 900, "completion_tokens": 20, "total_tokens": 920}
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        choice = {"index": 0, "message": message, "finish_reason": reason}
        kind = {"id": "chatcmpl-1", "object": "chat.completion", "model": body["model"]}
        return {**kind, "choices": [choice], "usage": used}

    def _message(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        told = "\n".join(_text(each) for each in messages[-1:])
        acted = any(each["role"] == "tool" for each in messages[-4:])
        key, units = _KEY.search(told), _UNITS.search(told)
        if acted or key is None or units is None or not _WORLD.search(told):
            return {"role": "assistant", "content": "…"}
        self.seen.append(told)
        turn = self._turns[key[1]] = self._turns.get(key[1], 0) + 1
        sends = self._sends(key[1], turn, told) if int(units[2]) else []
        calls = [
            {
                "id": f"call_{turn}_{number}",
                "type": "function",
                "function": {"name": "world_send", "arguments": json.dumps(each)},
            }
            for number, each in enumerate(sends)
        ]
        if not calls:
            return {"role": "assistant", "content": "…"}
        return {"role": "assistant", "content": None, "tool_calls": calls}

    def _sends(self, key: str, turn: int, told: str) -> list[dict[str, Any]]:
        """The messages of one turn: work first, then trade, talk and gifts in turn."""
        review, bounties = _REVIEW.search(told), _BOUNTY.findall(told)
        balance = _BALANCE.search(told)
        rich = balance is not None and int(balance[1]) > 40
        if review:
            body = {"bounty_id": review[1], "verdict": "accept", "comments": "よい"}
            return [_send("BOUNTY_REVIEW", body)]
        if bounties and turn % 2:
            claim = {"bounty_id": bounties[-1], "claimer": key}
            work = {"bounty_id": bounties[-1], "submission_snap": f"成果 {turn}"}
            return [_send("BOUNTY_CLAIM", claim), _send("BOUNTY_SUBMIT", work)]
        others = [each for each in sorted({*_OTHER.findall(told), *self._turns}) if each != key]
        if others and rich and turn % 3 == 0:
            return [_send("TRANSFER", {"to": others[turn % len(others)], "amount": turn % 7})]
        if rich and turn % 4 == 0:
            return [_send("BOUNTY_CREATE", {"title": f"help {turn}", "reward": 3})]
        if turn % 5 == 0:
            return [_send("MSG_POST", {"text": f"市場は開いていますか? {turn}"})]
        endpoint = "buy" if rich and turn % 2 else "sell"
        return [_send("SERVICE_CALL", {"service_id": "market", "endpoint": endpoint, "data": ""})]


def _send(message: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"message": message, "payload": payload}


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
