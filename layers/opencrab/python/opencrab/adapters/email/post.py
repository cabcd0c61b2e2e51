"""Post: one mail to one address over SMTP; its errors say whether the mail may have left."""

import re
import smtplib
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from opencrab.adapters.email.server import (
    SECONDS,
    EmailPasswords,
    MailServer,
    mail_tls_context,
    words_of_mail_server,
)
from opencrab.domain.errors import NeverSent, OpenCrabError, Refused, Unavailable

PAUSE = 120.0
"""Seconds after which a server that said "later" is asked again: greylisting takes minutes."""

_ME = "[127.0.0.1]"
_OK, _GO_ON, _REFUSED = 2, 354, 500
_ANSWERS = frozenset({2, 4, 5})
"""The first digits by which a server says whether it took a mail."""


class SmtpPost:
    """A server that sends mails for a mailbox; each is sent over a connection of its own."""

    def __init__(
        self,
        server: MailServer,
        user: str,
        passwords: EmailPasswords,
        context: Callable[[], ssl.SSLContext] = mail_tls_context,
    ) -> None:
        self._server = server
        self._user = user
        self._passwords = passwords
        self._context = context

    def check(self) -> str:
        """Connect and sign in, and send nothing; returns host and port."""
        with self._opened():
            return self._server.name

    def send(self, sender: str, recipient: str, content: bytes) -> None:
        """Send a mail.

        Raises NeverSent (certainly not sent, and later it may work), Refused (it never will), and
        Unavailable if the server had it and did not confirm it.
        """
        with self._opened() as (smtp, password):
            self._step(smtp.mail(sender), password)
            self._step(smtp.rcpt(recipient), password)
            code, told = smtp.docmd("DATA")
            if code != _GO_ON:
                raise self._error(code, told, password)
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
    def _opened(self) -> Iterator[tuple[smtplib.SMTP, str]]:
        password = self._passwords.token()
        smtp: smtplib.SMTP | None = None
        try:
            smtp = self._connected()
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

    def _connected(self) -> smtplib.SMTP:
        server = self._server
        if server.is_tls:
            context = self._context()
            return smtplib.SMTP_SSL(server.host, server.port, _ME, timeout=SECONDS, context=context)
        return smtplib.SMTP(server.host, server.port, _ME, SECONDS)

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
