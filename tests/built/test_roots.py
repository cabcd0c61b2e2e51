"""The layer's folder of roots: OpenSSL finds a root there by the name of who signed."""

import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType

import certifi
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.name import _ASN1Type as Kind
from cryptography.x509.oid import NameOID

from tests.built.programs import program

NAMES = {
    "plain": [(NameOID.COMMON_NAME, "Crab Root", Kind.UTF8String)],
    "printable": [(NameOID.COMMON_NAME, "Crab  ROOT  X1 ", Kind.PrintableString)],
    "wide": [(NameOID.ORGANIZATION_NAME, "蟹の認証局", Kind.BMPString)],
    "japanese": [
        (NameOID.COUNTRY_NAME, "JP", Kind.PrintableString),
        (NameOID.ORGANIZATION_NAME, "蟹の認証局 ÀÉ", Kind.UTF8String),
        (NameOID.COMMON_NAME, "Root " + "x" * 50, Kind.UTF8String),
    ],
}
SERVER, STRANGER = (
    x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in ("server", "stranger")
)


@pytest.fixture(scope="module")
def roots() -> ModuleType:
    return program("roots")


@pytest.fixture
def laid_out(roots: ModuleType, tmp_path: Path) -> Callable[..., Path]:
    """Makes the folder of a bundle of these certificates."""

    def make(*certificates: x509.Certificate) -> Path:
        encoded = (each.public_bytes(serialization.Encoding.PEM) for each in certificates)
        (tmp_path / "cacert.pem").write_bytes(b"# A label\n".join(encoded))
        roots.lay_out(tmp_path)
        return tmp_path / "roots"

    return make


def certificate(
    key: ec.EllipticCurvePrivateKey, issuer: x509.Name, subject: x509.Name
) -> x509.Certificate:
    """Signed by this key, which is the subject's own as well."""
    now = datetime.now(UTC)  # noqa: TID251 - OpenSSL asks the real clock
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False
        )
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("crab.example")]), critical=False)
        .sign(key, hashes.SHA256())
    )


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_openssl_finds_a_root_by_its_name(
    laid_out: Callable[..., Path],
    tmp_path: Path,
    name: list[tuple[x509.ObjectIdentifier, str, Kind]],
) -> None:
    key, other = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    root = x509.Name([x509.NameAttribute(oid, text, kind) for oid, text, kind in name])
    folder = laid_out(certificate(other, root, root), certificate(key, root, root))
    assert sorted(path.suffix for path in folder.iterdir()) == [".0", ".1"]
    shake_hands(folder, certificate(key, root, SERVER), key, tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError, match="unable to get local issuer"):
        shake_hands(folder, certificate(key, STRANGER, SERVER), key, tmp_path)


def test_every_root_of_the_bundle_has_its_file(roots: ModuleType) -> None:
    bundle = Path(certifi.where()).read_text(encoding="utf-8")
    names = [roots.name_hash(roots.subject(each)) for each in roots.certificates(bundle)]
    assert len(set(names)) > 100
    assert {len(name) for name in names} == {8}


def shake_hands(
    folder: Path, made: x509.Certificate, key: ec.EllipticCurvePrivateKey, scratch: Path
) -> None:
    """A handshake in memory with a server of this certificate; raises when it is not trusted."""
    path = scratch / "server.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(path)
    asking = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    asking.load_verify_locations(capath=str(folder))
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = asking.wrap_bio(back, there, server_hostname="crab.example")
    server = serving.wrap_bio(there, back, server_side=True)
    done = {client: False, server: False}
    while not all(done.values()):
        for side in done:
            try:
                side.do_handshake()
                done[side] = True
            except ssl.SSLWantReadError:
                continue
