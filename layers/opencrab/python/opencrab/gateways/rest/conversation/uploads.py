"""Uploads: pictures and text files for messages, sent before the message that refers to them."""

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Query, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import Field

from opencrab.domain.access.policy import Verb
from opencrab.domain.conversation.session import SessionStatus
from opencrab.domain.errors import Conflict
from opencrab.domain.identifier import content_hash
from opencrab.domain.value import Value
from opencrab.engine.access.visibility import require_access_to_session
from opencrab.engine.conversation.uploads import store_session_upload
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.http.access import Caller, Talker
from opencrab.gateways.rest.http.body import BYTES_BODY, Bytes, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import IdempotentRequest, Repeatable

router = http_routes_below("/api/sessions/{session_id}/uploads", "messages", takes_json=False)


class UploadQuery(Value, defer_build=False):
    """The name of the file."""

    name: Annotated[str, Field(min_length=1, max_length=200)] = Field(
        default="file",
        description="the file's own name, such as crab.png; folders and white space are left out",
    )


class UploadView(Value):
    """A stored file; send `{kind, reference}` among the `parts` of a message."""

    kind: Literal["image", "file"]
    reference: str
    name: str
    size: int
    media_type: str


@dataclass(frozen=True)
class _File:
    name: str
    content: bytes


class _Content(Value):
    """What an upload is recognized by when it is repeated."""

    name: str
    sha256: str


@router.post(
    "",
    status_code=201,
    response_model=UploadView,
    openapi_extra=BYTES_BODY,
    operation_id="upload_file",
)
async def upload_file_to_session(
    *,
    api: Api,
    caller: Talker,
    session_id: Id,
    query: Annotated[UploadQuery, Query()],
    once: Repeatable,
    content: Bytes,
) -> Response:
    """Upload a picture or a text file for a message.

    The body is the file: a PNG, JPEG, GIF or WebP picture of at most 3,500,000 bytes, or text in
    UTF-8 of at most 1,000,000. It is kept below `uploads/` in the workspace of each agent of the
    session. The message that refers to it shows it to the models: at most 4 pictures, and the
    first 24 KiB of text. Keys without scope owner may fill `uploads/` up to 50,000,000 bytes.
    """
    file = _File(query.name, content)
    return await run_in_threadpool(_upload, api.runtime, caller, session_id, once, file)


def _upload(
    runtime: Runtime, caller: Caller, session_id: str, once: IdempotentRequest, file: _File
) -> Response:
    session, _ = require_access_to_session(
        runtime.home, caller.principal, session_id, Verb.TAKE_PART
    )
    if session.status is SessionStatus.ENDED:
        raise Conflict(f"session {session_id!r} has ended", cure="start a new session")
    upload_id = once.id_of("upload")

    def make() -> UploadView:
        by = caller.principal
        stored = store_session_upload(runtime, session, upload_id, file.name, file.content, by=by)
        return UploadView(
            kind=stored.kind.kind,
            reference=stored.reference,
            name=stored.name,
            size=stored.size,
            media_type=stored.kind.media_type,
        )

    known = _Content(name=file.name, sha256=content_hash(file.content))
    return once.answer(known, make, status=201)
