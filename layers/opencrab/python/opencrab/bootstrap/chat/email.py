"""E-mail from the settings: our addresses, whose mails are answered, and the two servers."""

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from opencrab.domain.chat.people import ChatPeople
from opencrab.domain.email.address import (
    email_person_id,
    normalize_email_address,
    quote_email_address,
)
from opencrab.domain.errors import Invalid

if TYPE_CHECKING:
    from opencrab.adapters.email.link import EmailLink
    from opencrab.adapters.email.mailbox import ImapMailbox
    from opencrab.adapters.email.post import SmtpPost
    from opencrab.adapters.email.server import EmailPasswords
    from opencrab.domain.email.intake import EmailRules
    from opencrab.ports.conversation.channel import DeliveryChannel
    from opencrab.ports.conversation.file_source import FileSource
    from opencrab.ports.documents import Documents
    from opencrab.settings import Settings

_SETTING = "gateway.email"


def email_people_from_settings(configured: "Settings") -> ChatPeople:
    """Return who is who, by verified address; raises Invalid for a malformed setting."""
    return ChatPeople(
        agent=str(configured.get(f"{_SETTING}.agent")),
        owner_ids=_person_ids(configured, "owner_addresses"),
        user_ids=_person_ids(configured, "user_addresses"),
    )


def email_rules_from_settings(configured: "Settings") -> "EmailRules":
    """Return whose mails are answered; raises Invalid for a malformed setting."""
    from opencrab.domain.email.intake import EmailRules

    return EmailRules(
        aliases={_address(configured): "", **_aliases(configured)},
        authserv_id=str(configured.get(f"{_SETTING}.authserv_id")).strip(),
        answers_unverified=configured.get(f"{_SETTING}.unverified") == "answer",
        most_per_hour=int(configured.get(f"{_SETTING}.most_per_hour")),
    )


def mailbox_name_of_settings(configured: "Settings") -> str:
    """Return the id under which is noted how far the mailbox was read."""
    parts = ("imap", "mailbox")
    told = [_user(configured), *(str(configured.get(f"{_SETTING}.{each}")) for each in parts)]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:32]


def email_link_from_settings(
    configured: "Settings", passwords: "EmailPasswords", facts: "Documents"
) -> "EmailLink":
    """Return the calls to both servers; raises Invalid for a malformed address."""
    from opencrab.adapters.email.link import EmailLink

    mailbox = _mailbox(configured, passwords)
    post = email_post_from_settings(configured, passwords)
    return EmailLink(mailbox, post, facts, email_rules_from_settings(configured))


def email_files_from_settings(configured: "Settings", passwords: "EmailPasswords") -> "FileSource":
    """Return the files of mails, by connections of their own; raises Invalid."""
    from opencrab.adapters.email.files import EmailFiles

    return EmailFiles(_mailbox(configured, passwords), mailbox_name_of_settings(configured))


def _mailbox(configured: "Settings", passwords: "EmailPasswords") -> "ImapMailbox":
    from opencrab.adapters.email.mailbox import ImapMailbox
    from opencrab.adapters.email.server import parse_mail_server

    server = parse_mail_server(str(configured.get(f"{_SETTING}.imap")), f"{_SETTING}.imap")
    folder = str(configured.get(f"{_SETTING}.mailbox"))
    return ImapMailbox(server, _user(configured), passwords, folder)


def email_post_from_settings(configured: "Settings", passwords: "EmailPasswords") -> "SmtpPost":
    """Return what sends mails; raises Invalid for a malformed address."""
    from opencrab.adapters.email.post import SmtpPost
    from opencrab.adapters.email.server import parse_mail_server

    server = parse_mail_server(str(configured.get(f"{_SETTING}.smtp")), f"{_SETTING}.smtp")
    return SmtpPost(server, _user(configured), passwords)


def email_channel_from_settings(
    configured: "Settings", passwords: "EmailPasswords", facts: "Documents"
) -> "DeliveryChannel":
    """Return the channel of e-mail; raises Invalid for a malformed address."""
    from opencrab.adapters.email.channel import EmailChannel

    return EmailChannel(email_post_from_settings(configured, passwords), facts)


def _address(configured: "Settings") -> str:
    name = f"{_SETTING}.address"
    found = _own_address(str(configured.get(name)))
    if found is None:
        raise _fault(name, "the agent's e-mail address")
    return found


def _own_address(text: str) -> str | None:
    """Return one of our addresses; None for one with odd dots, which few write to as they should.

    Mails to it would not be known as ours, and not every server would take those from it.
    """
    found = normalize_email_address(text)
    return found if found is not None and quote_email_address(found) == found else None


def _user(configured: "Settings") -> str:
    return str(configured.get(f"{_SETTING}.user")).strip() or _address(configured)


def _aliases(configured: "Settings") -> Mapping[str, str]:
    """Return the agents of further addresses, from texts such as `mika@example.org=mika`."""
    name, found = f"{_SETTING}.aliases", dict[str, str]()
    for each in configured.get(name) or ():
        local, at, rest = str(each).partition("@")
        domain, is_named, agent = rest.partition("=")
        address = _own_address(f"{local}{at}{domain}")
        if address is None or not is_named or not agent.strip() or address in found:
            raise _fault(name, "a list of ADDRESS=AGENT, each address once")
        found[address] = agent.strip()
    return found


def _person_ids(configured: "Settings", key: str) -> tuple[str, ...]:
    name = f"{_SETTING}.{key}"
    found = [normalize_email_address(str(each)) for each in configured.get(name) or ()]
    if None in found:
        raise _fault(name, "a list of e-mail addresses")
    return tuple(email_person_id(each, verified=True) for each in found if each is not None)


def _fault(name: str, form: str) -> Invalid:
    return Invalid(
        f"{name} must be {form}",
        field=name,
        cure="correct it, as docs/how-to/use-email.md explains",
    )
