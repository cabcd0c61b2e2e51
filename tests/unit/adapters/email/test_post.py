"""Sending over SMTP: each error says whether the mail may have left."""

import pytest

from opencrab.adapters.email.post import PAUSE, SILENCE, SmtpPost
from opencrab.adapters.email.rendering import compose_email_reply
from opencrab.adapters.email.server import MailServer
from opencrab.domain.errors import NeverSent, OpenCrabError, Refused, Unavailable
from tests.contract.example import NOW
from tests.discord.faults import Drop, Limited
from tests.email.fake import ADDRESS, OWNER, PASSWORD
from tests.unit.adapters.email.speaking import LETTER, Passwords, Talk, dripping, talk

DOTS = ".\n..a\n\n.b\nend"
MAIL = compose_email_reply(LETTER, DOTS, "<1@example.org>", NOW)


def failed(here: Talk) -> OpenCrabError:
    """The error of sending the mail."""
    with pytest.raises(OpenCrabError) as error:
        here.post.send(ADDRESS, OWNER, MAIL)
    return error.value


def test_a_mail_arrives_as_it_was() -> None:
    with talk() as here:
        here.post.send(ADDRESS, OWNER, MAIL)
        plain = b"From: crab@example.org\nTo: taro@example.net\nMessage-ID: <2@x>\n"
        here.post.send(ADDRESS, OWNER, plain + b"Auto-Submitted: auto-replied\n\n.\n..\n.a")
        ((first, second),) = {tuple(each) for each in here.mail.shown.values()}
        assert (first.text, second.text) == (DOTS, ".\n..\n.a")
        assert here.mail.complaints == []
        assert here.post.check().startswith("127.0.0.1:")


def test_an_address_with_odd_dots_is_quoted_for_the_server() -> None:
    address = "taro..y@docomo.ne.jp"
    content = compose_email_reply(LETTER.replaced(address=address), "やあ", "<1@example.org>", NOW)
    with talk() as here:
        here.post.send(ADDRESS, address, content)
        assert {len(each) for each in here.mail.shown.values()} == {1}
        assert here.mail.complaints == []


@pytest.mark.parametrize("command", ["MAIL", "RCPT", "DATA", "END"])
def test_later_is_certainly_not_sent_and_never_is_refused(command: str) -> None:
    with talk() as here:
        here.mail.refusals[command] = b"450 4.2.0 greylisted \xff"
        error = failed(here)
        assert isinstance(error, NeverSent)
        assert error.retry_after == PAUSE
        here.mail.refusals[command] = b"550 5.1.1 no such user"
        refused = failed(here)
        assert isinstance(refused, Refused)
        assert "550: 5.1.1 no such user" in refused.message
        assert here.mail.shown == {}


def test_only_what_was_not_confirmed_may_have_been_sent() -> None:
    with talk() as here:
        here.mail.faults.plan("MAIL", Drop())
        assert isinstance(failed(here), NeverSent)
        here.mail.faults.plan("MAIL", Limited())
        assert isinstance(failed(here), NeverSent)
        here.mail.faults.plan("MAIL", Drop("after"))
        error = failed(here)
        assert isinstance(error, Unavailable)
        assert not isinstance(error, NeverSent)
    gone = SmtpPost(MailServer("127.0.0.1", 9, is_tls=False), ADDRESS, Passwords())
    with pytest.raises(NeverSent):
        gone.send(ADDRESS, OWNER, MAIL)


def test_a_server_that_lets_us_wait_is_left_alone_for_a_while() -> None:
    """Four workers deliver for all channels: mails to a silent server may not take them all."""
    now = [0.0]

    class Slow(Passwords):
        seconds = 10.0

        def token(self) -> str:
            now[0] += self.seconds
            return super().token()

    with talk() as here:
        passwords = Slow()
        gone = MailServer("127.0.0.1", 9, is_tls=False)
        post = SmtpPost(gone, ADDRESS, passwords, time=lambda: now[0])
        retries = []
        for _ in range(3):
            with pytest.raises(NeverSent) as error:
                post.send(ADDRESS, OWNER, MAIL)
            retries.append(error.value.retry_after)
        # Only the first one waited.
        assert (now[0], retries) == (10, [SILENCE] * 3)
        passwords.seconds, post._server = 0.0, here.post._server
        now[0] += SILENCE - 1
        with pytest.raises(NeverSent, match="is left alone") as error:
            post.send(ADDRESS, OWNER, MAIL)
        assert error.value.retry_after == 1
        now[0] += 1
        for _ in range(2):
            post.send(ADDRESS, OWNER, MAIL)
        # What fails at once takes nobody's time.
        post._server = gone
        for _ in range(2):
            with pytest.raises(NeverSent, match="failed: ConnectionRefusedError") as error:
                post.send(ADDRESS, OWNER, MAIL)
            assert not error.value.retry_after


@pytest.mark.parametrize("greeting", [b"", b"220 ready\r\n"])
def test_a_server_that_drips_bytes_has_no_mail_and_is_left(greeting: bytes) -> None:
    with dripping(greeting) as port:
        here = MailServer("127.0.0.1", port, is_tls=False)
        post = SmtpPost(here, ADDRESS, Passwords(), total=0.3)
        with pytest.raises(NeverSent, match="too slow"):
            post.send(ADDRESS, OWNER, MAIL)


def test_a_server_that_drips_after_it_has_the_mail_may_have_sent_it() -> None:
    with talk() as here:
        here.mail.drips, here.post._time = True, lambda: 0.0
        # On a slow machine the first times may be over before the mail is there.
        errors = list[OpenCrabError]()
        for here.post._total in (0.5, 2.0, 8.0, 32.0):
            errors.append(failed(here))
            if not isinstance(errors[-1], NeverSent):
                break
        assert isinstance(errors[-1], Unavailable)
        assert not isinstance(errors[-1], NeverSent)


@pytest.mark.parametrize("answer", [b"OK queued as 9", b"354 go on", b"25"])
def test_an_answer_without_a_known_code_may_mean_that_it_was_sent(answer: bytes) -> None:
    with talk() as here:
        here.mail.refusals["END"] = answer
        error = failed(here)
        assert isinstance(error, Unavailable)
        # Else it would be sent eight times.
        assert not isinstance(error, NeverSent)


def test_a_refused_password_is_forgotten_and_in_no_error() -> None:
    with talk() as here:
        here.mail.password = "other-7"
        error = failed(here)
        assert isinstance(error, Refused)
        assert "EMAIL_PASSWORD" in str(error.cure)
        assert PASSWORD not in error.message
        assert here.passwords.forgotten == 1
        here.mail.refusals["AUTH"] = b"454 4.7.0 later " + PASSWORD.encode()
        later = failed(here)
        assert isinstance(later, NeverSent)
        assert PASSWORD not in later.message
