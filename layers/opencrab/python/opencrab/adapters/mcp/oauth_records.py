"""Stored sign-ins at MCP servers: documents whose tokens are encrypted with a stored secret.

The key is in the secret store of the home, so that a copy of the documents alone opens nothing,
and a process that may read that store and no more can renew tokens.
"""

import logging
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, TypeVar

from opencrab.domain.document import INSTALLATION_FACTS, Document
from opencrab.domain.errors import Changed, Unavailable, UnreadableValue
from opencrab.domain.mcp.server import McpServer
from opencrab.domain.mcp.sign_in import (
    SIGN_IN_ATTEMPT_KIND,
    SIGN_IN_KIND,
    McpGrant,
    McpPendingGrant,
    McpSignInAttempt,
    McpSignInRecord,
    McpSignInState,
    mcp_resource_covers,
)
from opencrab.domain.value import Value
from opencrab.ports.access.secrets import Secrets
from opencrab.ports.documents import Documents

SIGN_IN_KEY = "MCP_SIGN_IN_KEY"
"""The name of the stored secret that encrypts tokens."""

_KEY_BYTES, _NONCE_BYTES = 32, 12

Sealed = TypeVar("Sealed", bound=Value)
Change = Callable[[McpSignInRecord, McpGrant | None], McpSignInRecord | None]
"""The next record of a server, or None to leave it as it is."""

log = logging.getLogger(__name__)


class StoredSignIns:
    """The documents of sign-ins.

    `random_bytes` are of cryptographic quality.
    """

    def __init__(
        self, facts: Documents, secrets: Secrets, random_bytes: Callable[[int], bytes] = os.urandom
    ) -> None:
        self._facts = facts
        self._secrets = secrets
        self._random = random_bytes

    def record(self, server: McpServer) -> tuple[McpSignInRecord, McpGrant | None]:
        """Return a server's record, an empty one without any, and the grant if it opens."""
        _, record, grant = self._found(server)
        return record, grant

    def records(self, servers: Iterable[McpServer]) -> dict[str, McpSignInRecord]:
        """Return the records of servers as they are configured, by name, in one read."""
        known = {each.name: each for each in servers if each.may_sign_in}
        names = [(SIGN_IN_KIND, name) for name in sorted(known)]
        found = self._facts.get_many(INSTALLATION_FACTS, *names) if names else ()
        read = dict[str, McpSignInRecord]()
        for each in found:
            # One that a newer release wrote does not keep the others from being shown.
            with suppress(UnreadableValue):
                read[each.id] = each.read(McpSignInRecord)
        return {
            name: record for name, record in read.items() if record.identity == known[name].identity
        }

    def lease(self, server: McpServer, record: McpSignInRecord, leased: McpSignInRecord) -> bool:
        """Replace a record if it is still stored so; returns whether it was."""
        document, now, _ = self._found(server)
        if document is None or now != record:
            return False
        with suppress(Changed):
            self._facts.commit(document.with_body(leased))
            return True
        return False

    def change(self, server: McpServer, change: Change) -> None:
        """Change a server's record, again for as long as others change it meanwhile."""
        while True:
            document, record, grant = self._found(server)
            changed = change(record, grant)
            if changed is None or changed == record:
                return
            with suppress(Changed):
                fact = document or _empty(SIGN_IN_KIND, server.name)
                self._facts.commit(fact.with_body(changed))
                return

    def forget(self, name: str) -> None:
        """Remove what is stored of a server."""
        gone = (_empty(kind, name) for kind in (SIGN_IN_KIND, SIGN_IN_ATTEMPT_KIND))
        self._facts.commit(*gone)

    def forget_unsigned(self, server: McpServer) -> None:
        """Remove the record of a server that asked for a sign-in, if nobody ever signed in there.

        Where the owner did, its issuer is kept: another one is asked about.
        """
        document, record, _ = self._found(server)
        if document is not None and record.state is McpSignInState.NEEDED and not record.issuer:
            self.take(document)

    def begin(self, server: McpServer, pending: McpPendingGrant, attempt: McpSignInAttempt) -> None:
        """Store a sign-in that begins; one that was under way ends with it."""
        sealed = attempt.replaced(sealed=self.seal(server, pending))
        fact = _empty(SIGN_IN_ATTEMPT_KIND, server.name).replaced(
            body=sealed.to_stored_fields(), expires_at=attempt.expires_at
        )
        self._facts.commit(fact)

    def pending(
        self, server: McpServer
    ) -> tuple[McpSignInAttempt, McpPendingGrant, Document] | None:
        """Return the sign-in under way, with its document; None without one."""
        found = self._facts.get(INSTALLATION_FACTS, SIGN_IN_ATTEMPT_KIND, server.name)
        if found is None or found.body is None:
            return None
        attempt = found.read(McpSignInAttempt)
        pending = self._opened(server, attempt.sealed, McpPendingGrant)
        return None if pending is None else (attempt, pending, found)

    def take(self, document: Document) -> bool:
        """Remove a document as it was read, once; returns whether it was still there."""
        with suppress(Changed):
            self._facts.commit(document.removed())
            return True
        return False

    def seal(self, server: McpServer, value: Value) -> str:
        """Return a value encrypted for a server; the key is made at the first time."""
        nonce = self._random(_NONCE_BYTES)
        cipher = _cipher(self._key() or self._new_key())
        whole = cipher.encrypt(nonce, value.to_stored().encode(), server.name.encode())
        return urlsafe_b64encode(nonce + whole).decode()

    def _found(self, server: McpServer) -> tuple[Document | None, McpSignInRecord, McpGrant | None]:
        found = self._facts.get(INSTALLATION_FACTS, SIGN_IN_KIND, server.name)
        empty = McpSignInRecord(identity=server.identity, state=McpSignInState.NONE)
        if found is None or found.body is None:
            return found, empty, None
        record = found.read(McpSignInRecord)
        if record.identity != server.identity:
            return found, empty, None
        grant = self._opened(server, record.sealed, McpGrant) if record.sealed else None
        return found, record, grant if grant and _is_for(grant, server) else None

    def _opened(self, server: McpServer, sealed: str, kind: type[Sealed]) -> Sealed | None:
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - only with a sign-in

        key = self._key()
        for again in (True, False):
            with suppress(ValueError, InvalidTag):
                raw = urlsafe_b64decode(sealed)
                nonce, whole = raw[:_NONCE_BYTES], raw[_NONCE_BYTES:]
                if key is not None:
                    opened = _cipher(key).decrypt(nonce, whole, server.name.encode())
                    return kind.from_stored(opened)
            if again:
                # Perhaps another process has made a new key since this one looked.
                self._secrets.forget()
                before, key = key, self._key()
                if key == before:
                    break
        log.warning("stored sign-in cannot be decrypted: server=%s", server.name)
        return None

    def _key(self) -> bytes | None:
        found = self._secrets.get(SIGN_IN_KEY)
        if found is None:
            # Perhaps another process made it since this one looked.
            self._secrets.forget()
            found = self._secrets.get(SIGN_IN_KEY)
        with suppress(ValueError):
            key = bytes.fromhex(found or "")
            return key if len(key) == _KEY_BYTES else None
        return None

    def _new_key(self) -> bytes:
        self._secrets.put(SIGN_IN_KEY, self._random(_KEY_BYTES).hex())
        # Of two that are made at once the stored one counts.
        self._secrets.forget()
        made = self._key()
        if made is None:
            raise Unavailable(
                f"the secret {SIGN_IN_KEY} is not readable yet", cure="try again in a minute"
            )
        return made


def _is_for(grant: McpGrant, server: McpServer) -> bool:
    """Check that tokens are this server's, by name, address, and issuer if its owner names one."""
    same = grant.server == server.name and mcp_resource_covers(grant.resource, server.url)
    issuer = server.oauth.issuer.removesuffix("/")
    return same and issuer in {"", grant.issuer.removesuffix("/")}


def _empty(kind: str, name: str) -> Document:
    """Return a document that replaces whatever is stored."""
    return Document(owner=INSTALLATION_FACTS, kind=kind, id=name, version=0, body=None)


def _cipher(key: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import (  # noqa: PLC0415 - only with a sign-in
        AESGCM,
    )

    return AESGCM(key)
