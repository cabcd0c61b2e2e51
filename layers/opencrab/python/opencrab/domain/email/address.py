"""Addresses of e-mail, and the ids by which their owners, conversations and mails are known.

An address that the receiving server did not verify is another person than the same one verified.
"""

import hashlib
import re
import unicodedata

from opencrab.domain.value import value_with_surrogates_joined

EMAIL = "email"
"""The kind of the channel."""

_LOCAL = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
_DOMAIN = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}))*"
_ADDRESS = re.compile(rf"{_LOCAL}@{_DOMAIN}", re.ASCII)
_CARRIER = re.compile(
    r'(?P<quote>"?)(?P<local>[A-Za-z0-9._/+-]+)(?P=quote)'
    r"@(?P<domain>(?:docomo\.ne|ezweb\.ne)\.jp|au\.com)",
    re.ASCII | re.IGNORECASE,
)
"""Addresses with dots anywhere, which Japanese carriers gave out and no RFC allows unquoted."""

_NAMED = re.compile(r'((?:"(?:[^"\\]|\\.)*"|[^<>",])*)<\s*([^<>\s]+)\s*>\s*(?:\([^()]*\)\s*)?')
_BARE = re.compile(r"\s*([^<>\s()]+)\s*(?:\(([^()]*)\)\s*)?")
_FOUND = re.compile(rf"(?<![A-Za-z0-9!#$%&'*+/=?^_`{{|}}~.-]){_LOCAL}@{_DOMAIN}", re.ASCII)
MOST_ADDRESS = 254
"""Characters of an address."""

_LONGEST_LOCAL, _LONGEST_HEADER = 64, 2_000


def normalize_email_address(text: str) -> str | None:
    """Return an address in lower case; None for what is none, and for kinds that nobody uses.

    Quoted local parts, numbers in brackets and letters beyond ASCII are not taken, except what
    carriers in Japan gave out, such as `taro..y@docomo.ne.jp`: that is returned without quotes.
    """
    address = text.strip()
    if len(address) > MOST_ADDRESS:
        return None
    if carrier := _CARRIER.fullmatch(address):
        address = f"{carrier['local']}@{carrier['domain']}"
    elif _ADDRESS.fullmatch(address) is None:
        return None
    return address.lower() if len(address.partition("@")[0]) <= _LONGEST_LOCAL else None


def quote_email_address(address: str) -> str:
    """Return a normalized address as RFC 5321 writes it: a local part with odd dots in quotes."""
    local, _, domain = address.rpartition("@")
    return address if _ADDRESS.fullmatch(address) else f'"{local}"@{domain}'


def email_domain(address: str) -> str:
    """Return the domain of an address."""
    return address.rpartition("@")[2]


def parse_email_sender(header: str) -> tuple[str, str] | None:
    """Return the raw name and the address of a From header, None unless it is exactly one.

    What mail programs understand differently is not guessed at.
    """
    if len(header) > _LONGEST_HEADER:
        return None
    line = re.sub(r"[\r\n]+(?=[ \t])", "", header)
    found = _NAMED.fullmatch(line)
    name, text = (found[1], found[2]) if found else ("", "")
    if found is None:
        bare = _BARE.fullmatch(line)
        name, text = (bare[2] or "", bare[1]) if bare else ("", "")
    address = normalize_email_address(text)
    if address is None:
        return None
    return re.sub(r"\\(.)", r"\1", name.strip().strip('"')), address


def email_addresses_in_header(header: str) -> tuple[str, ...]:
    """Return all that looks like an address in a header of recipients."""
    found = (normalize_email_address(each) for each in _FOUND.findall(header[:20_000]))
    return tuple(dict.fromkeys(each for each in found if each is not None))


def email_person_id(address: str, *, verified: bool) -> str:
    """Return the id of the person at an address: 32 hexadecimal digits."""
    return _digest(32, address if verified else f"unverified\n{address}")


def email_room_id(person_id: str, alias: str, thread: str) -> str:
    """Return the id of a conversation: a person's, with one address of ours, in one thread.

    Whoever names a thread of somebody else so has one of their own.
    """
    return f"{person_id}.{_digest(8, alias)}.{thread}"


def email_thread_id(root: str) -> str:
    """Return the id of a thread by the Message-ID of its first mail: 16 hexadecimal digits."""
    return _digest(16, root)


def email_event_id(person_id: str, *parts: str) -> str:
    """Return the id of a mail by what it is: the same however often, and wherever, it is read."""
    return f"{person_id}.{_digest(24, *parts)}"


def one_line_of_email(text: str, most: int) -> str:
    """Return a header's text as one line without control and direction characters."""
    whole = value_with_surrogates_joined(text)
    shown = "".join(
        " " if each.isspace() else each
        for each in whole
        if each.isspace() or not unicodedata.category(each).startswith("C")
    )
    line = unicodedata.normalize("NFC", " ".join(shown.split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _digest(length: int, *parts: str) -> str:
    told = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(told).hexdigest()[:length]
