"""The decorator of custom actions: it turns a function with annotations into an action.

Whatever is wrong with a declaration is told when its module is imported.
"""

import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from string import Formatter
from typing import Any, TypeVar, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model, model_validator
from pydantic.errors import PydanticUserError

from opencrab.actions.custom.call import CallContext, CustomCall, CustomValues
from opencrab.domain.access.impact import Impact
from opencrab.domain.agents.agent import Agent
from opencrab.domain.models.routing import Routing
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import Language, is_json_value
from opencrab.ports.turn.action import Action, ActionContext, one_line

GROUP = "custom"
DECLARED = "__opencrab_actions__"
"""The name under which a module has what was declared in it."""

LONGEST_SECONDS = 120.0
AWS_SECONDS = 60.0
"""The longest call on AWS, where another worker takes a turn that gives no sign for longer."""

MOST_WORDS = 1_024
_SHOWN = 300
_NAME = re.compile(r"[a-z][a-z0-9_]{1,59}")
_IMPACTS = (Impact.READ, Impact.SELF, Impact.SHARED, Impact.EXTERNAL)
_EFFECTS = (Effect.PURE, Effect.KEYED, Effect.ONCE)
_PARAMETERS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)

Function = TypeVar("Function", bound=Callable[..., Any])


class ActionDeclarationError(TypeError):
    """A declaration that is wrong; `cure` says what to write instead."""

    def __init__(self, message: str, *, cure: str) -> None:
        super().__init__(message)
        self.cure = cure


class CustomArguments(BaseModel):
    """The arguments of a custom action: none that it does not name, and no broken text."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
        protected_namespaces=(),
    )

    @model_validator(mode="before")
    @classmethod
    def _check_text(cls, given: Any) -> Any:
        # Each backslash of a text is two there, of which none begins an escape.
        if not is_json_value(given) or "\\u0000" in json.dumps(given).replace("\\\\", ""):
            raise ValueError("text must not contain NUL or unpaired surrogates: remove them")
        return given


@dataclass(frozen=True)
class CustomAction:
    """A declared action, before an installation offers it; `origin` is `FILE:LINE`."""

    name: str
    impact: Impact
    arguments: type[CustomArguments]
    descriptions: Mapping[Language, str]
    sentences: Mapping[Language, str]
    call: CustomCall
    origin: str

    @property
    def effect(self) -> Effect:
        """The behaviour on a retry after a crash."""
        return self.call.effect

    def offer(
        self, values: CustomValues, agents: Iterable[str] = (), *, most_seconds: float
    ) -> Action:
        """Return it as an installation offers it: with its settings, to some agents or to all."""
        named = frozenset(agents)
        limited = CustomCall(**{**vars(self.call), "seconds": min(self.call.seconds, most_seconds)})

        def run(arguments: BaseModel, context: ActionContext) -> ActionResult:
            given = {name: getattr(arguments, name) for name in type(arguments).model_fields}
            return limited.run(given, context, values)

        def offered(agent: Agent, _routing: Routing) -> bool:
            return not named or agent.id in named or agent.name in named

        return Action(
            name=self.name,
            group=GROUP,
            impact=self.impact,
            effect=self.effect,
            arguments=self.arguments,
            run=run,
            descriptions=dict(self.descriptions),
            sentences=dict(self.sentences),
            prepare=_no_condition if self.effect is Effect.KEYED else None,
            touches=_excerpt,
            offered=offered,
            owner_only=not self.call.shared,
            origin=self.origin,
        )


def action(
    *,
    impact: str,
    effect: str,
    ja: str = "",
    sentences: tuple[str, str] | None = None,
    shared: bool = False,
    taints: bool = True,
    timeout_seconds: float = 30.0,
) -> Callable[[Function], Function]:
    """Declare a function as an action: its name is the action's, its docstring the description.

    Its parameters are the arguments, with annotations as pydantic reads them; one annotated with
    `CallContext` is told of the call instead. It returns a dict, or anything else that is JSON.

    Args:
        impact: What a call touches: "read", "self", "shared" or "external". Calls of the last ask
            the owner, unless the approval policy of an agent says otherwise.
        effect: What a crash may do to it. "pure" changes nothing and runs again; "keyed" runs again
            with the same `CallContext.key`, by which the other side knows it; "once" is never made
            a second time, and its outcome stays unknown.
        ja: The description in Japanese; without it the docstring.
        sentences: What a call does, for people, in English and Japanese, with arguments in braces.
        shared: True if turns of other people may use it, and hear what it returns.
        taints: False if what it returns is never the words of others.
        timeout_seconds: The longest that a call may take, at most 120, on AWS 60.

    Raises:
        ActionDeclarationError: The declaration is wrong.
    """

    def declare(function: Function) -> Function:
        name = _name(function)
        call = _call(name, function, effect)
        seconds = _seconds(name, timeout_seconds)
        call = replace(call, shared=shared, taints=taints, seconds=seconds)
        made = _custom_action(name, call, impact, ja, sentences)
        inspect.unwrap(function).__globals__.setdefault(DECLARED, []).append(made)
        function.__opencrab_action__ = made  # type: ignore[attr-defined]
        return function

    return declare


def _call(name: str, function: Callable[..., Any], effect: str) -> CustomCall:
    declared = _member(name, "effect", effect, _EFFECTS)
    _, told = _arguments(name, function)
    if declared is Effect.KEYED and not told:
        raise ActionDeclarationError(
            f"{name} is keyed, and takes no CallContext, so that it never sees its key",
            cure="add the parameter context: CallContext, and send context.key",
        )
    return CustomCall(
        name=name,
        file=inspect.unwrap(function).__code__.co_filename,
        function=function,
        context_parameter=told,
        effect=declared,
    )


def _custom_action(
    name: str, call: CustomCall, impact: str, ja: str, sentences: tuple[str, str] | None
) -> CustomAction:
    model, _ = _arguments(name, call.function)
    return CustomAction(
        name=name,
        impact=_member(name, "impact", impact, _IMPACTS),
        arguments=model,
        descriptions=_descriptions(name, call.function.__doc__, ja),
        sentences=_sentences(name, sentences, model),
        call=call,
        origin=f"{call.file}:{inspect.unwrap(call.function).__code__.co_firstlineno}",
    )


def declared_custom_actions(module: Any) -> tuple[CustomAction, ...]:
    """Return the actions that a module declares, and those that it imports, each once."""
    found = list[CustomAction](vars(module).get(DECLARED, ()))
    for value in list(vars(module).values()):
        made = getattr(value, "__opencrab_action__", None)
        if isinstance(made, CustomAction) and made not in found:
            found.append(made)
    return tuple(found)


def declared_custom_action(function: Callable[..., Any]) -> CustomAction:
    """Return what was declared of a function; raises ActionDeclarationError if nothing was."""
    made = getattr(function, "__opencrab_action__", None)
    if not isinstance(made, CustomAction):
        name = getattr(function, "__name__", repr(function))
        raise ActionDeclarationError(f"{name} is no action", cure="decorate it with @action(…)")
    return made


def _name(function: Callable[..., Any]) -> str:
    if not inspect.isfunction(function):
        raise ActionDeclarationError(f"{function!r} is no function", cure="decorate a def")
    name = function.__name__
    if not _NAME.fullmatch(name) or "__" in name:
        raise ActionDeclarationError(
            f"an action cannot be named {name!r}",
            cure="use 2 to 60 lower-case letters, digits and single underscores",
        )
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise ActionDeclarationError(f"{name} is async", cure="write def; each call has a thread")
    if inspect.isgeneratorfunction(function):
        raise ActionDeclarationError(f"{name} yields", cure="return a list instead")
    return name


def _member(name: str, what: str, given: Any, allowed: tuple[Any, ...]) -> Any:
    found = next((each for each in allowed if given in {each, each.value}), None)
    if found is None:
        names = ", ".join(each.value for each in allowed)
        raise ActionDeclarationError(
            f"{name} has the {what} {given!r}", cure=f"write one of {names}"
        )
    return found


def _seconds(name: str, given: float) -> float:
    if not 0 < given <= LONGEST_SECONDS:
        raise ActionDeclarationError(
            f"{name} has timeout_seconds={given!r}",
            cure=f"write more than 0 and at most {LONGEST_SECONDS:g}",
        )
    return float(given)


def _arguments(name: str, function: Callable[..., Any]) -> tuple[type[CustomArguments], str]:
    """Return the class of the arguments, and the parameter that takes the context, "" if none."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise ActionDeclarationError(
            f"{name} has an annotation that cannot be read: {error}",
            cure="import what it names at the top of the module",
        ) from error
    told, fields = "", dict[str, Any]()
    for parameter in inspect.signature(function).parameters.values():
        hint = hints.get(parameter.name)
        if hint is CallContext and not told:
            told = parameter.name
            continue
        _check_parameter(name, parameter, hint)
        is_needed = parameter.default is inspect.Parameter.empty
        fields[parameter.name] = (hint, ... if is_needed else parameter.default)
    try:
        model: type[CustomArguments] = create_model(
            f"{name}_arguments", __base__=CustomArguments, **fields
        )
        model.model_json_schema()
    except (PydanticUserError, TypeError, ValueError) as error:
        raise ActionDeclarationError(
            f"{name} has a parameter that no model can fill in: {one_line(str(error), 200)}",
            cure="use str, int, float, bool, list, dict, Literal or a pydantic model",
        ) from error
    return model, told


def _check_parameter(name: str, parameter: inspect.Parameter, hint: Any) -> None:
    given = parameter.name
    if hint is CallContext or CallContext in get_args(hint):
        raise ActionDeclarationError(
            f"the parameter {given!r} of {name} is a CallContext that a model would fill in",
            cure="write one parameter context: CallContext, and nothing beside it",
        )
    if parameter.kind not in _PARAMETERS:
        raise ActionDeclarationError(
            f"{name} takes {parameter}", cure="give each argument a name, without * and /"
        )
    if hint is None:
        raise ActionDeclarationError(
            f"the parameter {given!r} of {name} has no annotation",
            cure=f"write {given}: str, or another type",
        )
    if given.startswith("_") or hasattr(CustomArguments, given):
        raise ActionDeclarationError(
            f"the parameter {given!r} of {name} has a name that pydantic uses itself",
            cure="call it otherwise",
        )


def _descriptions(name: str, documented: str | None, ja: str) -> dict[Language, str]:
    english = " ".join((documented or "").split())
    if not english:
        raise ActionDeclarationError(
            f"{name} has no docstring, from which a model learns what it does", cure="write one"
        )
    found = {Language.EN: english, Language.JA: " ".join(ja.split()) or english}
    longest = max(len(each.encode()) for each in found.values())
    if longest > MOST_WORDS:
        raise ActionDeclarationError(
            f"the description of {name} has {longest} bytes",
            cure=f"say it in {MOST_WORDS}, as each prompt carries it; write the rest as comments",
        )
    return found


def _sentences(name: str, given: Any, model: type[CustomArguments]) -> dict[Language, str]:
    if given is None:
        return {Language.EN: f"Run {name}", Language.JA: f"{name}を実行する"}
    if not isinstance(given, tuple | list) or len(given) != len(Language) or not all(given):
        raise ActionDeclarationError(
            f"the sentences of {name} are not two", cure='write ("in English", "日本語で")'
        )
    # A call names its arguments as its model does.
    known = {info.alias or each for each, info in model.model_fields.items()}
    for sentence in given:
        try:
            fields = {each[1] for each in Formatter().parse(sentence) if each[1] is not None}
        except ValueError as error:
            raise ActionDeclarationError(
                f"a sentence of {name} has braces that do not match: {error}",
                cure="write {{ and }} for braces",
            ) from error
        if unknown := sorted(fields - known):
            raise ActionDeclarationError(
                f"a sentence of {name} names {{{unknown[0]}}}, which is no parameter",
                cure="name parameters only",
            )
        try:
            sentence.format_map(dict.fromkeys(known, "…"))
        except (ValueError, KeyError) as error:
            raise ActionDeclarationError(
                f"a sentence of {name} has a format that no text has: {error}",
                cure="write {parameter} alone: each is shown as the model wrote it",
            ) from error
    return dict(zip((Language.EN, Language.JA), given, strict=True))


def _no_condition(_arguments: Any, _context: ActionContext) -> dict[str, Any]:
    """Return no precondition: the key, which the intent has anyway, makes a repeat harmless."""
    return {}


def _excerpt(arguments: BaseModel) -> str:
    return one_line(arguments.model_dump(mode="json"), _SHOWN)
