"""Finding and using actions whose schemas are not part of every prompt."""

import json
from typing import Any

from pydantic import Field

from opencrab.actions.registry import Group
from opencrab.domain.access.impact import Impact
from opencrab.domain.errors import Invalid
from opencrab.domain.text.terms import share_of_terms_in_text, text_terms
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import Language, ShortText, Value
from opencrab.ports.turn.action import Action, ActionContext

RESULT_BYTES = 16 * 1024
"""Upper limit of one result, in bytes of JSON."""

_MATCHES = 20
_ENVELOPE = 512

group = Group("finding")


class FindActions(Value):
    query: ShortText = ""
    group: ShortText = ""


class UseAction(Value):
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


@group.action(
    impact=Impact.READ,
    effect=Effect.PURE,
    sentences=("Look for actions: {query}", "使える行動を探す: {query}"),
    ja="ここにない行動を探します。query か group で引数がわかり、空なら全体の一覧です。",
    result_bytes=RESULT_BYTES,
)
def find_actions(arguments: FindActions, context: ActionContext) -> ActionResult:
    """Find actions that are not listed here; by query or group with arguments, else all by name."""
    known = [action for action in _allowed_actions(context) if action.group != group.name]
    language = context.agent.language
    wanted = arguments.group.strip()
    groups = sorted({action.group for action in known})
    if wanted and wanted not in groups:
        raise Invalid(
            f"there is no group {wanted!r}", field="group", cure=f"one of {', '.join(groups)}"
        )
    if wanted:
        known = [action for action in known if action.group == wanted]
    if arguments.query.strip():
        known = _matching(arguments.query, known)
    elif not wanted:
        return ActionResult.ok(groups=_overview(known, language))
    described = (action.schema(language) for action in known)
    actions = [
        {"name": each.name, "description": each.description, "parameters": each.parameters}
        for each in described
    ]
    shown = _fitting(actions)
    return ActionResult.ok(actions=shown, left_out=[each["name"] for each in actions[len(shown) :]])


@group.action(
    impact=Impact.READ,
    effect=Effect.PURE,
    sentences=("Use {name}", "{name}を使う"),
    ja="find_actions で見つけた行動を使います。",
)
def use_action(arguments: UseAction, context: ActionContext) -> ActionResult:
    """Use an action that find_actions showed."""
    # The engine replaces this call by the action itself before anything runs.
    raise Invalid(
        f"{arguments.name!r} cannot be used through use_action",
        field="name",
        cure="find_actions lists the actions",
    )


def _allowed_actions(context: ActionContext) -> tuple[Action, ...]:
    routing = context.reach.models.routing
    return context.actions.allowed(context.agent, routing, context.turn.authority)


def _matching(query: str, known: list[Action]) -> list[Action]:
    """Return at most 20 actions that match the query in either language, best match first."""
    sought = text_terms(query)
    scored = [(share_of_terms_in_text(sought, _words(action)), action) for action in known]
    fitting = [(score, action) for score, action in scored if score]
    fitting.sort(key=lambda each: (-each[0], each[1].name))
    return [action for _, action in fitting[:_MATCHES]]


def _words(action: Action) -> str:
    texts = (*action.descriptions.values(), *action.sentences.values())
    return " ".join((action.name, action.group, *texts))


def _overview(known: list[Action], language: Language) -> dict[str, dict[str, str]]:
    """Return, for every group, the names of its actions with their one-line descriptions."""
    overview = dict[str, dict[str, str]]()
    for action in known:
        overview.setdefault(action.group, {})[action.name] = action.descriptions[language]
    return dict(sorted(overview.items()))


def _fitting(actions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return as many of the first actions as fit into RESULT_BYTES beside the names of all."""
    names = sum(len(each["name"]) + 4 for each in actions)
    room = RESULT_BYTES - _ENVELOPE - names
    shown = list[dict[str, Any]]()
    for each in actions:
        room -= len(json.dumps(each, ensure_ascii=False).encode()) + 2
        if room < 0:
            break
        shown.append(each)
    return shown
