"""The vendors' own libraries, run inside the environment that has them: what they send and read.

It reads a list of jobs from its input and writes what each came to. Nothing of OpenCrab is imported
here, and the libraries only when they run: the environment of the tests does not have them.
"""

import importlib
import inspect
import json
import sys
from typing import Any

Job = dict[str, Any]
Read = dict[str, Any]

_CLIENTS = {"llamacpp": "OpenAI", "responses": "OpenAI", "anthropic": "Anthropic"}
_PATHS = {
    "llamacpp": "/chat/completions",
    "responses": "/responses",
    "anthropic": "/v1/messages",
}


def main() -> None:
    """Do every job; each is a format, the address where it is spoken, a way and a body."""
    jobs = json.loads(sys.stdin.read())
    clients = {job["kind"]: Client(job["kind"], job["url"]) for job in jobs}
    sys.stdout.write(json.dumps([clients[job["kind"]].done(job) for job in jobs]))


class Client:
    """One library for one server, and the bodies that it really sends."""

    def __init__(self, kind: str, url: str) -> None:
        library: Any = importlib.import_module(_CLIENTS[kind].lower())
        self._sent: list[str] = []
        hooks = {"request": [lambda request: self._sent.append(request.content.decode())]}
        self._client = getattr(library, _CLIENTS[kind])(
            base_url=url,
            api_key="none",
            max_retries=0,
            # The server hangs up after a stream, which the next request would meet.
            default_headers={"connection": "close"},
            http_client=library.DefaultHttpxClient(event_hooks=hooks, trust_env=False),
        )

    def done(self, job: Job) -> Read:
        """What the library read, and what it sent."""
        self._sent.clear()
        read = _WAYS[job["kind"], job["way"]](self._client, job["body"])
        return {**read, "sent": list(self._sent)}


def _openai_whole(client: Any, body: str) -> Read:
    return _completion(client.chat.completions.create(**json.loads(body)))


def _openai_stream(client: Any, body: str) -> Read:
    state = importlib.import_module("openai.lib.streaming.chat").ChatCompletionStreamState()
    with client.chat.completions.create(**json.loads(body)) as chunks:
        for chunk in chunks:
            state.handle_chunk(chunk)
    return _completion(state.current_completion_snapshot)


def _openai_bytes(client: Any, body: str) -> Read:
    kind = importlib.import_module("openai.types.chat").ChatCompletion
    return _completion(_posted(client, "llamacpp", body, kind))


def _responses_whole(client: Any, body: str) -> Read:
    return _response(client.responses.create(**json.loads(body)))


def _responses_stream(client: Any, body: str) -> Read:
    with client.responses.create(**json.loads(body)) as events:
        return _response(
            [event for event in events if event.type == "response.completed"][-1].response
        )


def _responses_bytes(client: Any, body: str) -> Read:
    kind = importlib.import_module("openai.types.responses").Response
    return _response(_posted(client, "responses", body, kind))


def _anthropic_whole(client: Any, body: str) -> Read:
    return _message(client.messages.create(**_split(client.messages.create, json.loads(body))))


def _anthropic_stream(client: Any, body: str) -> Read:
    wanted = json.loads(body)
    del wanted["stream"]
    with client.messages.stream(**_split(client.messages.stream, wanted)) as stream:
        return _message(stream.get_final_message())


def _anthropic_bytes(client: Any, body: str) -> Read:
    kind = importlib.import_module("anthropic.types").Message
    return _message(_posted(client, "anthropic", body, kind))


def _split(function: Any, wanted: Job) -> Job:
    """What the library has an argument for, and the rest as it lets one add to a body.

    It knows no temperature any more, since the newest version of the format has none.
    """
    known = inspect.signature(function).parameters
    extra = {name: value for name, value in wanted.items() if name not in known}
    return {name: wanted[name] for name in wanted if name in known} | {"extra_body": extra}


def _posted(client: Any, kind: str, body: str, cast_to: Any) -> Any:
    headers = {"headers": {"content-type": "application/json"}}
    return client.post(_PATHS[kind], content=body.encode(), cast_to=cast_to, options=headers)


def _completion(completion: Any) -> Read:
    choice = completion.choices[0]
    calls = [call.function for call in choice.message.tool_calls or ()]
    return {
        "text": choice.message.content or "",
        "calls": [[call.name, call.arguments] for call in calls],
        "finish": choice.finish_reason,
        "model": completion.model,
        "usage": [completion.usage.prompt_tokens, completion.usage.completion_tokens],
    }


def _response(response: Any) -> Read:
    calls = [item for item in response.output if item.type == "function_call"]
    return {
        "text": response.output_text,
        "calls": [[call.name, call.arguments] for call in calls],
        "finish": response.status,
        "model": response.model,
        "usage": [response.usage.input_tokens, response.usage.output_tokens],
    }


def _message(message: Any) -> Read:
    calls = [block for block in message.content if block.type == "tool_use"]
    usage = message.usage
    cached = (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0)
    return {
        "text": "".join(block.text for block in message.content if block.type == "text"),
        "calls": [[call.name, json.dumps(call.input)] for call in calls],
        "finish": message.stop_reason,
        "model": message.model,
        "usage": [usage.input_tokens + cached, usage.output_tokens],
    }


_WAYS = {
    ("llamacpp", "whole"): _openai_whole,
    ("llamacpp", "stream"): _openai_stream,
    ("llamacpp", "bytes"): _openai_bytes,
    ("responses", "whole"): _responses_whole,
    ("responses", "stream"): _responses_stream,
    ("responses", "bytes"): _responses_bytes,
    ("anthropic", "whole"): _anthropic_whole,
    ("anthropic", "stream"): _anthropic_stream,
    ("anthropic", "bytes"): _anthropic_bytes,
}

if __name__ == "__main__":
    main()
