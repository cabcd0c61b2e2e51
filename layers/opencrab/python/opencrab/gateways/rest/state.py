"""The installation's own state: whether it lives, how it is set up, what it offers."""

from typing import Any, Literal

from fastapi import APIRouter, Request

from opencrab import __version__
from opencrab.domain.value import Value
from opencrab.gateways.rest.access import Reader
from opencrab.gateways.rest.rest import Api

router = APIRouter(prefix="/api", tags=["state"])


class Health(Value):
    """The process answers."""

    status: Literal["ok"] = "ok"
    version: str = __version__


@router.get("/health", summary="Is it alive?", operation_id="health")
async def health() -> Health:
    """Whether the process answers; it needs no key and touches no store."""
    return Health()


@router.get("/setup", summary="How is it set up?", operation_id="setup")
def setup(api: Api, _caller: Reader) -> dict[str, Any]:
    """What is configured, what is missing, and what to do about it."""
    return api.setup()


@router.get("/openapi.json", include_in_schema=False)
def openapi(request: Request, _caller: Reader) -> dict[str, Any]:
    """This interface as an OpenAPI document."""
    document: dict[str, Any] = request.app.openapi()
    return document
