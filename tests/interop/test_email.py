"""Our mailbox and post with servers that nobody here wrote: pymap (IMAP) and aiosmtpd (SMTP)."""

import imaplib
import json
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from threading import Event, Timer
from typing import IO, Any, cast

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from opencrab.adapters.email.channel import EmailChannel
from opencrab.adapters.email.link import EmailLink
from opencrab.adapters.email.mailbox import ImapMailbox
from opencrab.adapters.email.post import SmtpPost
from opencrab.adapters.email.server import MailServer, mail_tls_context
from opencrab.adapters.system_clock import SystemClock
from opencrab.domain.errors import NeverSent, Refused, Unavailable
from opencrab.domain.value import Language
from opencrab.ports.conversation.channel import DeliveryChannel
from opencrab.ports.conversation.chat_link import ChatLink
from tests.conftest import ROOT
from tests.contract.homes import HOMES
from tests.crash.outside import Reply
from tests.e2e.email_house import EmailHouse
from tests.email.fake import ADDRESS, written
from tests.unit.adapters.email.speaking import Passwords

PASSWORD = "pass-word-5"
SERVER = Path(__file__).with_name("smtp_server.py")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@dataclass
class Servers:
    """Two servers that run, with a certificate of their own making."""

    imap: MailServer
    smtp: MailServer
    certificate: Path
    said: IO[str]

    def trust(self) -> ssl.SSLContext:
        """Our rules, with this certificate as an authority."""
        context = mail_tls_context()
        context.load_verify_locations(self.certificate)
        return context

    def mailbox(self, password: str = PASSWORD) -> ImapMailbox:
        return ImapMailbox(self.imap, ADDRESS, Passwords(password), context=self.trust)

    def post(self, password: str = PASSWORD) -> SmtpPost:
        return SmtpPost(self.smtp, ADDRESS, Passwords(password), self.trust)

    def arrives(self, content: bytes) -> None:
        """A mail arrives, by another client."""
        with imaplib.IMAP4(self.imap.host, self.imap.port, timeout=30) as other:
            other.starttls(self.trust())
            other.login(ADDRESS, PASSWORD)
            status, told = other.append("INBOX", "", "", content)
            assert status == "OK", told


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return cast(int, found.getsockname()[1])


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for this machine, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = SystemClock().now()
    names = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "cert.pem", folder / "key.pem"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    paths[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, *form))
    return paths


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    environment = ROOT / ".venv-mail"
    if not (environment / ".ready").is_file():
        pytest.skip("pymap and aiosmtpd are not installed: run `make setup`")
    programs = environment / "bin"
    cert, key = certificate(tmp_path_factory.mktemp("tls"))
    imap, smtp = free_port(), free_port()
    pymap = [
        *(str(programs / "pymap"), "--host", "127.0.0.1", "--port", str(imap)),
        *("--cert", str(cert), "--key", str(key), "--no-service", "admin", "dict"),
        *("--demo-user", ADDRESS, "--demo-password", PASSWORD),
    ]
    asked = {"port": smtp, "cert": str(cert), "key": str(key), "user": ADDRESS}
    with (
        subprocess.Popen(pymap, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as mailbox,
        subprocess.Popen(
            [str(programs / "python"), str(SERVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as post,
    ):
        assert post.stdin is not None
        assert post.stdout is not None
        post.stdin.write(json.dumps(asked | {"password": PASSWORD}) + "\n")
        post.stdin.flush()
        assert post.stdout.readline() == "ready\n"
        listens(imap)
        one, other = (MailServer("127.0.0.1", port, is_tls=False) for port in (imap, smtp))
        yield Servers(one, other, cert, post.stdout)
        mailbox.terminate()
        post.stdin.close()


def listens(port: int) -> None:
    """Wait until somebody listens."""
    never = Event()
    for _ in range(600):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 5):
            return
        never.wait(0.1)
    raise AssertionError("pymap does not listen")


def test_mails_are_read_from_pymap_and_news_are_told(servers: Servers) -> None:
    servers.arrives(written("ひとつ 🦀", number=1))
    with servers.mailbox().opened() as opened:
        assert opened.has_idle
        first = opened.next_uid - 1
        found = opened.fetch(first)
        assert found is not None
        sent = written("ひとつ 🦀", number=1)
        assert found.content.replace(b"\r\n", b"\n") == sent.replace(b"\r\n", b"\n")
        assert found.arrived is not None
        assert abs(SystemClock().now() - found.arrived) < timedelta(days=1)
        assert opened.uids_from(first + 1) == ()
        assert first in opened.uids_since(SystemClock().now().date() - timedelta(days=2))
        later = Timer(0.3, servers.arrives, (written("two", number=2),))
        later.start()
        assert opened.wait(60)
        later.join()
        assert opened.uids_from(first + 1) == (first + 1,)
        opened.mark_read(first)
        assert opened.fetch(9_999) is None
    with servers.mailbox().opened() as again:
        assert (again.uidvalidity, again.next_uid) == (opened.uidvalidity, first + 2)


def test_an_answer_of_an_agent_reaches_aiosmtpd_encrypted(servers: Servers, tmp_path: Path) -> None:
    house = RealHouse(servers, tmp_path)
    house.agent("kani", (Reply(text="**はい**、蟹です 🦀\n.\n..点"),), Language.JA)
    house.name_agent("kani")
    servers.arrives(written("元気?", number=7))
    assert house.poll() == house.poll() == 200
    house.rest()
    told: Any = json.loads(servers.said.readline())
    assert (told["from"], told["to"], told["tls"]) == (ADDRESS, ["taro@example.net"], True)
    assert told["text"].splitlines() == ["はい、蟹です 🦀", ".", "..点"]
    assert (told["subject"], told["automatic"]) == ("Re: 相談", "auto-replied")
    assert (told["in_reply_to"], told["defects"]) == ("<m7@mail.example.net>", [])
    # It answers in the same thread, which the other side need not understand.
    reply = written("それで?", number=8, In_Reply_To=told["message_id"], subject="Re: 相談")
    servers.arrives(reply)
    assert house.poll() == 200
    house.rest()
    assert json.loads(servers.said.readline())["in_reply_to"] == "<m8@mail.example.net>"
    assert len(house.home.sessions.page(after=None, limit=9)) == 1
    house.close()


def test_wrong_passwords_strange_certificates_and_unknown_users_are_told(servers: Servers) -> None:
    with pytest.raises(Refused, match="refused the sign-in"), servers.mailbox("x").opened():
        pass
    with pytest.raises(Refused, match="refused the sign-in"):
        servers.post("x").check()
    with pytest.raises(Refused, match="no such user"):
        servers.post().send(ADDRESS, "nobody@example.net", b"a: b\n\nx")
    untrusted = ImapMailbox(servers.imap, ADDRESS, Passwords(PASSWORD))
    with pytest.raises(Unavailable, match="CERTIFICATE_VERIFY_FAILED"), untrusted.opened():
        pass
    with pytest.raises(NeverSent, match="CERTIFICATE_VERIFY_FAILED"):
        SmtpPost(servers.smtp, ADDRESS, Passwords(PASSWORD)).check()


class RealHouse(EmailHouse):
    """A house beside these servers instead of the fake."""

    def __init__(self, servers: Servers, folder: Path) -> None:
        self.servers = servers
        super().__init__(HOMES[0], folder)

    def connected(self) -> tuple[DeliveryChannel, ChatLink]:
        self.mailbox, post = self.servers.mailbox(), self.servers.post()
        facts = self.runtime.home.facts
        return EmailChannel(post, facts), EmailLink(self.mailbox, post, facts, self.rules)
