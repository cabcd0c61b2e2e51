"""Addresses of mail servers in the settings: encrypted everywhere but on this machine."""

import ssl

import pytest

from opencrab.adapters.email.mailbox import ImapMailbox
from opencrab.adapters.email.post import SmtpPost
from opencrab.adapters.email.server import (
    CHECK_SECONDS,
    MailServer,
    mail_tls_context,
    parse_mail_server,
    words_of_mail_server,
)
from opencrab.domain.errors import Invalid, OpenCrabError, Refused
from opencrab.gateways.cli.connection.client import SECONDS
from tests.unit.adapters.email.speaking import Passwords, talk


@pytest.mark.parametrize(
    ("url", "setting", "server"),
    [
        ("imaps://imap.Example.org", "x.imap", MailServer("imap.example.org", 993, is_tls=True)),
        ("imap://h:1143/", "x.imap", MailServer("h", 1143, is_tls=False)),
        ("smtps://h", "x.smtp", MailServer("h", 465, is_tls=True)),
        ("smtp://[::1]:25", "x.smtp", MailServer("::1", 25, is_tls=False)),
    ],
)
def test_an_address_has_a_scheme_a_host_and_a_usual_port(
    url: str, setting: str, server: MailServer
) -> None:
    assert parse_mail_server(url, setting) == server


@pytest.mark.parametrize(
    "url",
    [
        *("", "smtps://h", "imaps://", "imaps://me:pass-9@h", "imaps://h:x", "imaps://h/x"),
        *("imaps://é.jp", "http://h", "imaps://h?x"),
    ],
)
def test_anything_else_is_invalid_and_quoted_nowhere(url: str) -> None:
    with pytest.raises(Invalid, match=r"gateway\.email\.imap") as error:
        parse_mail_server(url, "gateway.email.imap")
    assert "pass-9" not in f"{error.value.message} {error.value.cure}"


def test_certificates_are_verified_and_words_are_short_and_without_the_password() -> None:
    context = mail_tls_context()
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    told = words_of_mail_server(b"no\r\n\x1b[31m pass-9 " + b"x " * 900, "pass-9")
    assert told.startswith("no [31m … x")
    assert len(told) <= 300
    assert words_of_mail_server(b"BAD AGNyYWJAZXhhbXBsZS5vcmcAcGFzcy05 is unknown", "") == (
        "BAD … is unknown"
    )


@pytest.mark.parametrize(
    "password", ['a"b\\c-secret', "it's-secret", "pass-secret", "\\'\"-secret"]
)
def test_no_form_in_which_a_password_is_written_is_said(password: str) -> None:
    quoted = password.replace("\\", "\\\\").replace('"', '\\"')
    line = f'BAD unknown: LOGIN me "{quoted}"'.encode()
    for told in (line, f"LOGIN command error: BAD {[line]}", password):
        assert "secret" not in words_of_mail_server(told, password)


def test_no_password_goes_to_another_machine_without_encryption() -> None:
    class Elsewhere(MailServer):
        may_be_plain = False

    with talk() as here:
        (imap, smtp) = (each._server for each in (here.mailbox, here.post))
        for server, use in (
            (imap, lambda each: ImapMailbox(each, "u", Passwords()).opened().__enter__()),
            (smtp, lambda each: SmtpPost(each, "u", Passwords()).check()),
        ):
            with pytest.raises(Refused, match="offers no encryption"):
                use(Elsewhere(server.host, server.port, is_tls=False))
            with pytest.raises(OpenCrabError, match="SSL"):
                use(Elsewhere(server.host, server.port, is_tls=True))


def test_the_doctor_tells_of_two_silent_servers_while_somebody_waits_for_it() -> None:
    assert 2 * CHECK_SECONDS < SECONDS - 1
