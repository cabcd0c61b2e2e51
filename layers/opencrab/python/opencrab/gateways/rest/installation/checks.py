"""The doctor's checks of a running installation."""

from typing import Annotated

from fastapi import FastAPI, Header, Request, Response

from opencrab.domain.value import Value
from opencrab.engine.discord.diagnosis import Check
from opencrab.engine.installation.findings import no_further_installation_checks
from opencrab.gateways.language.accept_language import language_of_http_request
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, RestContext
from opencrab.gateways.rest.http.idempotency import Repeatable, refuse_unfinished_http_repeat

router = http_routes_below("/api/system/checks", "state")

_Language = Annotated[str | None, Header(description="the language of the sentences")]


class ChecksPost(Value, defer_build=False):
    """What the checks may do."""

    ask_models: bool = False


class ChecksView(Value):
    """What works and what does not, each with what mends it.

    Several checks may have the same name, such as `model` for each chosen model.
    """

    checks: tuple[Check, ...]


@router.get("", operation_id="get_checks")
def check_installation_now(
    api: Api, _caller: Owner, request: Request, accept_language: _Language = None
) -> ChecksView:
    """Check the installation.

    Covers disk, database, models, switches, budgets, queues, search, Discord and backups, as far as
    the installation has them. It changes nothing, costs nothing and takes 3 seconds at most.
    """
    return _checks(api, request.app, accept_language, asks_models=False)


@router.post("", response_model=ChecksView, operation_id="post_checks")
def check_installation_and_models(
    api: Api,
    _caller: Owner,
    once: Repeatable,
    request: Request,
    body: Strict[ChecksPost],
    accept_language: _Language = None,
) -> Response:
    """Check the installation, and ask its models.

    With `ask_models`, each chosen model is asked for a few tokens. That is paid from the budget of
    an agent that uses it, and takes 25 seconds at most. A repeat with the same Idempotency-Key
    costs nothing: it returns the first answer, or 409 if the first one still runs or has failed.
    """

    def make() -> ChecksView:
        return _checks(api, request.app, accept_language, asks_models=body.ask_models)

    return once.answer(body, make, again=refuse_unfinished_http_repeat if body.ask_models else None)


def _checks(
    api: RestContext, app: FastAPI, accept_language: str | None, *, asks_models: bool
) -> ChecksView:
    from opencrab.engine.installation.examination import (  # noqa: PLC0415 - seldom needed
        installation_health_checks,
    )

    return ChecksView(
        checks=installation_health_checks(
            api.runtime,
            api.discord,
            language_of_http_request(accept_language or ""),
            getattr(app.state, "machine_checks", no_further_installation_checks),
            asks_models=asks_models,
        )
    )
