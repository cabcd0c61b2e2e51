"""AWS in plain: Signature Version 4 and two calls, for the functions that load no SDK.

An SDK finds credentials, endpoints and regions in many ways, and retries as it was told. Here the
function's environment names them, and a call is made twice at most, within the time it is given.
"""

import hashlib
import hmac
import json
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from opencrab.adapters.door.http import HttpResponse, PlainHttp
from opencrab.domain.errors import Invalid, Unavailable

SQS, DYNAMODB = "sqs", "dynamodb"

_CONTENT = "application/x-amz-json-1."
_MINOR = {SQS: "0", DYNAMODB: "0"}
"""The version of AWS's JSON protocol that a service speaks; others 1.1."""

_ALGORITHM = "AWS4-HMAC-SHA256"
_FAILED = 500
_OK = 200


class Credentials(NamedTuple):
    """AWS credentials of this function."""

    key_id: str
    secret: str
    token: str = ""


class Signer(NamedTuple):
    """AWS Signature Version 4 for one service in one region."""

    service: str
    region: str
    credentials: Credentials

    def headers(self, host: str, target: str, body: bytes, epoch: float) -> dict[str, str]:
        """Return the signed headers of a POST to `/` at this time."""
        content = f"{_CONTENT}{_MINOR.get(self.service, '1')}"
        told = {"content-type": content, "host": host, "x-amz-target": target}
        return self.sign("POST\n/\n", told, _hash(body), epoch)

    def sign(
        self, request: str, headers: Mapping[str, str], content: str, epoch: float
    ) -> dict[str, str]:
        """Add date, session token and signature; `content` is the hash of the body."""
        moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(epoch))
        headers = {**headers, "x-amz-date": moment}
        if self.credentials.token:
            headers["x-amz-security-token"] = self.credentials.token
        names = ";".join(sorted(headers))
        lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
        request = f"{request}\n{lines}\n{names}\n{content}"
        scope = f"{moment[:8]}/{self.region}/{self.service}/aws4_request"
        signing = f"{_ALGORITHM}\n{moment}\n{scope}\n{_hash(request.encode())}"
        key = f"AWS4{self.credentials.secret}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        signature = hmac.digest(key, signing.encode(), "sha256").hex()
        return headers | {
            "authorization": f"{_ALGORITHM} Credential={self.credentials.key_id}/{scope}, "
            f"SignedHeaders={names}, Signature={signature}"
        }


class PlainAws:
    """AWS calls without botocore; only operations that are safe to repeat."""

    def __init__(self, signer: Signer, http: PlainHttp, now: Callable[[], float]) -> None:
        self._signer = signer
        self._http = http
        self._now = now

    def call(self, target: str, given: Mapping[str, Any], *, seconds: float) -> Any:
        """Call an operation, at most twice, and return its JSON response; raise Unavailable."""
        body = json.dumps(given, ensure_ascii=False, separators=(",", ":")).encode()
        deadline = time.monotonic() + seconds
        answered = self._asked(target, body, deadline)
        if answered is None or answered.status >= _FAILED:
            answered = self._asked(target, body, deadline)
        if answered is None:
            raise Unavailable(f"no response from {target}", cure="wait and try again")
        if answered.status != _OK:
            raise Unavailable(
                f"{target} failed: {_code(answered)}", cure="look up the AWS error code"
            )
        try:
            return json.loads(answered.content)
        except ValueError:
            raise Unavailable(
                f"{target} returned a response that is not JSON", cure="wait and try again"
            ) from None

    def _asked(self, target: str, body: bytes, deadline: float) -> HttpResponse | None:
        seconds = deadline - time.monotonic()
        headers = self._signer.headers(self._http.host, target, body, self._now())
        try:
            return self._http.post("/", body, headers, seconds=seconds)
        except Unavailable:
            return None


def plain_aws(
    environment: Mapping[str, str],
    service: str,
    now: Callable[[], float],
    *,
    trust: ssl.SSLContext,
    usual: str | None = None,
) -> PlainAws:
    """Return the calls of a service in Lambda; raises Invalid for a missing variable.

    `usual` is the URL of the service if its host is not named by service and region.
    """
    region = environment.get("AWS_REGION") or require_variable(environment, "AWS_DEFAULT_REGION")
    credentials = Credentials(
        require_variable(environment, "AWS_ACCESS_KEY_ID"),
        require_variable(environment, "AWS_SECRET_ACCESS_KEY"),
        environment.get("AWS_SESSION_TOKEN", ""),
    )
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    special = environment.get(f"AWS_ENDPOINT_URL_{service.upper()}")
    configured = special or environment.get("AWS_ENDPOINT_URL")
    url = configured or usual or f"https://{service}.{region}.{domain}"
    return PlainAws(Signer(service, region, credentials), PlainHttp(url, trust), now)


def require_variable(environment: Mapping[str, str], name: str) -> str:
    """Return a variable that the template sets; raises Invalid if it is missing."""
    value = environment.get(name, "")
    if not value:
        raise Invalid(
            f"the environment variable {name} is not set",
            field=name,
            cure="deploy with the template, which sets it",
        )
    return value


class PlainSqsQueue:
    """`ports.turn.queue.Queue.send` for one FIFO queue, without botocore."""

    def __init__(self, aws: PlainAws, url: str, *, seconds: float) -> None:
        self._aws = aws
        self._url = url
        self._seconds = seconds

    def send(self, body: str, *, group: str, deduplication: str) -> None:
        """Send a message; raise Unavailable. Group and deduplication id must be legal in SQS."""
        given = {
            "QueueUrl": self._url,
            "MessageBody": body,
            "MessageGroupId": group,
            "MessageDeduplicationId": deduplication,
        }
        self._aws.call("AmazonSQS.SendMessage", given, seconds=self._seconds)


class PlainDynamoFacts:
    """The documents of the DynamoDB table, read in the format of `adapters.dynamodb.document`."""

    def __init__(self, aws: PlainAws, table: str, *, seconds: float) -> None:
        self._aws = aws
        self._table = table
        self._seconds = seconds

    def body(self, owner: str, kind: str, fact_id: str) -> Any:
        """Return a document's body from an eventually consistent read; None if absent.

        Raise Unavailable.
        """
        key = {"pk": {"S": f"FACT#{owner}"}, "sk": {"S": f"{kind}#{fact_id}"}}
        given = {"TableName": self._table, "Key": key, "ProjectionExpression": "body"}
        found = self._aws.call("DynamoDB_20120810.GetItem", given, seconds=self._seconds)
        return json.loads(found["Item"]["body"]["S"]) if found.get("Item") else None


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _code(answered: HttpResponse) -> str:
    """Return AWS's error code without its prefix, or the HTTP status code."""
    try:
        told = json.loads(answered.content)
    except ValueError:
        told = None
    name = str(told.get("__type", "")) if isinstance(told, dict) else ""
    return name.rpartition("#")[2] or str(answered.status)
