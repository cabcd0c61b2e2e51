"""The rules of the model that is none: a few requests that it understands, in two languages."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from opencrab.adapters.providers.scripted.instruction_plan import (
    instructions_asked_of_scripted_model,
    scripted_plan,
)
from opencrab.adapters.providers.scripted.script import (
    last_scripted_words,
    scripted_turns_since_user_message,
)
from opencrab.domain.turn.record import ActionCall, ModelAnswer
from opencrab.ports.models.model import ActionSchema, CallReturn, ChatMessage, ChatRequest

_SHOWN = 1_500
_ECHOED = 200
_SEARCHED = 2_000
_JAPANESE = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff66-\uff9f]")
_SILENT_ACTIONS = {"send_speech", "send_noreact", "declare_done"}


@dataclass(frozen=True)
class ScriptRule:
    """A pattern that maps words to an action; its named groups become arguments.

    An unanchored pattern is applied to the beginning of a text only, as its run time is quadratic.
    """

    action: str
    pattern: re.Pattern[str]

    def wanted(self, words: str) -> dict[str, str] | None:
        """Return the arguments in the words; None if the pattern does not match."""
        words = words.strip()
        anchored = self.pattern.pattern.startswith("^")
        found = self.pattern.search(words if anchored else words[:_SEARCHED])
        if found is None:
            return None
        return {name: text.strip() for name, text in found.groupdict().items()}


def _rule(action: str, pattern: str) -> ScriptRule:
    return ScriptRule(action, re.compile(pattern, re.IGNORECASE | re.DOTALL))


_FILE = (
    r"[「『\"'`]?(?P<path>[A-Za-z0-9_./-]{0,199}[A-Za-z0-9_/-]|[\w/-]{1,200}\.\w{1,20})[」』\"'`]?"
)
_START = r"^\s*(?:please\s+|(?:could|can|will)\s+you\s+(?:please\s+)?)?"
_END = r"\s?[\u3002.!?\uff01\uff1f]{0,3}$"
_QUOTED = r"[「『](?P<content>[^「」『』]+)[」』]"
_QUOTED_EN = r"[\"'\u201c](?P<content>[^\"\u201d\n]+?)[\"'\u201d]"
_NAMED = r"(?<![\w./-])[「『\"'`]?(?P<path>[\w./-]{1,200}\.\w{1,20})[」』\"'`]?"
"""A file that its extension shows to be one: without quotes around the content, words are prose."""

_UNQUOTED_JA = r"(?P<content>[^「」『』:\uff1a\n]{1,200}?)"
_WRITE_JA = (
    r"書(?:いて(?!あ|い(?!ただ)|る|た)|いと|いちゃ"
    r"|き(?!ま(?:した|せん)|た|方|込んだ|かけ)|く(?!な|と|か|べ)|け(?!な|ま|る|た)|こう(?!と|か))"
)
"""A request to write, not words about what is or was written."""

_COLON_JA = r"[^\s\u3002:\uff1a]{0,12}\s*[:\uff1a]\s*"

RULES = (
    _rule("ws_write", _START + r"write\s+(?:to\s+)?" + _FILE + r"\s*[:\uff1a]\s*(?P<content>.+)"),
    _rule("ws_write", _START + r"write\s+" + _QUOTED_EN + r"\s+(?:in)?to\s+" + _FILE + _END),
    _rule("ws_write", _QUOTED + r"\s?と?を?\s?" + _FILE + r"\s?[にへ]\s?" + _WRITE_JA),
    _rule("ws_write", _FILE + r"\s?[にへ]\s?" + _QUOTED + r"\s?[とを]\s?" + _WRITE_JA),
    _rule("ws_write", _NAMED + r"\s?[にへ]\s?" + _WRITE_JA + _COLON_JA + r"(?P<content>.+)"),
    _rule("ws_write", _NAMED + r"\s?[にへ]\s?" + _UNQUOTED_JA + r"\s?と\s?" + _WRITE_JA),
    _rule("ws_list", _START + r"(?:list|show)\s+(?:the\s+|my\s+|all\s+|your\s+)*files\b"),
    _rule("ws_list", r"ファイル(?:の)?(?:一覧|を(?:一覧|見せ|列挙))"),
    _rule("ws_read", _START + r"read\s+(?:the\s+)?(?:file\s+)?" + _FILE + _END),
    _rule("ws_read", _FILE + r"\s?を\s?(?:読(?:ん|み|む)|見せ|開(?:い|く))"),
    _rule("send_noreact", _START + r"(?:stay|be|keep)\s+(?:silent|quiet)\b"),
    _rule("send_noreact", r"(?:黙っ|静かにし)て"),
    _rule("send_speech", _START + r"say\s*(?:[:\uff1a]\s*|\s)(?P<content>.+)"),
    _rule("send_speech", _QUOTED + r"\s?と\s?(?:言っ|いっ|話し|発言し)"),
    _rule(
        "generate_inner_voice",
        _START + r"think\s*(?:about\b|of\b|that\b|[:\uff1a])?\s+(?P<content>.+)",
    ),
    _rule(
        "generate_inner_voice",
        r"[「『]?(?P<content>[^「」『』\n]{1,200}?)[」』]?\s?(?:について|のことを|と)\s?考え(?:て|る)",
    ),
)

_ABOUT = {
    "ja": "私は言語モデルではなく、台本どおりに動く仮のモデルです。",
    "en": "I am not a language model, only a scripted stand-in.",
}
_ADVICE = {
    "ja": "本物のモデルを使うには、`opencrab setup` を実行するか、"
    "Ollama または llama.cpp のサーバーを起動してください(サーバーは自動で見つかります)。",
    "en": "To get a real one, run `opencrab setup`, or start an Ollama or llama.cpp server,"
    " which is found by itself.",
}
_DONE = {
    "ws_write": {"ja": "書きました。", "en": "Written."},
    "ws_read": {"ja": "こう書いてあります。", "en": "This is what it says."},
    "ws_list": {"ja": "ファイルの一覧です。", "en": "These are the files."},
    "generate_inner_voice": {"ja": "考えました。", "en": "I have thought about it."},
    "": {"ja": "終わりました。", "en": "Done."},
}
_OPENCRAB = "opencrab"
"""The id of the sender of turns that nobody's message starts."""

_WOKEN = "OpenCrab: "
"""How words begin that wake an agent and that nobody else sees."""

_TAKEN_PART = {
    "ja": "この件について、台本どおりの私から言えることは以上です。",
    "en": "That is all that a scripted stand-in has to say about this.",
}
_TOLD_FIELD = {"ws_write": "path", "ws_read": "content", "ws_list": "entries"}
"""What of an action's result is worth telling."""

_NOTHING = {"ja": "（何もありません）", "en": "(nothing)"}
_ABLE = {
    "ja": "それまでは、「memo.txtに『こんにちは』と書いて」「memo.txtを読んで」「ファイル一覧」"
    "「『やあ』と言って」「黙っていて」などの簡単なお願いだけできます。",
    "en": "Until then I only do simple things: 'write memo.txt: hello', 'read memo.txt',"
    " 'list files', 'say hello', 'think about crabs', 'stay silent'.",
}


def scripted_reply(request: ChatRequest) -> ModelAnswer:
    """Return the rules' answer: a tool call, a report of its result, or an introduction."""
    if (instructions := instructions_asked_of_scripted_model(request)) is not None:
        return ModelAnswer(text=scripted_plan(instructions, _written_path), finish="stop")
    words, since = last_scripted_words(request), scripted_turns_since_user_message(request)
    language = "ja" if _JAPANESE.search(words) else "en"
    if not words or any(isinstance(turn, ChatMessage) and _answers(turn) for turn in since):
        return _silence(request)
    results = [turn for turn in since if isinstance(turn, CallReturn)]
    if results:
        return ModelAnswer(text=_report(results, language), finish="stop")
    offered = {action.name: action for action in request.actions}
    for line in _lines_to_carry_out(request, words):
        for rule in RULES:
            wanted = rule.wanted(line) if rule.action in offered else None
            if wanted is not None:
                return _calling(offered[rule.action], wanted)
    if words.startswith(_WOKEN):
        return _unprompted_answer(request, language)
    return ModelAnswer(text=_introduction(words, language), finish="stop")


def _lines_to_carry_out(request: ChatRequest, words: str) -> tuple[str, ...]:
    """Return the words, or each line of what OpenCrab says of a goal or a schedule."""
    named = [turn.name for turn in request.turns if isinstance(turn, ChatMessage) and turn.name]
    if not words.startswith(_WOKEN) and (not named or named[-1] != _OPENCRAB):
        return (words,)
    lines = words.removeprefix(_WOKEN).splitlines()
    if not lines or not lines[0].startswith("["):
        return tuple(lines)
    # A first line in brackets says why a heartbeat began the turn, or ends with the goal's name.
    parts = lines[0].split(": ")
    endings = (": ".join(parts[place:]) for place in range(1, len(parts)))
    return (*endings, *lines[1:])


def _written_path(words: str) -> str | None:
    """Return the file that a sentence asks to write; None for any other."""
    found = (rule.wanted(words) for rule in RULES if rule.action == "ws_write")
    return next((wanted["path"] for wanted in found if wanted is not None), None)


def _answers(turn: ChatMessage) -> bool:
    """Check whether a message is an answer of the agent, not a tool call."""
    return turn.role == "assistant" and bool(turn.text) and not turn.calls


def _unprompted_answer(request: ChatRequest, language: str) -> ModelAnswer:
    """Answer without a user message: silence, or one sentence in a discussion."""
    offered = {action.name: action for action in request.actions}
    discussed = "declare_done" in last_scripted_words(request)
    if not discussed or "declare_done" not in offered:
        return _silence(request)
    spoken = any(isinstance(turn, ChatMessage) and _answers(turn) for turn in request.turns)
    if spoken:
        return _calling(offered["declare_done"], {})
    return ModelAnswer(text=_TAKEN_PART[language], finish="stop")


def _silence(request: ChatRequest) -> ModelAnswer:
    """Return a call of send_noreact if it is offered, else an empty answer."""
    for action in request.actions:
        if action.name == "send_noreact":
            return _calling(action, {})
    return ModelAnswer(finish="stop")


def _calling(action: ActionSchema, wanted: dict[str, str]) -> ModelAnswer:
    call = ActionCall(id="c0", name=action.name, arguments=_arguments(action, wanted))
    return ModelAnswer(calls=(call,), finish="tool_calls")


def _arguments(action: ActionSchema, wanted: dict[str, str]) -> dict[str, Any]:
    """Map a rule's groups to the action's parameter names.

    A group with an unknown name fills the next required parameter that is still free.
    """
    properties = action.parameters.get("properties", {})
    required = action.parameters.get("required", [])
    arguments = {name: text for name, text in wanted.items() if name in properties}
    free = [name for name in (*required, *properties) if name not in arguments]
    for text in (text for name, text in wanted.items() if name not in properties):
        if free:
            arguments[free.pop(0)] = text
    return arguments


def _introduction(words: str, language: str) -> str:
    heard = " ".join(words.split())
    heard = heard if len(heard) <= _ECHOED else f"{heard[:_ECHOED]}…"
    understood = {"ja": f"「{heard}」と受け取りました。", "en": f"I received: “{heard}”."}
    return "\n".join((_ABOUT[language], understood[language], _ADVICE[language], _ABLE[language]))


def _report(results: Iterable[CallReturn], language: str) -> str:
    """Describe the calls' results; empty if the action spoke itself or was to stay silent."""
    return "\n".join(filter(None, (_outcome(result, language) for result in results)))


def _outcome(result: CallReturn, language: str) -> str:
    data = _data(result.content)
    error = data.get("error") if isinstance(data, dict) else None
    if error:
        failed = {"ja": f"{result.name} はできませんでした", "en": f"{result.name} did not work"}
        return f"{failed[language]}: {_cut(_plain(error))}"
    if result.name in _SILENT_ACTIONS:
        return ""
    done = _DONE.get(result.name, _DONE[""])[language]
    field = _TOLD_FIELD.get(result.name)
    if isinstance(data, dict) and field in data:
        data = data[field] or _NOTHING[language]
    told = "" if result.name == "generate_inner_voice" else _cut(_plain(data))
    return "\n".join(filter(None, (done, told)))


def _data(content: str) -> Any:
    """Parse a result's JSON, or return its text."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return content


def _plain(data: Any) -> str:
    """Format data as text: lists as lines, files by name, other objects by their fields."""
    match data:
        case str() as text:
            pass
        case {"done": True}:
            text = ""
        case {"name": str(name), "is_dir": bool(is_folder)}:
            text = f"{name}/" if is_folder else name
        case dict() if len(data) == 1:
            text = _plain(next(iter(data.values())))
        case dict():
            text = ", ".join(f"{name}: {_plain(value)}" for name, value in data.items())
        case list():
            text = "\n".join(f"- {_plain(value)}" for value in data)
        case _:
            text = json.dumps(data)
    return text


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
