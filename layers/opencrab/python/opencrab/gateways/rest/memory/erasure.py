"""Forgetting over REST: what an owner wants gone, for good, and what came of it."""

from typing import Literal

from pydantic import Field, model_validator

from opencrab.domain.erasure.request import ErasureRequest, ErasureScope
from opencrab.domain.errors import Invalid
from opencrab.domain.value import Identifier, Value
from opencrab.engine.erasure import erase
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.http.timestamps import Moment
from opencrab.gateways.rest.http.view import View

router = http_routes_below("/api/agents/{agent_id}/memory", "memory")

_NAMED = frozenset({"memory", "session", "person"})


class ForgetBody(Value, defer_build=False):
    """The data to erase; `id` names a memory, a session or a person.

    A period is since <= at < until and may be open at one end. To erase everything, `confirm`
    repeats the agent's id.
    """

    scope: Literal["memory", "session", "person", "period", "everything"]
    id: Identifier | None = None
    since: Moment | None = Field(default=None, examples=["2026-01-01T00:00:00Z"])
    until: Moment | None = Field(default=None, examples=["2026-02-01T00:00:00Z"])
    confirm: Identifier | None = None

    @model_validator(mode="after")
    def _says_what(self) -> "ForgetBody":
        bounded = self.since is not None or self.until is not None
        if self.scope in _NAMED and self.id is None:
            raise ValueError(f"the id of the {self.scope} is missing: send id")
        if self.scope not in _NAMED and self.id is not None:
            raise ValueError(f"{self.scope} takes no id: omit it")
        if self.scope == "period" and not bounded:
            raise ValueError("a period needs since or until: send one or both")
        if self.scope != "period" and bounded:
            raise ValueError("since and until are allowed only for a period: omit them")
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise ValueError("until must come after since: swap them")
        return self

    def wish(self) -> ErasureRequest:
        """Return the data to erase, without the confirmation."""
        return ErasureRequest(
            scope=ErasureScope(self.scope), id=self.id, since=self.since, until=self.until
        )


class ForgottenView(View):
    """The erased data and the remaining data; while `done` is false, send the same request again.

    `lines` and `turns` were erased; `removed` are documents as `agent/kind:id`. `files`, `skills`
    and `schedules` are related and remain, each as `agent:name`: only their owner decides on them.
    Older versions of `files` are deleted. `out_of_reach` names copies that OpenCrab cannot remove:
    `backups` and `file_versions`, or on AWS `dynamodb_backups` and `s3_versions`.
    """

    done: bool
    left: int
    lines: int
    turns: int
    removed: tuple[str, ...]
    files: tuple[str, ...]
    skills: tuple[str, ...]
    schedules: tuple[str, ...]
    out_of_reach: tuple[str, ...]


class LineageView(View):
    """The data that an erasure would remove, derived data included.

    `repeated` are lines that repeat the content; `kept` are memories and other documents as
    `agent/kind:id`; `files`, `skills` and `schedules` would remain.
    """

    lines: int
    repeated: int
    turns: int
    kept: tuple[str, ...]
    files: tuple[str, ...]
    skills: tuple[str, ...]
    schedules: tuple[str, ...]


@router.post("/forget")
def forget_memory(
    api: Api, _caller: Owner, agent_id: Id, _once: Repeatable, body: Strict[ForgetBody]
) -> ForgottenView:
    """Erase data with everything derived from it.

    Erases a memory, a session, a person, a period or everything, from the table and all copies.
    Lines belong to all participants of a session and are removed for everybody. The request may be
    repeated safely; a repeat continues where the time ran out, whatever its Idempotency-Key.
    """
    wish = _require_confirmation(agent_id, body)
    return ForgottenView.of(erase.erase_data(api.runtime, agent_id, wish))


@router.post("/forget/preview", operation_id="preview_forgetting")
def preview_forgetting_in_memory(
    api: Api, _caller: Owner, agent_id: Id, _once: Repeatable, body: Strict[ForgetBody]
) -> LineageView:
    """Show what an erasure would remove, derived data included.

    It changes nothing.
    """
    return LineageView.of(erase.erased_data_lineage(api.runtime, agent_id, body.wish()))


def _require_confirmation(agent_id: str, body: ForgetBody) -> ErasureRequest:
    """Return what to erase; raises Invalid if erasing everything is not confirmed."""
    if body.scope == "everything" and body.confirm != agent_id:
        raise Invalid(
            "erasing everything is permanent and must be confirmed",
            field="confirm",
            cure="send the agent's id as confirm",
        )
    return body.wish()
