"""Identity: an agent's name, role and place among others."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from opencrab.domain.value import Language, Name, ShortText, Value

METADATA_ENTRIES = 32


class Role(StrEnum):
    """The part that an agent plays in a session."""

    DISCUSSANT = "discussant"
    FACILITATOR = "facilitator"
    OBSERVER = "observer"
    CUSTOM = "custom"


_ROLES = {
    Language.JA: {
        Role.DISCUSSANT: "議論参加者",
        Role.FACILITATOR: "ファシリテーター",
        Role.OBSERVER: "オブザーバー",
    },
    Language.EN: {
        Role.DISCUSSANT: "discussant",
        Role.FACILITATOR: "facilitator",
        Role.OBSERVER: "observer",
    },
}


class Identity(Value, defer_build=False):
    """Who the agent is to others."""

    name: Name
    role: Role = Role.DISCUSSANT
    custom_role: Name | None = None
    job_title: Name | None = None
    organization: Name | None = None
    image_url: (
        Annotated[str, StringConstraints(pattern=r"^https?://\S+$", max_length=2_008)] | None
    ) = None
    metadata: dict[Name, ShortText] = Field(default_factory=dict, max_length=METADATA_ENTRIES)

    @model_validator(mode="after")
    def _custom_roles_have_a_name(self) -> "Identity":
        if (self.role is Role.CUSTOM) != (self.custom_role is not None):
            raise ValueError("custom_role is set exactly when role is 'custom'")
        return self

    def describe(self, language: Language) -> str:
        """The identity in words for a system prompt."""
        role = self.custom_role or _ROLES[language][self.role]
        labels = (
            ("名前", "役割", "職種", "所属")
            if language is Language.JA
            else ("Name", "Role", "Job", "Organisation")
        )
        values = (self.name, role, self.job_title, self.organization)
        pairs = zip(labels, values, strict=True)
        return "\n".join(f"{label}: {value}" for label, value in pairs if value)
