"""Lays out the roots of trust as OpenSSL looks them up: a cold start reads only those it needs.

`python roots.py FOLDER`, the folder that holds certifi. A bundle is parsed whole, some 140
certificates, at each cold start; of a folder OpenSSL opens the files that are named after the hash
of the name it looks for (X509_NAME_hash): SHA-1 of the name with its texts in lower case.
"""

import base64
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

TEXTS = {0x0C, 0x13, 0x14, 0x16, 0x1A, 0x1C, 0x1E}
"""ASN.1's kinds of texts; OpenSSL takes all of them for UTF-8 before it compares."""

WIDE = {0x1C: "utf-32-be", 0x1E: "utf-16-be", 0x14: "latin-1"}
SEQUENCE, SET, OBJECT, UTF8, VERSION = 0x30, 0x31, 0x06, 0x0C, 0xA0
LONG = 0x80
"""The mark of a length that has bytes of its own."""

_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"


def lay_out(certifi: Path) -> None:
    """Write `roots` beside certifi's bundle, a file for each certificate."""
    folder = certifi / "roots"
    folder.mkdir()
    for certificate in certificates((certifi / "cacert.pem").read_text(encoding="utf-8")):
        name = name_hash(subject(certificate))
        number = sum(1 for _ in folder.glob(f"{name}.*"))
        text = base64.encodebytes(certificate).decode()
        (folder / f"{name}.{number}").write_text(f"{_BEGIN}\n{text}{_END}\n", encoding="utf-8")


def certificates(bundle: str) -> Iterator[bytes]:
    """The certificates of a bundle, in DER."""
    for part in bundle.split(_BEGIN)[1:]:
        yield base64.b64decode(part.partition(_END)[0])


def subject(certificate: bytes) -> bytes:
    """The parts of the name of whom a certificate is about."""
    ((_, whole),) = elements(certificate)
    (_, told), *_ = elements(whole)
    parts = [each for each in elements(told) if each[0] != VERSION]
    # Serial number, algorithm, issuer, validity, subject.
    return parts[4][1]


def name_hash(name: bytes) -> str:
    """A name's hash, as files of such a folder are called."""
    canonical = b"".join(
        element(
            SET,
            b"".join(element(SEQUENCE, _canonical(pair)) for _, pair in elements(part)),
        )
        for _, part in elements(name)
    )
    digest = hashlib.sha1(canonical, usedforsecurity=False).digest()
    return f"{int.from_bytes(digest[:4], 'little'):08x}"


def elements(content: bytes) -> Iterator[tuple[int, bytes]]:
    """The elements of DER that follow one another: the kind of each, and what is in it."""
    at = 0
    while at < len(content):
        kind, length = content[at], content[at + 1]
        at += 2
        if length & LONG:
            size = length - LONG
            length = int.from_bytes(content[at : at + size], "big")
            at += size
        yield kind, content[at : at + length]
        at += length


def element(kind: int, content: bytes) -> bytes:
    """One element of DER."""
    size = len(content)
    if size < LONG:
        return bytes((kind, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((kind, LONG | len(length))) + length + content


def _canonical(pair: bytes) -> bytes:
    """An attribute of a name with its text as UTF-8, in lower case, its spaces single."""
    (_, attribute), (kind, value) = elements(pair)
    if kind in TEXTS:
        text = value.decode(WIDE.get(kind, "utf-8"))
        lower = "".join(each.lower() if each.isascii() else each for each in text)
        kind, value = UTF8, " ".join(lower.split()).encode()
    return element(OBJECT, attribute) + element(kind, value)


if __name__ == "__main__":
    lay_out(Path(sys.argv[1]) / "certifi")
