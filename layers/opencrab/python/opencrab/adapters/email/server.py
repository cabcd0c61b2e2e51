"""Mail servers: their addresses in the settings, and what may be said of their errors."""

import re
import ssl
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from opencrab.domain.email.address import one_line_of_email
from opencrab.domain.errors import Invalid

SECONDS = 30.0
"""How long a server may be silent: some scan a mail before they say yes."""

TOTAL_SECONDS = 120.0
"""How long a sign-in, a fetch, or all of sending a mail may take, however much a server says."""

CHECK_SECONDS = 6.0
"""Both where somebody waits: the doctor asks two servers, and is waited for 15 seconds."""

PORTS = {"imaps": 993, "imap": 143, "smtps": 465, "smtp": 587}
"""The usual ports; schemes without an `s` begin encryption by STARTTLS."""

_WORDS = 300
_ENCODED = re.compile(r"[A-Za-z0-9+/]{20,}={0,2}")
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,252})|::1", re.ASCII)
_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})


class EmailPasswords(Protocol):
    """The source of the mailbox's password."""

    def token(self) -> str:
        """Return it; raises Refused without one, NeverSent if it cannot be read now."""

    def forget(self) -> None:
        """Drop a cached password, so that the next call reads the store again."""


@dataclass(frozen=True)
class MailServer:
    """A server: with `is_tls` encrypted from the first byte, else by STARTTLS."""

    host: str
    port: int
    is_tls: bool

    @property
    def may_be_plain(self) -> bool:
        """True on this machine only, where a server may have no certificate."""
        return self.host in _THIS_MACHINE

    @property
    def name(self) -> str:
        """Host and port."""
        return f"{self.host}:{self.port}"


def parse_mail_server(url: str, setting: str) -> MailServer:
    """Read an address such as imaps://imap.example.org; raises Invalid, and quotes nothing."""
    kind = setting.rpartition(".")[2]
    fault = Invalid(
        f"{setting} must be {kind}s://HOST, or {kind}://HOST for STARTTLS, without a user name",
        field=setting,
        cure=f'correct it, as in "{kind}s://{kind}.example.org"',
    )
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        raise fault from None
    host = (parts.hostname or "").lower()
    is_known = parts.scheme in {kind, f"{kind}s"} and _HOST.fullmatch(host) is not None
    if not is_known or "@" in parts.netloc or parts.path.strip("/") or parts.query:
        raise fault
    return MailServer(host, port or PORTS[parts.scheme], parts.scheme.endswith("s"))


def mail_tls_context() -> ssl.SSLContext:
    """Return the rules for encryption: the system's authorities, the host's name, TLS 1.2."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def words_of_mail_server(told: object, password: str) -> str:
    """Return what a server said, in one line, without the password."""
    text = told.decode("utf-8", "replace") if isinstance(told, bytes) else str(told)
    if password:
        for each in _written_forms(password):
            text = text.replace(each, "…")
    # Some servers repeat a line that they do not understand: credentials in Base64.
    text = _ENCODED.sub("…", text)
    return one_line_of_email(text, _WORDS)


def _written_forms(password: str) -> tuple[str, ...]:
    """Return a password as it can stand in an error: LOGIN quotes it, imaplib shows bytes."""
    quoted = password.replace("\\", "\\\\").replace('"', '\\"')
    shown = tuple(each.replace("\\", "\\\\").replace("'", "\\'") for each in (quoted, password))
    return (*shown, quoted, password)
