"""Routing: which model is meant for what, who may change that, and who is asked when one fails."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from opencrab.domain.models.optimization import Aim
from opencrab.domain.value import ShortText, Unit, Value

ModelReference = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9_.\-]+(:\S+)?$", max_length=264)
]
"""`provider:model`, an alias, or a provider, which means its default model."""


class Use(StrEnum):
    """The purpose of a model call."""

    THINKING = "thinking"
    CONVERSATION = "conversation"
    ANALYSIS = "analysis"
    TOOL_CALLING = "tool_calling"
    CREATIVE = "creative"
    EMBEDDING = "embedding"


LOW_STAKES = frozenset({Use.CONVERSATION, Use.CREATIVE, Use.ANALYSIS})
"""The uses in which models are tried unasked before anything is known of them."""


class Duration(StrEnum):
    """The time for which a choice of a model holds."""

    THIS_TURN = "this_turn"
    THIS_SESSION = "this_session"
    PERMANENT = "permanent"


class ReasoningEffort(StrEnum):
    """How much a reasoning model thinks before it answers."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Sampling(Value):
    """How a model makes an answer; None leaves a setting to the next wider choice.

    An agent's own comes before that of the use, and that before the model's default. What a model
    does not accept is left out of a call.
    """

    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    max_output_tokens: Annotated[int, Field(ge=16, le=1_000_000)] | None = None
    reasoning_effort: ReasoningEffort | None = None


class CallOptions(Sampling):
    """Options of a model call for one use; those that a model forbids are left out."""

    stop: tuple[str, ...] = ()
    timeout_seconds: Annotated[float, Field(gt=0, le=280)] = 30.0

    def with_sampling(self, own: Sampling | None) -> "CallOptions":
        """Return these options with an agent's own sampling for the use, where it has any."""
        if own is None:
            return self
        changes = {name: value for name, value in own if value is not None}
        if own.top_p is not None and own.temperature is None:
            # Vendors advise to set one of the two, and some refuse both.
            changes["temperature"] = None
        return self.replaced(**changes)


class LlmConfig(Value):
    """An agent's routing settings: its permanent choices, and what it may change itself.

    None leaves a setting to the installation. A `private` agent uses private models only. `aim`
    says what may be learned about the choice of models; `sampling` is how its models make answers
    for a use, where that differs from the installation's.
    """

    models: dict[Use, ModelReference] = Field(default_factory=dict)
    self_selection: bool | None = None
    selectable: tuple[ModelReference, ...] | None = None
    private: bool = False
    aim: Aim = Field(default_factory=Aim)
    sampling: dict[Use, Sampling] = Field(default_factory=dict, exclude_if=lambda own: not own)


class ModelAssignment(Value):
    """The model that a turn drew for a use and type of task, and its probability."""

    use: Use
    task_type: str
    model: ModelReference
    probability: Unit


class ModelChosen(Value):
    """An agent's choice of a model for one use."""

    kind: Literal["model_chosen"] = "model_chosen"
    use: Use
    model: ModelReference
    duration: Duration
    reason: ShortText = ""


class RoutingBasis(Value):
    """The inputs of routing, fixed at a turn's first model call.

    Later changes affect the next turn.

    `model` is the agent's for every use, `models` are its permanent choices, `session` those that
    it made for this session, `lots` the models drawn from traffic splits.
    """

    model: str | None = None
    models: dict[Use, str] = Field(default_factory=dict)
    session: dict[Use, str] = Field(default_factory=dict)
    lots: tuple[ModelAssignment, ...] = ()

    def assignment_for(self, use: Use, task_type: str) -> ModelAssignment | None:
        """Return the model drawn for a use and a type of task, or None."""
        drawn = (lot for lot in self.lots if (lot.use, lot.task_type) == (use, task_type))
        return next(drawn, None)


class ChosenModel(Value):
    """The model for a use, and the rule that chose it.

    `by` is turn, session, permanent, learned, agent, use or default.
    """

    model: str
    by: str


class Routing(Value):
    """The installation's rules for choosing models; references are names for `Models.get`.

    `fallback` are the models to try next, in order. `selectable` are aliases.
    """

    default: str
    uses: dict[Use, str] = Field(default_factory=dict)
    aliases: dict[str, str] = Field(default_factory=dict)
    fallback: tuple[str, ...] = ()
    manners: dict[Use, CallOptions] = Field(default_factory=dict)
    self_selection: bool = True
    selectable: tuple[str, ...] = ()

    def call_options(self, use: Use) -> CallOptions:
        """Return the call options of a use."""
        return self.manners.get(use, _PLAIN)

    def use_of_call(
        self, use: Use, basis: RoutingBasis, choices: Sequence[ModelChosen], task_type: str
    ) -> Use:
        """Return the use of a call that continues after tool calls, where `use` is the turn's.

        It is `tool_calling` if a model was named for that, and none more specifically for the
        turn's own use; otherwise the turn keeps its model.
        """
        if Use.TOOL_CALLING in {choice.use for choice in choices}:
            return Use.TOOL_CALLING
        acting = self.chosen(Use.TOOL_CALLING, basis, choices, task_type).by
        own = self.chosen(use, basis, choices, task_type).by
        named = acting in {"session", "permanent", "learned", "use"}
        return Use.TOOL_CALLING if named and _RULES.index(acting) <= _RULES.index(own) else use

    def chosen(
        self,
        use: Use,
        basis: RoutingBasis,
        choices: Sequence[ModelChosen] = (),
        task_type: str = "",
    ) -> ChosenModel:
        """Return the model of the most specific choice for a use; `choices` are those of the turn.

        A choice of the turn holds for the rest of it whatever its use, unless another was made for
        this one. A learned split holds for its type of task only, and never overrides an explicit
        choice.
        """
        if use is not Use.EMBEDDING and choices:
            for_use = [choice.model for choice in choices if choice.use is use]
            return ChosenModel(model=(for_use or [choices[-1].model])[-1], by="turn")
        for by, models in (("session", basis.session), ("permanent", basis.models)):
            if use in models:
                return ChosenModel(model=models[use], by=by)
        if (lot := basis.assignment_for(use, task_type)) is not None:
            return ChosenModel(model=lot.model, by="learned")
        if basis.model is not None:
            return ChosenModel(model=basis.model, by="agent")
        if use in self.uses:
            return ChosenModel(model=self.uses[use], by="use")
        return ChosenModel(model=self.default, by="default")


_PLAIN = CallOptions()
_RULES = ("turn", "session", "permanent", "learned", "agent", "use", "default")
"""The rules of `Routing.chosen`, the most specific first."""
