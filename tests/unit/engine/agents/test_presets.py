"""The founding population is the one of the seed, and can be told in both languages."""

import pytest

from opencrab.domain.value import Language
from opencrab.engine.agents.presets import (
    WORLD_ROLE,
    Preset,
    agent_from_preset,
    founder_presets,
    is_founder_preset,
    newcomer_agent_presets,
)

SEED = """
COMPILER_SMITH 0.3 0.5 0.2 0.2
COMPILER_SMITH 0.7 0.3 0.3 0.6
LIBRARIAN 0.4 0.7 0.5 0.3
LIBRARIAN 0.5 0.6 0.8 0.4
ARCHITECT 0.3 0.8 0.4 0.1
EXPLORER 0.9 0.4 0.7 0.7
GENERALIST 0.5 0.5 0.5 0.5
GENERALIST 0.6 0.6 0.6 0.4
"""


def test_the_eight_founders_have_the_roles_and_drives_of_the_seed() -> None:
    told = [
        " ".join([founder.role, *map(str, founder.drives.model_dump().values())])
        for founder in founder_presets()
    ]
    assert told == SEED.split("\n")[1:-1]


@pytest.mark.parametrize("language", Language)
def test_every_founder_and_preset_has_words_of_its_own_in_both_languages(
    language: Language,
) -> None:
    everybody: tuple[Preset, ...] = (*founder_presets(), *newcomer_agent_presets())
    words = [each.words[language] for each in everybody]
    assert len({each.name for each in words}) == len(everybody)
    assert len({each.key for each in everybody}) == len(everybody)
    assert all(word.title and word.purpose for word in words)
    assert all(founder.words[language].instructions for founder in founder_presets())
    assert {
        each.key for each in newcomer_agent_presets() if not each.words[language].instructions
    } == {
        "companion",
        "facilitator",
    }


def test_a_founder_has_its_role_before_it_is_bound_to_a_world() -> None:
    for founder in founder_presets():
        made = agent_from_preset(founder, Language.JA)
        assert made.identity.metadata == {"world_role": founder.role.value}
        assert made.identity.job_title == founder.words[Language.JA].title
    newcomer = agent_from_preset(newcomer_agent_presets()[0], Language.JA)
    assert newcomer.identity.metadata == {}


def test_a_founder_is_known_by_its_role_or_its_purpose() -> None:
    """Those of the release before have no role yet; a namesake has neither."""
    first, *_ = founder_presets()
    assert is_founder_preset(first, {WORLD_ROLE: "EXPLORER"}, "mine now")
    for words in first.words.values():
        assert is_founder_preset(first, {}, words.purpose)
    assert not is_founder_preset(first, {}, "write my invoices")
