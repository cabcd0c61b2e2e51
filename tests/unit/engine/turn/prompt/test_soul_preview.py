"""The text that a soul would give is the text that it gives."""

import pytest

from opencrab.domain.agents.soul import Personality
from opencrab.domain.value import Language
from opencrab.engine.turn.prompt.soul_preview import preview_system_prompt
from opencrab.engine.turn.prompt.system_text import system_prompt_text
from tests.unit.engine.turn.prompt.test_system_text import profile, session


@pytest.mark.parametrize("language", Language)
def test_the_preview_is_the_system_text_of_a_session_without_a_theme(language: Language) -> None:
    stored = profile(language, purpose="海を守る")
    assert preview_system_prompt(stored) == system_prompt_text(stored, session())
    bold = stored.soul.replaced(personality=Personality(openness=0.9))
    assert "0.9" in preview_system_prompt(stored.replaced(soul=bold))
