"""Problem documents in another form: that of another protocol, or another language."""

import json
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from starlette.responses import Response
from starlette.types import Message, Send

from opencrab.domain.errors import OpenCrabError
from opencrab.domain.value import Language
from opencrab.gateways.language.error_texts import error_text_in
from opencrab.gateways.rest.http.problem import MEDIA_TYPE, http_problem

_TEXTS = frozenset({"title", "detail", "cure"})
"""What people read of a problem."""

_OWN = {b"content-type", b"content-length"}


class ProblemForm(NamedTuple):
    """The JSON of an error in another form, its media type, and headers that go with it."""

    body: bytes
    headers: Iterable[tuple[bytes, bytes]] = ()
    media_type: bytes = b"application/json"


class ProblemFormSender:
    """A wrapper of `send` that turns a problem document into an error of another form."""

    def __init__(self, send: Send, rewrite: Callable[[bytes, int], ProblemForm]) -> None:
        self._send = send
        self._rewrite = rewrite
        self._start: Message | None = None
        self._body = b""

    async def send(self, message: Message) -> None:
        """Pass a part of a response on; that of a problem is kept until it is complete."""
        if message["type"] == "http.response.start" and _is_problem(message):
            self._start = message
            return
        if self._start is None:
            await self._send(message)
            return
        self._body += message.get("body", b"")
        if message.get("more_body", False):
            return
        body, added, kind = self._rewrite(self._body, int(self._start["status"]))
        kept = [pair for pair in self._start["headers"] if pair[0] not in _OWN]
        headers = [
            *kept,
            (b"content-type", kind),
            (b"content-length", str(len(body)).encode()),
            *added,
        ]
        await self._send({**self._start, "headers": headers})
        await self._send({**message, "body": body})


def _is_problem(start: Message) -> bool:
    return (b"content-type", MEDIA_TYPE.encode()) in [
        (name, value.partition(b";")[0]) for name, value in start["headers"]
    ]


def problems_in_language(send: Send, language: Language) -> ProblemFormSender:
    """Return a wrapper of `send` that translates problem documents.

    Content-Language names the language of those whose detail has a translation.
    """

    def rewrite(content: bytes, _status: int) -> ProblemForm:
        return _form_in_language(content, language)

    return ProblemFormSender(send, rewrite)


def http_problem_in(language: Language, error: OpenCrabError) -> Response:
    """Convert an OpenCrabError to a problem response in a language, where nothing translates it."""
    english = http_problem(error)
    if language is Language.EN:
        return english
    form = _form_in_language(bytes(english.body), language)
    headers = {name: text for name, text in english.headers.items() if name.encode() not in _OWN}
    headers |= {name.decode(): value.decode() for name, value in form.headers}
    return Response(form.body, english.status_code, headers, media_type=MEDIA_TYPE)


def _form_in_language(content: bytes, language: Language) -> ProblemForm:
    problem = json.loads(content)
    english = problem["detail"]
    for told in (problem, *problem.get("errors", ())):
        _translate_problem(told, language)
    body = json.dumps(problem, ensure_ascii=False, separators=(",", ":")).encode()
    named = [(b"content-language", language.encode())] if problem["detail"] != english else []
    return ProblemForm(body, named, MEDIA_TYPE.encode())


def _translate_problem(problem: dict[str, Any], language: Language) -> None:
    for name in _TEXTS & problem.keys():
        problem[name] = error_text_in(language, str(problem[name]))
