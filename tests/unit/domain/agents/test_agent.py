"""An agent: who it may be, what it may be called, and when it answers."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from opencrab.domain.agents.agent import (
    METADATA_ENTRIES,
    Agent,
    AgentStatus,
    Identity,
    Profile,
    Role,
)
from opencrab.domain.agents.soul import Soul
from opencrab.domain.approvals.policy import ApprovalPolicy
from opencrab.domain.value import Language

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)


def agent(**fields: Any) -> Agent:
    given: dict[str, Any] = {"id": "mika", "name": "美香", "created_at": NOW, "updated_at": NOW}
    return Agent.model_validate(given | fields)


def test_a_new_agent_is_active_guarded_and_nobodys() -> None:
    new = agent()
    assert new.status is AgentStatus.ACTIVE
    assert new.policy is ApprovalPolicy.GUARDED
    assert new.owner is None
    assert new.version == 1
    assert new.language is Language.EN


@pytest.mark.parametrize(
    ("status", "answers"),
    [(AgentStatus.ACTIVE, True), (AgentStatus.DORMANT, True), (AgentStatus.RETIRED, False)],
)
def test_a_message_wakes_the_dormant_and_never_the_retired(
    status: AgentStatus, *, answers: bool
) -> None:
    assert agent(status=status).answers is answers


@pytest.mark.parametrize("name", ["美香", "Ken", "é", "x" * 100, "海" * 100])
def test_a_name_is_one_to_a_hundred_characters(name: str) -> None:
    assert agent(name=f" {name}\u3000").name == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "   ",
        "\u3000",
        "x" * 101,
        "海" * 101,
        "a\nb",
        "a\x00b",
        "a\u2028b",
        "a\x1b[31m",
        "\ud83e",
    ],
)
def test_what_is_not_one_line_of_whole_characters_is_no_name(name: str) -> None:
    with pytest.raises(ValidationError, match="name"):
        agent(name=name)


def test_a_name_has_one_form_whatever_the_keyboard_sent() -> None:
    assert agent(name="か\u3099").name == "が"
    assert agent(name="e\u0301").name == "é"


@pytest.mark.parametrize("text", ["", "a b", "a/b", "../x", "海", "a" * 65, "a\n", "a.b"])
def test_an_id_fits_keys_and_paths(text: str) -> None:
    with pytest.raises(ValidationError, match="id"):
        agent(id=text)


@pytest.mark.parametrize("model", ["gpt", ":x", "OpenAI:x", "openai:", "openai:a b"])
def test_a_model_is_named_with_its_provider(model: str) -> None:
    with pytest.raises(ValidationError, match="model"):
        agent(model=model)
    assert agent(model="openai:gpt-5-nano").model == "openai:gpt-5-nano"


@pytest.mark.parametrize("limit", [-1, 10**12 + 1, 0.5, float("nan")])
def test_a_day_limit_is_a_whole_number_of_micro_dollars(limit: float) -> None:
    with pytest.raises(ValidationError, match="day_limit_micro_usd"):
        agent(day_limit_micro_usd=limit)


def test_an_agent_never_changes_in_place() -> None:
    before = agent()
    after = before.replaced(name="海")
    assert (before.name, after.name) == ("美香", "海")
    with pytest.raises(ValidationError, match="frozen"):
        before.name = "海"  # type: ignore[misc]  # the point


@pytest.mark.parametrize("name", ["美香", "Ken"])
def test_a_profile_comes_back_from_its_stored_form(name: str) -> None:
    profile = Profile(
        agent=agent(name=name), soul=Soul(persona_name=name), identity=Identity(name=name)
    )
    assert Profile.model_validate_json(profile.model_dump_json()) == profile


def test_an_identity_describes_itself_in_japanese() -> None:
    identity = Identity(
        name="美香", role=Role.FACILITATOR, job_title="研究員", organization="海洋研究所"
    )
    assert identity.describe(Language.JA) == (
        "名前: 美香\n役割: ファシリテーター\n職種: 研究員\n所属: 海洋研究所"
    )


def test_an_identity_leaves_out_what_it_does_not_have() -> None:
    assert Identity(name="Ken").describe(Language.EN) == "Name: Ken"


USUAL = {Role.DISCUSSANT, Role.CUSTOM}
"""Without a word of its own: what everybody is, and what the owner names."""


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("role", [role for role in Role if role not in USUAL])
def test_every_role_has_a_word_in_every_language(role: Role, language: Language) -> None:
    word = Identity(name="x", role=role).describe(language).splitlines()[1].partition(": ")[2]
    assert word
    assert word.isascii() is (language is Language.EN)


@pytest.mark.parametrize(("language", "label"), [(Language.JA, "役割"), (Language.EN, "Role")])
def test_a_custom_role_is_described_by_its_own_name(language: Language, label: str) -> None:
    identity = Identity(name="蟹", role=Role.CUSTOM, custom_role="悪魔の代弁者")
    assert f"{label}: 悪魔の代弁者" in identity.describe(language)


@pytest.mark.parametrize(
    "fields", [{"role": "custom"}, {"role": "observer", "custom_role": "書記"}]
)
def test_a_role_has_a_name_exactly_when_it_is_custom(fields: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="custom_role must be set if role is"):
        Identity.model_validate({"name": "蟹"} | fields)


@pytest.mark.parametrize("address", ["ftp://x", "javascript:alert(1)", "https://", "https://a b"])
def test_an_image_has_a_web_address(address: str) -> None:
    with pytest.raises(ValidationError, match="image_url"):
        Identity(name="蟹", image_url=address)
    assert Identity(name="蟹", image_url="https://example.com/蟹.png").image_url


def test_there_is_a_most_of_metadata() -> None:
    metadata = {f"項目{n}": "x" for n in range(METADATA_ENTRIES + 1)}
    with pytest.raises(ValidationError, match="metadata"):
        Identity(name="蟹", metadata=metadata)


def test_a_name_that_grows_when_composed_is_measured_composed() -> None:
    assert Identity(name="\u0958" * 50).name == "\u0915\u093c" * 50
    with pytest.raises(ValidationError, match="at most 100"):
        Identity(name="\u0958" * 51)
