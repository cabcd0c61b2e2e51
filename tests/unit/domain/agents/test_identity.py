"""An identity: roles with names of their own, and words for the prompt."""

import pytest
from pydantic import ValidationError

from opencrab.domain.agents.identity import METADATA_ENTRIES, Identity, Role
from opencrab.domain.value import Language


def test_an_identity_describes_itself_in_japanese() -> None:
    identity = Identity(
        name="美香", role=Role.FACILITATOR, job_title="研究員", organization="海洋研究所"
    )
    assert identity.describe(Language.JA) == (
        "名前: 美香\n役割: ファシリテーター\n職種: 研究員\n所属: 海洋研究所"
    )


def test_an_identity_leaves_out_what_it_does_not_have() -> None:
    assert Identity(name="Ken").describe(Language.EN) == "Name: Ken\nRole: discussant"


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("role", [role for role in Role if role is not Role.CUSTOM])
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
    with pytest.raises(ValidationError, match="custom_role is set exactly when"):
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
