"""Requests signed with AWS credentials on their way, each with the credentials of its moment."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from opencrab.adapters.providers.transport.exchange import (
    IsStopped,
    OpenReply,
    Reply,
    SignRequest,
    Transport,
    provider_exchange_never_stopped,
)
from opencrab.domain.errors import Unavailable
from opencrab.domain.models.fault import Fault, ModelCallFailed


@dataclass(frozen=True)
class SignedTransport:
    """A transport that adds a signature to each request."""

    transport: Transport
    sign: SignRequest

    def send(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        timeout_seconds: float,
    ) -> Reply:
        signed = self._signed("GET" if body is None else "POST", url, body or b"", headers)
        return self.transport.send(url, headers=signed, body=body, timeout_seconds=timeout_seconds)

    def open(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes,
        timeout_seconds: float,
        is_stopped: IsStopped = provider_exchange_never_stopped,
    ) -> AbstractContextManager[OpenReply]:
        return self.transport.open(
            url,
            headers=self._signed("POST", url, body, headers),
            body=body,
            timeout_seconds=timeout_seconds,
            is_stopped=is_stopped,
        )

    def _signed(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str]
    ) -> dict[str, str]:
        try:
            return {**headers, **self.sign(method, url, body)}
        except Unavailable as error:
            raise ModelCallFailed(
                error.message, Fault.AUTH, cure=error.cure, billed=False
            ) from error
