"""aiosmtpd as a server that wants encryption and a password; says each mail as a line of JSON."""

import json
import ssl
import sys
from email import message_from_bytes, policy
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult


class Handler:
    """Takes mails, but none for `nobody`."""

    async def handle_RCPT(self, _server: Any, _session: Any, envelope: Any, to: str, _: Any) -> str:  # noqa: N802
        if to.startswith("nobody"):
            return "550 5.1.1 no such user"
        envelope.rcpt_tos.append(to)
        return "250 OK"

    async def handle_DATA(self, _server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        mail = message_from_bytes(envelope.content, policy=policy.default)
        told = {
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "tls": session.ssl is not None,
            "subject": mail["subject"],
            "message_id": mail["message-id"],
            "in_reply_to": mail["in-reply-to"],
            "automatic": mail["auto-submitted"],
            "text": mail.get_content(),
            "defects": [str(each) for each in mail.defects],
        }
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
        return "250 OK"


def main() -> None:
    """Serve until the input ends."""
    asked = json.loads(sys.stdin.readline())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(asked["cert"], asked["key"])

    def authenticate(*given: Any) -> AuthResult:
        known = given[-1]
        right = (known.login.decode(), known.password.decode()) == (
            asked["user"],
            asked["password"],
        )
        return AuthResult(success=right, handled=False)

    controller = Controller(
        Handler(),
        hostname="127.0.0.1",
        port=asked["port"],
        tls_context=context,
        require_starttls=True,
        auth_required=True,
        authenticator=authenticate,
    )
    controller.start()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.read()
    controller.stop()


if __name__ == "__main__":
    main()
