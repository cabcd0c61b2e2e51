"""The REST client: requests out, values or one of OpenCrab's errors back, never a traceback."""

import json
import secrets
import ssl
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import httpx

from opencrab.domain import errors
from opencrab.domain.errors import OpenCrabError, Unavailable
from opencrab.gateways.cli.connection.address import ServerAddress
from opencrab.gateways.cli.connection.cure import name_commands_in_cure
from opencrab.gateways.cli.connection.proven_key import ProvenKey
from opencrab.gateways.cli.language.sentences import SentenceCatalog

PAGE = 100
SECONDS = 15.0
"""How long an answer may take, unless a command is less or more patient."""

QUIET_SECONDS = 45.0
"""How long a stream of events may be silent; the server says something every 15 seconds."""

_LONGEST_RETRY_SECONDS = 15.0
"""The longest pause between two requests for events that a server can ask for."""

_BY_STATUS: dict[int, type[OpenCrabError]] = {
    400: errors.Invalid,
    401: errors.Unauthenticated,
    403: errors.Refused,
    404: errors.NotFound,
    409: errors.Conflict,
    413: errors.TooLarge,
    415: errors.Invalid,
    422: errors.Invalid,
    429: errors.Exhausted,
}
_TEMPORARY = {502, 503, 504}
_GATEWAY = "apigw-requestid"
"""The header by which API Gateway signs every answer, even where no function was asked."""


def new_key_for_server_request() -> str:
    """Return a new Idempotency-Key, with which a request may safely be repeated."""
    return secrets.token_hex(16)


def path_of_server_request(*parts: str) -> str:
    """Return a path under /api, with each part percent-encoded."""
    return "/api/" + "/".join(map(_quote_path_part, parts))


def _quote_path_part(part: str) -> str:
    """Encode one part of a path; `.` and `..` are escaped too, and an empty part becomes `-`."""
    text = quote(part, safe="", errors="replace")
    return text.replace(".", "%2E") if text in {".", ".."} else text or "-"


def _tls_context(address: ServerAddress) -> ssl.SSLContext:
    """Create what verifies the server; without a certificate authority where TLS is not spoken.

    To read the certificates takes 30 ms, and most commands speak to a server on this computer.
    """
    if address.is_here and address.url.startswith("http:"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx.create_ssl_context()


class Client:
    """A client of one server, with one API key."""

    def __init__(
        self,
        address: ServerAddress,
        words: SentenceCatalog,
        *,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.address = address
        self.dated: str | None = None
        """When the last answer was sent, by the server's own clock."""
        self.patience_seconds = SECONDS
        """How long an answer may take, beyond the time that was asked for with `wait`."""
        self.words = words
        headers = {
            "X-OpenCrab-Client": "cli",
            "Accept": "application/json",
            "Accept-Language": words.tongue,
        }
        if address.key and address.folder is None:
            headers["Authorization"] = f"Bearer {address.key}"
        self.retry_seconds = 0.0
        self._http = httpx.Client(
            base_url=address.url,
            headers=headers,
            auth=ProvenKey(address, self._unproven) if address.key and address.folder else None,
            transport=transport,
            trust_env=not address.is_here,  # a proxy is for other computers
            verify=_tls_context(address) if transport is None else True,
        )

    def get(self, *parts: str, **query: object) -> dict[str, Any]:
        """Send a GET request and return its JSON."""
        return self._send("GET", parts, query=query)

    def post(
        self,
        *parts: str,
        body: Mapping[str, Any] | None = None,
        key: str | None = None,
        wait: int | None = None,
        version: int | None = None,
    ) -> dict[str, Any]:
        """Send a POST request; a repeat with the same `key` returns the first response.

        `wait` is how many seconds the server may wait for the result; with `version` the request
        fails unless the object still has that version.
        """
        headers = {"Idempotency-Key": key or new_key_for_server_request(), **_if(version)}
        if wait is not None:
            headers["Prefer"] = f"wait={wait}"
        return self._send("POST", parts, body=body or {}, headers=headers, wait=wait or 0)

    def patch(
        self, *parts: str, body: Mapping[str, Any], version: int | None = None
    ) -> dict[str, Any]:
        """Change some fields of an object, if it still has this version."""
        return self._send("PATCH", parts, body=body, headers=_if(version))

    def put(
        self, *parts: str, body: Mapping[str, Any], version: int | None = None
    ) -> dict[str, Any]:
        """Replace an object, if it still has this version."""
        return self._send("PUT", parts, body=body, headers=_if(version))

    def delete(self, *parts: str, **query: object) -> dict[str, Any]:
        """Send a DELETE request: delete, retire or revoke an object."""
        return self._send("DELETE", parts, query=query)

    def download(self, *parts: str, **query: object) -> tuple[bytes, str]:
        """Download a file and return its bytes and its version."""
        response = self._request("GET", parts, query=query, headers={"Accept": "*/*"})
        if response.is_success and "ETag" in response.headers:
            return response.content, response.headers["ETag"].strip('"')
        raise self._error(response, _json(response))

    def upload(
        self, *parts: str, content: bytes, method: str = "PUT", **query: object
    ) -> dict[str, Any]:
        """Upload a whole file."""
        headers = {"Content-Type": "application/octet-stream"}
        response = self._request(method, parts, query=query, content=content, headers=headers)
        return self._value(response)

    def items(self, *parts: str, **query: object) -> Iterator[dict[str, Any]]:
        """Return an iterator over all items of a list, which reads page after page."""
        cursor: str | None = None
        while True:
            page = self._send("GET", parts, query={**query, "limit": PAGE, "cursor": cursor})
            yield from page.get("items", ())
            cursor = page.get("next_cursor")
            if not cursor:
                return

    def json_lines(self, *parts: str, after: str | None, **query: object) -> tuple[str, str | None]:
        """Fetch JSON Lines after a cursor; return them and the next cursor (unchanged if none)."""
        headers = {"Accept": "application/x-ndjson"}
        response = self._request("GET", parts, query={**query, "after": after}, headers=headers)
        kind = response.headers.get("Content-Type", "")
        if response.is_success and "ndjson" in kind:
            following = response.headers.get("X-OpenCrab-Next-Cursor")
            if following is None and response.text:
                # Without it the next part would be this one again, without end.
                raise self._unavailable("cursor_dropped", url=self.address.url)
            return response.text, following or after
        if response.is_success and "zip" in kind:
            # Its export has no parts yet.
            raise self._unavailable("older_server", url=self.address.url)
        raise self._error(response, _json(response))

    def events(
        self, *parts: str, last: str = "", **query: object
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Stream server-sent events after `last`, each with its id, until the server closes it.

        Raises Unavailable when the connection is lost.
        """
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last} if last else {})
        timeout = httpx.Timeout(QUIET_SECONDS, connect=5.0)
        asked: dict[str, Any] = {
            "headers": headers,
            "timeout": timeout,
            "params": _encode_query(query),
        }
        with (
            self._translated(),
            self._http.stream("GET", path_of_server_request(*parts), **asked) as response,
        ):
            if not response.is_success:
                response.read()
                raise self._error(response, _json(response))
            for fields in _events(response.iter_lines()):
                if fields.get("retry", "").isdigit():
                    self.retry_seconds = min(int(fields["retry"]) / 1_000, _LONGEST_RETRY_SECONDS)
                if "data" not in fields:
                    continue
                data = json.loads(fields["data"])
                if fields.get("event") == "problem":
                    error = _BY_STATUS.get(data["status"], Unavailable)
                    told = error(data["detail"], cure=data.get("cure"))
                    told.code = str(data.get("code") or told.code)
                    raise told
                yield fields.get("id", ""), data

    @contextmanager
    def exchange(
        self, path: str, content: bytes, *, headers: Mapping[str, str], seconds: float
    ) -> Iterator[httpx.Response]:
        """Post to a path outside of /api, and read the answer within the block as it comes.

        An answer with an error is left to the reader if it is a message of JSON-RPC; all others are
        raised, as those of the gateway before OpenCrab.
        """
        timeout = httpx.Timeout(seconds, connect=5.0)
        asked: dict[str, Any] = {"content": content, "headers": headers, "timeout": timeout}
        with self._translated(), self._http.stream("POST", path, **asked) as response:
            if not response.is_success:
                response.read()
                said = _json(response)
                if not isinstance(said, dict) or "jsonrpc" not in said:
                    raise self._error(response, said)
            yield response

    def _send(
        self,
        method: str,
        parts: tuple[str, ...],
        *,
        query: Mapping[str, object] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        wait: int = 0,
    ) -> dict[str, Any]:
        content = (
            None if body is None else json.dumps(body, ensure_ascii=False).encode(errors="replace")
        )
        sent = {"Content-Type": "application/json", **(headers or {})}
        return self._value(
            self._request(method, parts, query=query, content=content, headers=sent, wait=wait)
        )

    def _request(
        self,
        method: str,
        parts: tuple[str, ...],
        *,
        query: Mapping[str, object] | None = None,
        content: bytes | None = None,
        headers: Mapping[str, str],
        wait: int = 0,
    ) -> httpx.Response:
        with self._translated():
            response = self._http.request(
                method,
                path_of_server_request(*parts),
                params=_encode_query(query or {}),
                content=content,
                headers=headers,
                timeout=httpx.Timeout(self.patience_seconds + wait, connect=5.0),
            )
        self.dated = response.headers.get("Date")
        return response

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Translate errors of httpx within the block into OpenCrab's errors."""
        try:
            yield
        except httpx.ConnectError as error:
            raise self._unreachable(str(error)) from error
        except httpx.TimeoutException as error:
            raise self._unavailable("timeout", url=self.address.url) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._unavailable("broken", url=self.address.url, why=error) from error

    def _value(self, response: httpx.Response) -> dict[str, Any]:
        if response.status_code == httpx.codes.NO_CONTENT:
            return {}
        value = _json(response)
        if response.is_success and isinstance(value, dict):
            return value
        raise self._error(response, value)

    def _error(self, response: httpx.Response, problem: Any) -> OpenCrabError:
        status = response.status_code
        kind = response.headers.get("Content-Type", "")
        if not isinstance(problem, dict) or "problem+json" not in kind:
            return self._error_before(response)
        if status == httpx.codes.UNAUTHORIZED:
            return self._unauthenticated()
        error = Unavailable if status in _TEMPORARY else _BY_STATUS.get(status, OpenCrabError)
        message = str(problem.get("detail") or problem.get("title") or status)
        cure = problem.get("cure")
        told = error(
            message,
            field=problem.get("field"),
            cure=name_commands_in_cure(str(cure)) if cure else None,
        )
        told.code = str(problem.get("code") or told.code)
        return told

    def _error_before(self, response: httpx.Response) -> OpenCrabError:
        """Return the error for a response that came from a gateway, or from another server."""
        status, gateway = response.status_code, _GATEWAY in response.headers
        if gateway and status in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}:
            return self._unauthenticated()
        if gateway and status == httpx.codes.INTERNAL_SERVER_ERROR:
            return self._unavailable("function", url=self.address.url)
        busy = status in _TEMPORARY or (gateway and status == httpx.codes.TOO_MANY_REQUESTS)
        key = "busy" if busy else "not_opencrab"
        return self._unavailable(key, url=self.address.url, status=status)

    def _unproven(self, key: str) -> OpenCrabError:
        facts = {"url": self.address.url, "folder": self.address.folder}
        return Unavailable(self.words(key, **facts), cure=self.words("unproven_cure"))

    def _unauthenticated(self) -> OpenCrabError:
        if self.address.withheld is not None:
            facts = {"url": self.address.url, "file": self.address.withheld}
            why = self.words("withheld", **facts)
            return errors.Unauthenticated(why, cure=self.words("unproven_cure"))
        why = self.words("wrong_key" if self.address.key else "no_key")
        return errors.Unauthenticated(why, cure=self.words("key_cure"))

    def _unreachable(self, why: str) -> Unavailable:
        if self.address.is_here:
            return self._unavailable("down", url=self.address.url)
        return self._unavailable("unreachable", url=self.address.url, why=why)

    def _unavailable(self, key: str, **facts: object) -> Unavailable:
        return Unavailable(self.words(key, **facts), cure=self.words(f"{key}_cure"))


def _events(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """Parse server-sent events and return the fields of each that has data or a retry."""
    fields = dict[str, str]()
    for line in lines:
        name, _, text = line.partition(":")
        if line:
            fields[name] = text.removeprefix(" ")
        elif "data" in fields or "retry" in fields:
            yield fields
        fields = fields if line else {}


def _encode_query(query: Mapping[str, object]) -> dict[str, str]:
    """Return the query without its None values, as text."""
    return {name: str(value) for name, value in query.items() if value is not None}


def _json(response: httpx.Response) -> Any:
    """Return a response's JSON, or None if it is not JSON."""
    try:
        return response.json()
    except ValueError:
        return None


def _if(version: int | None) -> dict[str, str]:
    return {} if version is None else {"If-Match": f'"{version}"'}
