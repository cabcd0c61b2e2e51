"""Post: one mail to one address over SMTP; its errors say whether the mail may have left."""

import re
import smtplib
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any

from opencrab.adapters.email.server import (
    CHECK_SECONDS,
    SECONDS,
    TOTAL_SECONDS,
    EmailPasswords,
    MailServer,
    mail_tls_context,
    words_of_mail_server,
)
from opencrab.adapters.email.time_limit import TimeLimit
from opencrab.domain.email.address import quote_email_address
from opencrab.domain.errors import NeverSent, OpenCrabError, Refused, Unavailable

PAUSE = 120.0
"""Seconds after which a server that said "later" is asked again: greylisting takes minutes."""

STEP_SECONDS = 10.0
"""How long a step before the mail itself may take."""

SILENCE = 60.0
"""Seconds for which a server is left alone that let us wait: other channels need the workers."""

_SLOW = 5.0
_ME = "[127.0.0.1]"
_OK, _GO_ON, _REFUSED = 2, 354, 500
_ANSWERS = frozenset({2, 4, 5})
"""The first digits by which a server says whether it took a mail."""


class _Smtp(smtplib.SMTP):
    """A connection that a time limit knows from its server's first word."""

    def __init__(self, limit: TimeLimit, *server: Any, **options: Any) -> None:
        self.limit = limit
        super().__init__(*server, **options)

    def getreply(self) -> tuple[int, bytes]:
        if self.sock is not None:
            self.limit.watch(self.sock)
        answer = super().getreply()
        if self.limit.is_over:
            # What had come by then is half a line, whatever it looks like.
            self.close()
            raise smtplib.SMTPServerDisconnected("too slow")
        return answer


class _SmtpTls(_Smtp, smtplib.SMTP_SSL):
    pass


class SmtpPost:
    """A server that sends mails for a mailbox; each is sent over a connection of its own."""

    def __init__(
        self,
        server: MailServer,
        user: str,
        passwords: EmailPasswords,
        context: Callable[[], ssl.SSLContext] = mail_tls_context,
        *,
        time: Callable[[], float] = monotonic,
        total: float = TOTAL_SECONDS,
    ) -> None:
        self._server = server
        self._user = user
        self._passwords = passwords
        self._context = context
        self._time = time
        self._total = total
        self._silent_until = 0.0

    def check(self) -> str:
        """Connect and sign in, and send nothing; returns host and port."""
        with self._opened(CHECK_SECONDS, CHECK_SECONDS):
            return self._server.name

    def send(self, sender: str, recipient: str, content: bytes) -> None:
        """Send a mail.

        Raises NeverSent (certainly not sent, and later it may work), Refused (it never will), and
        Unavailable if the server had it and did not confirm it.
        """
        began, is_silent = self._begin(), False
        try:
            with self._opened(STEP_SECONDS, self._total) as (smtp, password):
                self._send(smtp, password, sender, recipient, content)
        except NeverSent as error:
            is_silent = self._time() - began >= _SLOW
            error.retry_after = max(error.retry_after, SILENCE if is_silent else 0)
            raise
        except Unavailable:
            is_silent = self._time() - began >= _SLOW
            raise
        finally:
            self._silent_until = self._time() + SILENCE if is_silent else 0.0

    def _begin(self) -> float:
        """Return the time; raises NeverSent while a server that lets us wait is left alone."""
        now = self._time()
        if now < self._silent_until:
            left = self._silent_until - now
            text = f"SMTP server {self._server.name} did not answer before, and is left alone"
            raise NeverSent(text, retry_after=left)
        if self._silent_until:
            # One asks again; the others wait for what comes of it.
            self._silent_until = now + SILENCE
        return now

    def _send(
        self, smtp: smtplib.SMTP, password: str, sender: str, recipient: str, content: bytes
    ) -> None:
        self._step(smtp.mail(sender), password)
        self._step(smtp.rcpt(quote_email_address(recipient)), password)
        code, told = smtp.docmd("DATA")
        if code != _GO_ON:
            raise self._error(code, told, password)
        if smtp.sock is not None:
            smtp.sock.settimeout(SECONDS)
        try:
            smtp.send(_as_data(content))
            answer = smtp.getreply()
        except (smtplib.SMTPException, OSError) as error:
            name = type(error).__name__
            raise Unavailable(
                f"SMTP server {self._server.name} did not confirm a mail: {name}",
                cure="look whether it arrived",
            ) from None
        if answer[0] // 100 not in _ANSWERS:
            words = words_of_mail_server(answer[1], password)
            raise Unavailable(
                f"SMTP server {self._server.name} answered a mail with no known code: {words}",
                cure="look whether it arrived",
            )
        self._step(answer, password)

    @contextmanager
    def _opened(self, seconds: float, total: float) -> Iterator[tuple[smtplib.SMTP, str]]:
        """Connect and sign in; what is done with the connection is within the same time."""
        password, limit = self._passwords.token(), TimeLimit()
        smtp: smtplib.SMTP | None = None
        try:
            with limit.within(total):
                smtp = self._connected(seconds, limit)
                self._secure(smtp)
                self._sign_in(smtp, password)
                yield smtp, password
                with suppress(smtplib.SMTPException, OSError):
                    smtp.quit()
        except smtplib.SMTPResponseException as error:
            raise self._error(error.smtp_code, error.smtp_error, password) from None
        except (smtplib.SMTPException, OSError, ValueError) as error:
            words = words_of_mail_server(error, password)
            name = type(error).__name__
            raise NeverSent(f"SMTP server {self._server.name} failed: {name}: {words}") from None
        finally:
            if smtp is not None:
                smtp.close()
            limit.close()

    def _connected(self, seconds: float, limit: TimeLimit) -> smtplib.SMTP:
        host, port = self._server.host, self._server.port
        if self._server.is_tls:
            return _SmtpTls(limit, host, port, _ME, timeout=seconds, context=self._context())
        return _Smtp(limit, host, port, _ME, timeout=seconds)

    def _secure(self, smtp: smtplib.SMTP) -> None:
        server = self._server
        if server.is_tls:
            return
        smtp.ehlo()
        if smtp.has_extn("starttls"):
            smtp.starttls(context=self._context())
        elif not server.may_be_plain:
            raise Refused(f"SMTP server {server.name} offers no encryption", cure="use smtps://")

    def _sign_in(self, smtp: smtplib.SMTP, password: str) -> None:
        smtp.ehlo_or_helo_if_needed()
        if self._server.may_be_plain and not smtp.has_extn("auth"):
            return
        try:
            if "PLAIN" in smtp.esmtp_features.get("auth", "").split():
                # One try: `login` goes on with other ways, and servers count what fails.
                smtp.user, smtp.password = self._user, password
                code, told = smtp.auth("PLAIN", smtp.auth_plain)
                self._step((code, told), password)
            else:
                smtp.login(self._user, password)
        except smtplib.SMTPAuthenticationError as error:
            self._passwords.forget()
            if error.smtp_code < _REFUSED:
                raise
            words = words_of_mail_server(error.smtp_error, password)
            raise Refused(
                f"SMTP server {self._server.name} refused the sign-in: {words}",
                cure="store the mailbox's password, or an app password, as EMAIL_PASSWORD",
            ) from None

    def _step(self, answer: tuple[int, bytes], password: str) -> None:
        code, told = answer
        if code // 100 != _OK:
            raise self._error(code, told, password)

    def _error(self, code: int, told: object, password: str) -> OpenCrabError:
        words = words_of_mail_server(told, password)
        text = f"SMTP server {self._server.name} answered {code}: {words}"
        if code >= _REFUSED:
            return Refused(text, cure="correct what the server names; it is not sent again")
        return NeverSent(text, retry_after=PAUSE)


def _as_data(content: bytes) -> bytes:
    """Return a mail as DATA carries it: CRLF, dots doubled, and the line that ends it."""
    lines = re.sub(rb"\r\n|\r|\n", b"\r\n", content)
    whole = lines if lines.endswith(b"\r\n") else lines + b"\r\n"
    return re.sub(rb"(?m)^\.", b"..", whole) + b".\r\n"
