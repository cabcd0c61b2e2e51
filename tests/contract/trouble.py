"""What each vendor sends when something goes wrong, in its own format."""

import json
from dataclasses import dataclass
from typing import Any

from opencrab.domain.models.fault import Fault, ModelCallFailed
from tests.unit.adapters.providers.event_stream import event_stream


@dataclass(frozen=True)
class Trouble:
    """What a server sends, and what it means.

    `chunks` are a stream that began well; then comes `ends`, if the connection did not.
    """

    fault: Fault
    charged: bool = False
    status: int = 200
    body: Any = None
    headers: tuple[tuple[str, str], ...] = ()
    chunks: tuple[bytes, ...] = ()
    ends: Fault | None = None
    retry_after: float | None = None

    @property
    def raised(self) -> ModelCallFailed | None:
        """What the connection does after all bytes, or instead of them."""
        if self.ends is None:
            return None
        return ModelCallFailed("the connection ended", self.ends, billed=True)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _frame(value: Any, name: str = "") -> bytes:
    event = f"event: {name}\n".encode() if name else b""
    return event + b"data: " + _json(value) + b"\n\n"


def _late(begun: bytes) -> dict[str, Trouble]:
    """Timeouts are the same everywhere: only what had come before differs."""
    return {
        "timeout before the first byte": Trouble(Fault.TIMEOUT, charged=True, ends=Fault.TIMEOUT),
        "timeout in the middle": Trouble(
            Fault.TIMEOUT, charged=True, chunks=(begun,), ends=Fault.TIMEOUT
        ),
    }


def _openai(message: str, kind: str, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


_OPENAI_BEGUN = _frame(
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "こんに"}}]}
)


def openai() -> dict[str, Trouble]:
    """The troubles of OpenAI, and whoever speaks like it."""
    too_long = _openai("too many tokens", "invalid_request_error", "context_length_exceeded")
    busy = _openai("rate limit reached", "tokens", "rate_limit_exceeded")
    empty = _openai("the quota is used up", "insufficient_quota", "insufficient_quota")
    wrong = _openai("incorrect key", "invalid_request_error", "invalid_api_key")
    broken = _frame(_openai("the server had an error", "server_error"))
    return {
        "401": Trouble(Fault.AUTH, status=401, body=wrong),
        "402": Trouble(Fault.QUOTA_SPENT, status=402, body=_openai("no credit", "billing")),
        "429 retryable": Trouble(
            Fault.RATE_LIMITED,
            status=429,
            body=busy,
            headers=(("retry-after", "1"), ("retry-after-ms", "494")),
            retry_after=0.494,
        ),
        "429 final": Trouble(Fault.QUOTA_SPENT, status=429, body=empty),
        "500": Trouble(
            Fault.SERVER_ERROR, charged=True, status=500, body=_openai("oops", "server_error")
        ),
        "529": Trouble(Fault.OVERLOADED, status=529, body=_openai("overloaded", "overloaded")),
        "error in the middle": Trouble(
            Fault.SERVER_ERROR, charged=True, chunks=(_OPENAI_BEGUN, broken)
        ),
        "context too long": Trouble(Fault.TOO_LONG, status=400, body=too_long),
        **_late(_OPENAI_BEGUN),
    }


def responses() -> dict[str, Trouble]:
    """The troubles of OpenAI's Responses API, whose errors are events of a stream."""
    begun = _frame({"type": "response.output_text.delta", "output_index": 0, "delta": "こんに"})
    error = {"code": "server_error", "message": "the server had an error"}
    failed = {"type": "response.failed", "response": {"status": "failed", "error": error}}
    late = Trouble(Fault.SERVER_ERROR, charged=True, chunks=(begun, _frame(failed)))
    return {**openai(), **_late(begun), "error in the middle": late}


def openrouter() -> dict[str, Trouble]:
    """The troubles of OpenRouter, whose codes are numbers."""

    def said(code: int, message: str) -> dict[str, Any]:
        return {"error": {"code": code, "message": message}}

    late = {"id": "g", "error": {"code": 502, "message": "provider disconnected"}, "choices": []}
    too_long = said(400, "This endpoint's maximum context length is 8192 tokens")
    return {
        "401": Trouble(Fault.AUTH, status=401, body=said(401, "no such user")),
        "402": Trouble(Fault.QUOTA_SPENT, status=402, body=said(402, "insufficient credits")),
        "429 retryable": Trouble(
            Fault.RATE_LIMITED,
            status=429,
            body=said(429, "slow down"),
            headers=(("retry-after", "3"),),
            retry_after=3.0,
        ),
        "429 final": Trouble(
            Fault.QUOTA_SPENT,
            status=429,
            body=said(429, "no more for today"),
            headers=(("x-should-retry", "false"),),
        ),
        "500": Trouble(Fault.SERVER_ERROR, charged=True, status=500, body=said(500, "oops")),
        "529": Trouble(Fault.OVERLOADED, status=529, body=said(529, "overloaded")),
        "error in the middle": Trouble(
            Fault.SERVER_ERROR, charged=True, chunks=(_OPENAI_BEGUN, _frame(late))
        ),
        "context too long": Trouble(Fault.TOO_LONG, status=400, body=too_long),
        **_late(_OPENAI_BEGUN),
    }


def _anthropic(kind: str, message: str, **details: Any) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message, **details}}


_ANTHROPIC_BEGUN = b"".join(
    (
        _frame(
            {
                "type": "message_start",
                "message": {
                    "id": "m",
                    "type": "message",
                    "role": "assistant",
                    "model": "crab-1",
                    "content": [],
                    "stop_reason": None,
                    "usage": {"input_tokens": 9, "output_tokens": 1},
                },
            },
            "message_start",
        ),
        _frame(
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "text", "text": ""},
            },
            "content_block_start",
        ),
        _frame(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": "こんに"},
            },
            "content_block_delta",
        ),
    )
)


def anthropic() -> dict[str, Trouble]:
    """The troubles of Anthropic."""
    too_long = _anthropic("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum")
    spent = _anthropic(
        "rate_limit_error", "limit", details={"error_code": "enforced_spend_limit_reached"}
    )
    busy = _anthropic("rate_limit_error", "slow down")
    return {
        "401": Trouble(
            Fault.AUTH, status=401, body=_anthropic("authentication_error", "invalid x-api-key")
        ),
        "402": Trouble(
            Fault.QUOTA_SPENT, status=402, body=_anthropic("billing_error", "pay first")
        ),
        "429 retryable": Trouble(
            Fault.RATE_LIMITED,
            status=429,
            body=busy,
            headers=(("retry-after", "12"),),
            retry_after=12.0,
        ),
        "429 final": Trouble(Fault.QUOTA_SPENT, status=429, body=spent),
        "500": Trouble(
            Fault.SERVER_ERROR, charged=True, status=500, body=_anthropic("api_error", "oops")
        ),
        "529": Trouble(
            Fault.OVERLOADED, status=529, body=_anthropic("overloaded_error", "overloaded")
        ),
        "error in the middle": Trouble(
            Fault.OVERLOADED,
            charged=True,
            chunks=(
                _ANTHROPIC_BEGUN,
                _frame(_anthropic("overloaded_error", "overloaded"), "error"),
            ),
        ),
        "context too long": Trouble(Fault.TOO_LONG, status=400, body=too_long),
        **_late(_ANTHROPIC_BEGUN),
    }


def _google(code: int, status: str, message: str, *details: Any) -> dict[str, Any]:
    return {"error": {"code": code, "status": status, "message": message, "details": [*details]}}


_GOOGLE_BEGUN = _frame(
    {"candidates": [{"content": {"role": "model", "parts": [{"text": "こんに"}]}, "index": 0}]}
).replace(b"\n", b"\r\n")


_RPC = "type.googleapis.com/google.rpc."
_WAIT = {"@type": f"{_RPC}RetryInfo", "retryDelay": "34.4s"}
_WRONG = {"@type": f"{_RPC}ErrorInfo", "reason": "API_KEY_INVALID"}
_DAILY = {
    "@type": f"{_RPC}QuotaFailure",
    "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}],
}


def google() -> dict[str, Trouble]:
    """The troubles of Google, whose wish to wait is in the body."""
    late = _json(_google(503, "UNAVAILABLE", "the model is overloaded"))
    return {
        "401": Trouble(
            Fault.AUTH,
            status=400,
            body=_google(400, "INVALID_ARGUMENT", "API key not valid", _WRONG),
        ),
        "402": Trouble(
            Fault.QUOTA_SPENT,
            status=402,
            body=_google(402, "FAILED_PRECONDITION", "enable billing"),
        ),
        "429 retryable": Trouble(
            Fault.RATE_LIMITED,
            status=429,
            body=_google(429, "RESOURCE_EXHAUSTED", "slow down", _WAIT),
            retry_after=34.4,
        ),
        "429 final": Trouble(
            Fault.QUOTA_SPENT,
            status=429,
            body=_google(429, "RESOURCE_EXHAUSTED", "no more for today", _DAILY),
        ),
        "500": Trouble(
            Fault.SERVER_ERROR, charged=True, status=500, body=_google(500, "INTERNAL", "oops")
        ),
        "529": Trouble(
            Fault.OVERLOADED, status=503, body=_google(503, "UNAVAILABLE", "overloaded")
        ),
        "error in the middle": Trouble(
            Fault.OVERLOADED, charged=True, chunks=(_GOOGLE_BEGUN, late)
        ),
        "context too long": Trouble(
            Fault.TOO_LONG,
            status=400,
            body=_google(
                400,
                "INVALID_ARGUMENT",
                "The input token count (9) exceeds the maximum number of tokens allowed (8).",
            ),
        ),
        **_late(_GOOGLE_BEGUN),
    }


def bedrock() -> dict[str, Trouble]:
    """The troubles of Amazon Bedrock, whose types are in a header, or events of its stream."""

    def said(status: int, fault: Fault, kind: str, message: str) -> Trouble:
        headers = (("x-amzn-errortype", f"{kind}:http://internal.amazon.com/coral/"),)
        charged = fault is Fault.SERVER_ERROR
        return Trouble(
            fault, charged=charged, status=status, body={"message": message}, headers=headers
        )

    begun = event_stream(
        ("messageStart", {"role": "assistant"}),
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "こんに"}}),
    )
    late = event_stream(("serviceUnavailableException", {"message": "too busy"}))
    daily = "Too many tokens per day, please wait before trying again."
    invalid = "The security token included in the request is invalid."
    return {
        "401": said(403, Fault.AUTH, "UnrecognizedClientException", invalid),
        "402": said(400, Fault.QUOTA_SPENT, "ServiceQuotaExceededException", "quota exceeded"),
        "429 retryable": said(429, Fault.RATE_LIMITED, "ThrottlingException", "slow down"),
        "429 final": said(429, Fault.QUOTA_SPENT, "ThrottlingException", daily),
        "500": said(500, Fault.SERVER_ERROR, "InternalServerException", "oops"),
        "529": said(503, Fault.OVERLOADED, "ServiceUnavailableException", "overloaded"),
        "error in the middle": Trouble(Fault.OVERLOADED, charged=True, chunks=(begun, late)),
        "context too long": said(
            400, Fault.TOO_LONG, "ValidationException", "Input is too long for requested model."
        ),
        **_late(begun),
    }


_OLLAMA_BEGUN = _json(
    {"model": "crab-1", "message": {"role": "assistant", "content": "こんに"}, "done": False}
)


def ollama() -> dict[str, Trouble]:
    """The troubles of Ollama, which says one sentence."""

    def said(message: str) -> dict[str, str]:
        return {"error": message}

    begun = _OLLAMA_BEGUN + b"\n"
    return {
        "401": Trouble(Fault.AUTH, status=401, body=said("unauthorized")),
        "402": Trouble(Fault.QUOTA_SPENT, status=402, body=said("upgrade your plan")),
        "429 retryable": Trouble(
            Fault.RATE_LIMITED,
            status=429,
            body=said("too many requests"),
            headers=(("retry-after", "2"),),
            retry_after=2.0,
        ),
        "429 final": Trouble(
            Fault.QUOTA_SPENT, status=429, body=said("you have reached your weekly usage limit")
        ),
        "500": Trouble(Fault.SERVER_ERROR, charged=True, status=500, body=said("model crashed")),
        "529": Trouble(Fault.OVERLOADED, status=503, body=said("server busy, please try again")),
        "error in the middle": Trouble(
            Fault.SERVER_ERROR,
            charged=True,
            chunks=(begun, _json(said("an unknown error was encountered")) + b"\n"),
        ),
        "context too long": Trouble(
            Fault.TOO_LONG, status=400, body=said("the input length exceeds the context length")
        ),
        **_late(begun),
    }


def llamacpp() -> dict[str, Trouble]:
    """The troubles of llama.cpp."""

    def said(code: int, kind: str, message: str) -> dict[str, Any]:
        return {"error": {"code": code, "type": kind, "message": message}}

    late = _frame(said(500, "server_error", "the slot failed"))
    too_long = said(
        400,
        "exceed_context_size_error",
        "request (9 tokens) exceeds the available context size (8 tokens)",
    )
    return {
        **openai(),
        "401": Trouble(
            Fault.AUTH, status=401, body=said(401, "authentication_error", "Invalid API Key")
        ),
        "500": Trouble(
            Fault.SERVER_ERROR, charged=True, status=500, body=said(500, "server_error", "oops")
        ),
        "529": Trouble(
            Fault.OVERLOADED, status=503, body=said(503, "unavailable_error", "Loading model")
        ),
        "error in the middle": Trouble(
            Fault.SERVER_ERROR, charged=True, chunks=(_OPENAI_BEGUN, late)
        ),
        "context too long": Trouble(Fault.TOO_LONG, status=400, body=too_long),
    }
