"""Sampling: what a model accepts of the wishes, and which wishes are refused with their limit."""

import pytest

from opencrab.domain.models.routing import CallOptions, ReasoningEffort, Sampling
from opencrab.engine.models.router import sampling_of_call
from opencrab.ports.models.model import ModelInfo

LOW, MEDIUM, HIGH = ReasoningEffort


@pytest.mark.parametrize(
    ("efforts", "wanted", "told"),
    [
        ((), HIGH, None),
        (("low", "medium", "high"), MEDIUM, "medium"),
        (("low", "high"), MEDIUM, "high"),
        (("low", "medium"), HIGH, "medium"),
        (("xhigh", "medium"), LOW, "medium"),
        (("xhigh",), HIGH, "xhigh"),
        (("minimal",), LOW, "minimal"),
        (("enormous",), LOW, None),
    ],
)
def test_the_nearest_effort_is_told(
    efforts: tuple[str, ...], wanted: ReasoningEffort, told: str | None
) -> None:
    info = ModelInfo(name="a:b", efforts=efforts)
    assert sampling_of_call(info, Sampling(reasoning_effort=wanted))["reasoning_effort"] == told


def test_a_model_that_refuses_a_temperature_is_given_none() -> None:
    wanted = Sampling(temperature=0.2, top_p=0.5)
    found = sampling_of_call(ModelInfo(name="a:b", temperature=False), wanted)
    assert found == {"temperature": None, "top_p": None, "reasoning_effort": None}


def test_a_fallback_is_given_its_highest_temperature() -> None:
    info = ModelInfo(name="a:b", most_temperature=1)
    assert sampling_of_call(info, Sampling(temperature=1.8))["temperature"] == 1


def test_an_agents_own_sampling_comes_first_and_leaves_the_rest() -> None:
    use = CallOptions(temperature=0.7, stop=("終",), max_output_tokens=500, timeout_seconds=9)
    assert use.with_sampling(None) is use
    assert use.with_sampling(Sampling(temperature=0)) == use.replaced(temperature=0)
    own = Sampling(reasoning_effort=LOW, max_output_tokens=900)
    assert use.with_sampling(own) == use.replaced(reasoning_effort=LOW, max_output_tokens=900)


def test_an_agents_top_p_takes_the_place_of_the_uses_temperature() -> None:
    use = CallOptions(temperature=0.7)
    assert use.with_sampling(Sampling(top_p=0.5)) == CallOptions(top_p=0.5)
    both = Sampling(top_p=0.5, temperature=0.1)
    assert use.with_sampling(both) == CallOptions(top_p=0.5, temperature=0.1)
