"""What the door of Discord costs, cold and warm, beside one of FastAPI, Mangum and boto3.

`python -m tests.bench.door` builds the layers for this computer and starts both doors again and
again under Lambda's runtime interface emulator. Cold is all CPU of the process until its first
interaction is answered: Python, AWS's runtime, our imports, the TLS context, two TLS connections
and their requests. Warm is what each further interaction adds. AWS and Discord answer over TLS from
this process, which is not counted; the doors trust its certificate beside the real roots.
"""

import http.server
import json
import shutil
import ssl
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from tests.built.programs import program
from tests.conftest import ROOT
from tests.deployed.stack import build
from tests.emulated import runtime

RUNS = 9
WARM_REQUESTS = 100
COLD_MS, WARM_MS = 80, 10
OURS = ROOT / "functions" / "discord_gateway" / "handler.py"
OTHER = ROOT / "tests" / "bench" / "other_door.py"

# Stands where the function's own handler does, and tells what the process has used so far.
MEASURING = """
import importlib.util
import time

spec = importlib.util.spec_from_file_location("measured", {path!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
ready = time.process_time()


def handler(event, context):
    answer = module.handler(event, context)
    return {{"answer": answer, "ready": ready * 1000, "used": time.process_time() * 1000}}
"""

EMPTY = "def handler(event, context):\n    return {'statusCode': 202}\n"


@dataclass(frozen=True)
class Figures:
    """Milliseconds of CPU: ready for the first interaction, done with it, and for each further."""

    init: float
    cold: float
    warm: float


class _Outside(http.server.BaseHTTPRequestHandler):
    """SQS and Discord, as far as the doors ask them."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if "x-amz-target" not in self.headers:
            self.send_response(204)
            self.end_headers()
            return
        content = json.dumps({"MessageId": "m", "SequenceNumber": "1"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        """Nothing."""


class World:
    """The doors' surroundings: what was built, the outside, and Discord's key."""

    def __init__(self, folder: Path, built: Path, port: int, certificate: Path) -> None:
        self.folder = folder
        self.built = built
        self._key = ed25519.Ed25519PrivateKey.generate()
        self._url = f"https://127.0.0.1:{port}"
        self._sent = 0
        self.bundle = folder / "bundle.pem"
        certifi = built / "DependenciesLayer" / "python" / "certifi"
        both = (certifi / "cacert.pem").read_text() + certificate.read_text()
        self.bundle.write_text(both, encoding="utf-8")
        roots = program("roots")
        (made,) = roots.certificates(certificate.read_text())
        name = roots.name_hash(roots.subject(made))
        shutil.copyfile(certificate, certifi / "roots" / f"{name}.0")

    def event(self) -> dict[str, Any]:
        """The next interaction, as API Gateway passes it on: `/ask` in Japanese."""
        self._sent += 1
        identifier = str(1_300_000_000_000_000_000 + self._sent)
        told = {
            "application_id": "658822586720976907",
            "id": identifier,
            "type": 2,
            "token": f"token-{identifier}" * 8,
            "channel_id": "938391701561679903",
            "guild_id": "561884984214814744",
            "locale": "ja",
            "member": {"user": {"id": "115590097100865541", "username": "蟹"}, "roles": []},
            "data": {
                "id": "870616445036421159",
                "name": "ask",
                "type": 1,
                "options": [{"name": "text", "type": 3, "value": "明日の天気は？" * 20}],
            },
        }
        body = json.dumps(told, ensure_ascii=False)
        timestamp = str(int(time.time()))
        signature = self._key.sign(timestamp.encode() + body.encode()).hex()
        headers = {"x-signature-ed25519": signature, "x-signature-timestamp": timestamp}
        http = {"method": "POST", "path": "/discord/interactions", "sourceIp": "192.0.2.1"}
        return {
            "version": "2.0",
            "routeKey": "POST /discord/interactions",
            "rawPath": "/discord/interactions",
            "rawQueryString": "",
            "headers": {**headers, "content-type": "application/json", "host": "example.com"},
            "requestContext": {"http": http, "stage": "$default"},
            "body": body,
            "isBase64Encoded": False,
        }

    def measured(self, name: str, source: str, *, requests: int, bundle: bool) -> Figures:
        """One cold start of a function, and what further requests add."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        (folder / "handler.py").write_text(source, encoding="utf-8")
        with runtime.running(self.folder, self._settings(folder, bundle=bundle)) as started:
            first = started.invoke(self.event())
            assert first["answer"]["statusCode"] in {200, 202}, first
            last = first
            for _ in range(requests):
                last = started.invoke(self.event())
                assert last["answer"]["statusCode"] == first["answer"]["statusCode"], last
        warm = (last["used"] - first["used"]) / requests if requests else 0.0
        return Figures(first["ready"], first["used"], warm)

    def _settings(self, folder: Path, *, bundle: bool) -> dict[str, str]:
        public = serialization.Encoding.Raw, serialization.PublicFormat.Raw
        given = {
            "AWS_ENDPOINT_URL": self._url,
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_SESSION_TOKEN": "a-token" * 100,
            "OPENCRAB_DISCORD_API": f"{self._url}/api/v10",
            "OPENCRAB_DISCORD_PUBLIC_KEY": self._key.public_key().public_bytes(*public).hex(),
            "OPENCRAB_AWS__INTERACTIONS_QUEUE": f"{self._url}/123456789012/interactions.fifo",
            "OPENCRAB_AWS__TABLE": "table",
        }
        if bundle:
            given["AWS_CA_BUNDLE"] = str(self.bundle)
        settings = runtime.environment(self.built, folder, given)
        if bundle:
            # Before the layer, whose botocore lacks what boto3 imports.
            settings["PYTHONPATH"] = f"{self.built / 'other'}:{settings['PYTHONPATH']}"
        return settings


@contextmanager
def world() -> Iterator[World]:
    """Everything built, and the outside listening."""
    with tempfile.TemporaryDirectory(prefix="opencrab-door-") as made:
        folder = Path(made)
        (folder / "tmp").mkdir()
        built = build(folder)
        _add_boto3(built / "other")
        certificate = _certificate(folder)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Outside)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield World(folder, built, server.server_address[1], certificate)
        finally:
            server.shutdown()
            server.server_close()


def figures(runs: int = RUNS) -> dict[str, list[Figures]]:
    """Every start of both doors and of a function that does nothing, taken in turn."""
    doors = {
        "nothing": (MEASURING.format(path=""), 0, False),
        "ours": (MEASURING.format(path=str(OURS)), WARM_REQUESTS, False),
        "other": (MEASURING.format(path=str(OTHER)), WARM_REQUESTS, True),
    }
    found: dict[str, list[Figures]] = {name: [] for name in doors}
    with world() as outside:
        empty = outside.folder / "empty.py"
        empty.write_text(EMPTY, encoding="utf-8")
        doors["nothing"] = (MEASURING.format(path=str(empty)), 0, False)
        for _ in range(runs + 1):
            for name, (source, requests, bundle) in doors.items():
                one = outside.measured(name, source, requests=requests, bundle=bundle)
                found[name].append(one)
    # The first of each only warmed the disk.
    return {name: each[1:] for name, each in found.items()}


def table() -> str:
    """The page's table, or why there is none."""
    if reason := runtime.why_not():
        return f"Not measured here: {reason}"
    found = figures()
    rows = [
        ("a function that does nothing, cold", "nothing", "cold", None),
        ("the door, ready for its first interaction", "ours", "init", None),
        ("the door, cold: its first interaction answered", "ours", "cold", COLD_MS),
        ("the door, warm: each further interaction", "ours", "warm", WARM_MS),
        ("FastAPI + Mangum + boto3, ready", "other", "init", None),
        ("the same, cold", "other", "cold", None),
        ("the same, warm", "other", "warm", None),
    ]
    head = "| what | median | fastest | at most | met |\n|---|---|---|---|---|\n"
    return head + "\n".join(
        _row(what, [getattr(each, figure) for each in found[door]], target)
        for what, door, figure, target in rows
    )


def _row(what: str, figures: list[float], target: float | None) -> str:
    median = statistics.median(figures)
    row = f"| {what} | {median:.3g} ms | {min(figures):.3g} ms"
    if target is None:
        return f"{row} | | |"
    return f"{row} | {target:g} | {'yes' if median <= target else '**no**'} |"


def _certificate(folder: Path) -> Path:
    """A key and its own certificate for 127.0.0.1, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "OpenCrab bench")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    path = folder / "certificate.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


def _add_boto3(folder: Path) -> None:
    """What the layer does not carry, or not whole, compiled as the layers are."""
    installed = Path(sysconfig.get_path("purelib"))
    for package in ("boto3", "s3transfer", "botocore"):
        ignored = shutil.ignore_patterns("__pycache__", "data" if package == "botocore" else "")
        shutil.copytree(installed / package, folder / package, ignore=ignored)
    data = Path("botocore", "data")
    shutil.copytree(installed / data / "sqs", folder / data / "sqs")
    for each in (installed / data).glob("*.json"):
        shutil.copy(each, folder / data)
    compiling = ("-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash")
    subprocess.run([runtime.PYTHON, *compiling, folder], check=True)


def main() -> None:
    """Measure and print."""
    if reason := runtime.why_not():
        sys.exit(reason)
    sys.stdout.write(f"{table()}\n")


if __name__ == "__main__":
    main()
