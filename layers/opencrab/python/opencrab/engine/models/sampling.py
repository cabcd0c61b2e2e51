"""Sampling of a model call: what of the settings a model accepts, and what it would refuse."""

from collections.abc import Sequence
from typing import Any

from opencrab.domain.errors import Invalid
from opencrab.domain.models.routing import LlmConfig, ReasoningEffort, RoutingBasis, Sampling, Use
from opencrab.ports.models.model import ModelInfo, Models

_LEVELS = ("minimal", *ReasoningEffort, "xhigh")
"""The efforts of all vendors, the least first."""


def sampling_of_call(info: ModelInfo, wanted: Sampling) -> dict[str, Any]:
    """Return temperature, top_p and reasoning effort as a model accepts them; None leaves one out.

    A fallback may be a model that accepts less than the chosen one: its highest temperature and its
    nearest effort are used.
    """
    temperature, top_p = wanted.temperature, wanted.top_p
    if not info.temperature:
        temperature = top_p = None
    elif temperature is not None:
        temperature = min(temperature, info.most_temperature)
    return {
        "temperature": temperature,
        "top_p": top_p,
        "reasoning_effort": _effort(info, wanted.reasoning_effort),
    }


def require_sampling_of_agent(models: Models, config: LlmConfig, model: str | None) -> None:
    """Raise Invalid for sampling that the model of its use refuses, naming the limit.

    What a model does not take at all is no error: it is left out of its calls.
    """
    for use, wanted in config.sampling.items():
        field = f"sampling.{use}"
        if use is Use.EMBEDDING:
            raise Invalid("embeddings have no sampling", field=field, cure="leave embedding out")
        chosen = models.routing.chosen(use, RoutingBasis(model=model, models=config.models))
        try:
            info = models.get(chosen.model).info
        except Invalid:
            continue  # The installation names it, and it is missing for now.
        _require_accepted(info, wanted, field)


def _require_accepted(info: ModelInfo, wanted: Sampling, field: str) -> None:
    heat, length = wanted.temperature, wanted.max_output_tokens
    if heat is not None and info.temperature and heat > info.most_temperature:
        raise Invalid(
            f"{info.name!r} takes a temperature of at most {info.most_temperature}, not {heat:g}",
            field=f"{field}.temperature",
            cure=f"set {info.most_temperature} or less, or choose another model for this use",
        )
    if length is not None and length > info.max_output_tokens:
        raise Invalid(
            f"{info.name!r} answers with at most {info.max_output_tokens} tokens, not {length}",
            field=f"{field}.max_output_tokens",
            cure=f"set {info.max_output_tokens} or less, or choose another model for this use",
        )


def _effort(info: ModelInfo, wanted: ReasoningEffort | None) -> str | None:
    """Return the effort itself, else the next higher one that a model takes, else its highest."""
    if wanted is None:
        return None
    if info.thinking_budget:
        return wanted.value
    return _nearest(info.efforts, wanted)


def _nearest(levels: Sequence[str], wanted: str) -> str | None:
    known = sorted((level for level in levels if level in _LEVELS), key=_LEVELS.index)
    higher = (level for level in known if _LEVELS.index(level) >= _LEVELS.index(wanted))
    return next(higher, known[-1] if known else None)
