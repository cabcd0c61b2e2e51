"""Reservation: the upper bound of a model call's cost, and the draws that pay for it."""

from opencrab.domain.agents.agent import Agent
from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.money.budget import BudgetDraw, Limits
from opencrab.domain.turn.record import ModelAnswer
from opencrab.domain.turn.turn import Block, Turn, turn_block_draws
from opencrab.domain.value import MicroUsd
from opencrab.ports.agents import Agents
from opencrab.ports.models.model import ChatMessage, ChatRequest, ModelInfo

_OF_AGENTS = ("agent:", "heartbeat:")


def model_call_reservation(info: ModelInfo, request: ChatRequest, body: bytes) -> MicroUsd:
    """Return an upper bound of a call's cost; raise Invalid for an unknown price.

    No token is shorter than one byte of UTF-8. Images are counted as their vendor does; what the
    vendor itself adds to a request, or reasons beyond its limit, comes on top.
    """
    if info.price is None:
        raise Invalid(
            f"the price of model {info.name!r} is unknown, so it may not be used",
            cure=f"set llm.providers.{info.provider}.usd_per_million, or choose another model",
        )
    return info.price.reservation(
        request_tokens=_most_request_tokens(info, request, body),
        max_output_tokens=request.max_output_tokens + info.hidden_output_tokens,
    )


def cost_of_interrupted_call(
    info: ModelInfo, request: ChatRequest, body: bytes, answer: ModelAnswer
) -> MicroUsd:
    """Return a bound of the cost of a call that was ended early.

    The request counts as in the reservation, unless the vendor has counted it, and the answer as
    many tokens as it has bytes so far (`ChatModel.chat`).
    """
    usage, price = answer.usage, info.price
    if price is None:
        return 0
    return price.reservation(
        request_tokens=usage.input_tokens or _most_request_tokens(info, request, body),
        max_output_tokens=usage.output_tokens,
    )


def _most_request_tokens(info: ModelInfo, request: ChatRequest, body: bytes) -> int:
    images = [
        image for turn in request.turns if isinstance(turn, ChatMessage) for image in turn.images
    ]
    # Bytes, not an estimate: no tokenizer makes more tokens than bytes, so the bill cannot be
    # higher.
    words = len(body) - sum(len(image.data) for image in images)
    return words + len(images) * info.image_tokens + info.hidden_tokens


def draw_budget_block(
    agents: Agents, turn: Turn, agent: Agent, block: Block, limits: Limits
) -> tuple[BudgetDraw, ...]:
    """Return the draws that take a block from every budget of a turn of this agent.

    What another agent asked for counts on that agent's day too: its limit is read then.
    """
    draws = turn_block_draws(turn, block, limits, agent.day_limit_micro_usd)
    caller = next(filter(None, (_other_agent(each, agent.id) for each in block.scopes)), None)
    if caller is None:
        return draws
    own = _day_limit(agents, caller)
    return tuple(
        draw.replaced(limit_micro_usd=limits.of_budget(draw.scope, own))
        if _other_agent(draw.scope, agent.id)
        else draw
        for draw in draws
    )


def _other_agent(scope: str, agent_id: str) -> str | None:
    """Return the agent whose budget a scope is, None if it is this agent's or nobody's."""
    owner = scope.partition(":")[2]
    return owner if scope.startswith(_OF_AGENTS) and owner != agent_id else None


def _day_limit(agents: Agents, agent_id: str) -> MicroUsd | None:
    """Return the daily limit that another agent was given; None if it has none of its own."""
    try:
        return agents.get(agent_id).agent.day_limit_micro_usd
    except NotFound:
        return None
