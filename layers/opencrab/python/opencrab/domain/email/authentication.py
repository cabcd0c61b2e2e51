"""The receiving server's verdict on who sent a mail: its Authentication-Results (RFC 8601).

Anybody can write such a header. Only the topmost counts, and only with our server's name: that
server must remove those which came in under its name (RFC 8601, section 5).
"""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum

from opencrab.domain.email.address import email_domain

AUTHENTICATION_RESULTS = "authentication-results"

_METHOD = re.compile(r"\s*([A-Za-z0-9_-]+)(?:\s*/\s*[0-9]+)?\s*=\s*([A-Za-z]+)(?=[\s;]|$)")
_PROPERTY = re.compile(r"(?<!\S)([a-z]+)\s*\.\s*([A-Za-z0-9_-]+)\s*=\s*(\S+)", re.ASCII)
_TOKEN = re.compile(r'\\[\s\S]|"(?:[^"\\]|\\[\s\S])*"|[\s\S]')
_IN_COMMENT = re.compile(r"\\[\s\S]|[\s\S]")
_LONGEST = 8_000


class EmailVerdict(StrEnum):
    """What the receiving server says of a sender's address."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    NONE = "none"


def verdict_of_email_headers(
    headers: Sequence[tuple[str, str]], authserv_id: str, address: str
) -> EmailVerdict:
    """Return whether our server says that the domain of an address sent this mail.

    It does by `dmarc=pass` for that domain; where it tells of no DMARC, by both SPF and DKIM for
    it. Two verdicts in one header are none.
    """
    topmost = next((value for name, value in headers if name == AUTHENTICATION_RESULTS), "")
    if not authserv_id or not topmost or len(topmost) > _LONGEST:
        return EmailVerdict.NONE
    told = _segments(topmost)
    if told is None or not _is_named(told[0], authserv_id):
        return EmailVerdict.NONE
    results = list(_results(told[1:]))
    domain = email_domain(address)
    dmarc = [each for each in results if each[0] == "dmarc"]
    if len(dmarc) > 1:
        return EmailVerdict.NONE
    if dmarc and dmarc[0][1] != "none":
        return _of_dmarc(dmarc[0], domain)
    spf = [each for each in results if each[0] == "spf"]
    is_sent_by = len(spf) == 1 and spf[0][1] == "pass" and _is_aligned(_mail_from(spf[0]), domain)
    is_signed_by = any(
        name == "dkim" and result == "pass" and _is_aligned(_signer(told), domain)
        for name, result, told in results
    )
    return EmailVerdict.PASS if is_sent_by and is_signed_by else EmailVerdict.NONE


def authserv_id_of_headers(headers: Sequence[tuple[str, str]]) -> str:
    """Return the name of the server that wrote the topmost verdict; "" if there is none."""
    topmost = next((value for name, value in headers if name == AUTHENTICATION_RESULTS), "")
    told = _segments(topmost[:_LONGEST])
    words = told[0].split() if told else []
    return words[0][:253] if words else ""


_Result = tuple[str, str, dict[str, str]]


def _of_dmarc(dmarc: _Result, domain: str) -> EmailVerdict:
    _, result, told = dmarc
    if result != "pass":
        return EmailVerdict.FAIL if result == "fail" else EmailVerdict.NONE
    return EmailVerdict.PASS if told.get("header.from") == domain else EmailVerdict.NONE


def _is_named(segment: str, authserv_id: str) -> bool:
    words = segment.split()
    return bool(words) and words[0].casefold() == authserv_id.casefold()


def _results(segments: Sequence[str]) -> Iterator[_Result]:
    for each in segments:
        found = _METHOD.match(each)
        if found is None:
            continue
        told: dict[str, str] = {}
        for kind, name, value in _PROPERTY.findall(each[found.end() :]):
            # A property that is told twice is not believed.
            key = f"{kind}.{name}".lower()
            told[key] = "" if key in told else value.strip('"').lower()
        yield found[1].lower(), found[2].lower(), told


def _mail_from(result: _Result) -> str:
    return email_domain(result[2].get("smtp.mailfrom", ""))


def _signer(told: dict[str, str]) -> str:
    return told.get("header.d") or email_domain(told.get("header.i", ""))


def _is_aligned(domain: str, wanted: str) -> bool:
    """Check whether a domain is the wanted one, or one above it."""
    return "." in domain and (wanted == domain or wanted.endswith(f".{domain}"))


def _segments(header: str) -> list[str] | None:
    """Split a header at its semicolons, without comments; None if a quote or comment is open.

    What stands in quotes loses its spaces and semicolons, so that it is never read as more.
    """
    bare, depth, at = "", 0, 0
    while found := (_IN_COMMENT if depth else _TOKEN).match(header, at):
        piece, at = found[0], found.end()
        depth += (piece == "(") - (piece == ")")
        if depth < 0:
            return None
        if not depth:
            bare += re.sub(r'[\s;="\\]', "", piece) if len(piece) > 1 else piece.replace(")", " ")
    return None if depth or '"' in bare else bare.split(";")
