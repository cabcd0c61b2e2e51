"""The connection to one model of a vendor, which validates the key and removes it from answers."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from opencrab.adapters.providers.transport.exchange import OpenReply, Reply, Transport
from opencrab.adapters.providers.wire.blocks import (
    answer_without_leading_blocks,
    has_left_opened_block,
    sort_leading_blocks,
    text_after_leading_blocks,
)
from opencrab.adapters.providers.wire.lenient import parse_provider_json
from opencrab.adapters.providers.wire.secrecy import ProviderKeyRedactor
from opencrab.adapters.providers.wire.text import complete_wire_characters, repair_wire_text
from opencrab.adapters.providers.wire.wire import (
    Endpoint,
    ErrorParty,
    StreamAssembly,
    StreamFrame,
    UsageLookupWire,
    Wire,
)
from opencrab.domain.errors import OpenCrabError, Refused
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import ModelAnswer

STOPPED = "stopped"
"""The finish reason of an answer whose call was stopped."""

_OK = 200
_ERROR_BYTES = 256 * 1024
_JSON = {"content-type": "application/json"}
_MISREAD = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What reading raises where a wire was not lenient enough."""

T = TypeVar("T")


@dataclass(frozen=True)
class VendorLine:
    """The connection to one model, which validates the key and removes it from errors.

    `leading_blocks` says whether the model writes its thoughts at the beginning of its text, and
    `opened_block` whether its chat template opens them, so that no tag says where they begin.
    """

    wire: Wire
    endpoint: Endpoint
    model: str
    transport: Transport
    leading_blocks: bool = False
    opened_block: bool = False

    def __post_init__(self) -> None:
        endpoint = self.endpoint
        where = endpoint.key_name or "api_key"
        if not _is_plain(endpoint.api_key) or " " in endpoint.api_key:
            raise Refused(
                f"the key of {endpoint.provider} in {where} contains invalid characters",
                cure=f"set {where} again, without spaces, line breaks or quotes around it",
            )
        for name, value in self.wire.headers(endpoint).items():
            if not _is_plain(value):
                raise Refused(
                    f"the header {name} of {endpoint.provider} contains invalid characters",
                    cure="use Latin letters, digits and signs only, on one line",
                )

    @property
    def secrecy(self) -> ProviderKeyRedactor:
        """The redactor of the endpoint's key."""
        return ProviderKeyRedactor(self.endpoint.api_key)

    @property
    def party(self) -> ErrorParty:
        """The provider, model and key name for error messages."""
        return ErrorParty(self.endpoint.provider, self.model, self.endpoint.key_name)

    def send(self, path: str, body: bytes | None, timeout_seconds: float) -> Reply:
        """Send a request and return the whole response; raise ModelCallFailed unless HTTP 200."""
        reply = self.transport.send(
            self.endpoint.base_url + path,
            headers=self._headers() if body is None else _JSON | self._headers(),
            body=body,
            timeout_seconds=timeout_seconds,
        )
        if reply.status != _OK:
            told = replace(reply, body=self.secrecy.redact_error(reply.body))
            with self.named(reply.headers):
                raise self.wire.failure(told, self.party)
        return reply

    @contextmanager
    def open(
        self, path: str, body: bytes, timeout_seconds: float, is_stopped: Callable[[], bool]
    ) -> Iterator[OpenReply]:
        """Send a request and yield the response as it arrives.

        Raise ModelCallFailed unless HTTP 200, and ExchangeStopped once `is_stopped` returns True.
        """
        with self.transport.open(
            self.endpoint.base_url + path,
            headers=_JSON | self._headers(),
            body=body,
            timeout_seconds=timeout_seconds,
            is_stopped=is_stopped,
        ) as opened:
            if opened.status != _OK:
                told = self.secrecy.redact_error(_beginning(opened.chunks))
                with self.named(opened.headers):
                    raise self.wire.failure(Reply(opened.status, told, opened.headers), self.party)
            yield opened

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Redact the key from errors, and turn parsing errors into ModelCallFailed."""
        try:
            yield
        except OpenCrabError as error:
            error.message = self.secrecy.redact_text(error.message)
            error.args = (error.message,)
            error.cure = error.cure and self.secrecy.redact_text(error.cure)
            raise error from None
        except _MISREAD as error:
            message = f"the answer of {self.endpoint.provider} is malformed"
            raise ModelCallFailed(f"{message} ({type(error).__name__})", Fault.NONSENSE) from None

    @contextmanager
    def named(self, headers: Mapping[str, str]) -> Iterator[None]:
        """Give errors the vendor's id of the call, by which its cost may be looked up later."""
        try:
            with self.guarded():
                yield
        except ModelCallFailed as error:
            error.provider_call_id = self.call_id(headers)
            raise

    def call_id(self, headers: Mapping[str, str]) -> str:
        """Return the vendor's id of a call, "" if it gives none or has no use for it."""
        if not isinstance(self.wire, UsageLookupWire):
            return ""
        return self.secrecy.redact_text(self.wire.call_id(headers))

    def answer(self, body: bytes) -> ModelAnswer:
        """Parse a response body into an answer."""
        party = self.party
        return self.sorted(
            self.read(
                body,
                lambda body: self.wire.from_wire(parse_provider_json(body, party.provider), party),
            )
        )

    def assembled(self, body: Any) -> ModelAnswer:
        """Parse the assembled body of a stream into an answer."""
        try:
            return self.sorted(self.wire.from_wire(body, self.party))
        except ModelCallFailed:
            return self.sorted(self.wire.from_wire(self.secrecy.redact_json(body), self.party))

    def sorted(self, answer: ModelAnswer) -> ModelAnswer:
        """Take the thoughts out of an answer's text, if the model is known to write them there."""
        if not self.leading_blocks:
            return answer
        return answer_without_leading_blocks(answer, is_opened=self.opened_block)

    def shown(self, assembly: StreamAssembly) -> str:
        """Return the text of an answer that may be shown, as much as has arrived for certain."""
        if self.opened_block and self._may_be_thought(assembly):
            return ""
        if assembly.is_complete:
            whole = repair_wire_text(assembly.text)
            whole = sort_leading_blocks(whole).text if self.leading_blocks else whole.strip()
            return self.secrecy.redact_text(whole)
        text = repair_wire_text(complete_wire_characters(assembly.text))
        text = text_after_leading_blocks(text) if self.leading_blocks else text.strip()
        return self.secrecy.redact_beginning(text)

    def _may_be_thought(self, assembly: StreamAssembly) -> bool:
        """Check whether the text so far may be the thought that the chat template opened.

        It is not once a thought arrived apart from the text: then the server takes it out.
        """
        if has_left_opened_block(assembly.text):
            return False
        try:
            return not self.wire.from_wire(assembly.body(), self.party).thought
        except (ModelCallFailed, *_MISREAD):
            return True

    def partial(self, assembly: StreamAssembly, call_id: str) -> ModelAnswer:
        """Return what has arrived of an answer whose call was stopped, without tool calls.

        Its output tokens are the bytes that have arrived, or the vendor's count if that is more.
        """
        body = assembly.body()
        try:
            counted = self.wire.from_wire(body, self.party).usage
        except (ModelCallFailed, *_MISREAD):
            counted = Usage()
        arrived = json.dumps(body, ensure_ascii=False) if assembly.has_content else ""
        most = max(counted.output_tokens, len(arrived.encode("utf-8", "replace")))
        return ModelAnswer(
            # What stands beside tool calls is a thought, as in a complete answer.
            text="" if assembly.has_calls else self.shown(assembly),
            finish=STOPPED,
            usage=Usage(input_tokens=counted.input_tokens, output_tokens=most),
            provider_call_id=call_id,
        )

    def add(self, event: StreamFrame, assembly: StreamAssembly) -> None:
        """Feed a frame to an assembly; if it holds an error, without the key."""
        try:
            assembly.add(event)
        except ModelCallFailed:
            told = self.secrecy.redact_error(event.data.encode("utf-8", "replace"))
            assembly.add(replace(event, data=told.decode("utf-8", "replace")))

    def read(self, body: bytes, read: Callable[[bytes], T]) -> T:
        """Parse a body; if it holds an error, parse it again without the key."""
        try:
            return read(body)
        except ModelCallFailed:
            return read(self.secrecy.redact_error(body))

    def _headers(self) -> dict[str, str]:
        return {"accept": "application/json", **self.wire.headers(self.endpoint)}


def _beginning(chunks: Iterable[bytes]) -> bytes:
    """Read up to 256 KiB of an error's body, even if the connection breaks."""
    received = bytearray()
    try:
        for chunk in chunks:
            received += chunk
            if len(received) > _ERROR_BYTES:
                break
    except ModelCallFailed:
        pass
    return bytes(received[:_ERROR_BYTES])


def _is_plain(value: str) -> bool:
    return value.isascii() and value.isprintable() and value == value.strip()
