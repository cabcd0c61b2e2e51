"""The actions of this installation: what each touches, how it is recovered, where it comes from."""

from opencrab.domain.access.impact import Impact
from opencrab.domain.turn.action import Effect
from opencrab.domain.value import Language, Value
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import http_routes_below
from opencrab.gateways.rest.http.dependencies import Api

router = http_routes_below("/api/actions", "skills")


class ActionView(Value):
    """An action; `origin` is the file and line of a custom action, and empty for OpenCrab's own.

    With `owner_only` only turns of the owner and of the agent itself may use it.
    """

    name: str
    group: str
    descriptions: dict[Language, str]
    impact: Impact
    effect: Effect
    owner_only: bool
    origin: str


class ActionsView(Value):
    """The actions of an installation, by name; those of MCP servers are listed with them."""

    items: tuple[ActionView, ...]


@router.get("", operation_id="list_actions")
def list_actions_of_installation(api: Api, _caller: Owner) -> ActionsView:
    """List the actions of this installation, with those that you wrote."""
    return ActionsView(
        items=tuple(
            ActionView(
                name=each.name,
                group=each.group,
                descriptions=each.descriptions,
                impact=each.impact,
                effect=each.effect,
                owner_only=each.owner_only,
                origin=each.origin,
            )
            for each in api.runtime.actions.all()
        )
    )
