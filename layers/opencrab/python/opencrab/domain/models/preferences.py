"""Preferences: what an owner changes of the configuration while the installation runs."""

from collections.abc import Mapping
from datetime import date
from typing import Annotated

from pydantic import Field, StringConstraints

from opencrab.domain.errors import Invalid, UnreadableValue
from opencrab.domain.models.routing import ModelReference
from opencrab.domain.money.budget import Price
from opencrab.domain.value import ShortText, Text, Value

ALIASES = 100
PROVIDERS = 50
PRICES = 2_000
DOCUMENT_BYTES = 300 * 1_024

AliasName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
PricedName = Annotated[Text, StringConstraints(min_length=1, max_length=264)]
ProviderName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]


class ProviderChange(Value):
    """An owner's changes to one provider; None leaves a setting as it is configured.

    `key_origin` is the origin that its key was given for, and `key_seal` a hash of both
    (`domain.access.origin`): no other key is sent there, and this key nowhere else. Without them
    the key belongs to the configured address.
    """

    enabled: bool | None = None
    base_url: ShortText | None = None
    private: bool | None = None
    key_origin: ShortText | None = None
    key_seal: ShortText | None = None


class DatedPrice(Value):
    """A model's price as it was fetched on a day; the newest date overrides older data."""

    price: Price
    as_of: date


class Preferences(Value):
    """An owner's changes to the configuration at run time; None leaves a part as configured."""

    aliases: Annotated[dict[AliasName, ModelReference], Field(max_length=ALIASES)] | None = None
    fallback: Annotated[tuple[ModelReference, ...], Field(max_length=20)] | None = None
    providers: Annotated[dict[ProviderName, ProviderChange], Field(max_length=PROVIDERS)] = Field(
        default_factory=dict
    )
    prices: Annotated[dict[PricedName, DatedPrice], Field(max_length=PRICES)] = Field(
        default_factory=dict
    )

    @classmethod
    def read(cls, document: Mapping[str, object]) -> "Preferences":
        """Parse a stored document; raises Invalid if it does not fit this version."""
        try:
            return cls.from_stored(document)
        except UnreadableValue as error:
            raise Invalid(
                f"the stored preferences cannot be read: {error.message}",
                field="preferences",
                cure="use the version of OpenCrab that wrote them, or restore a backup",
            ) from None

    def document(self) -> str:
        """Return the preferences as JSON to store.

        Raises Invalid above DOCUMENT_BYTES, or for more providers than can be read again.
        """
        if len(self.providers) > PROVIDERS:
            raise Invalid(
                f"at most {PROVIDERS} providers can be added or changed",
                field="providers",
                cure="remove added providers that you do not use",
            )
        text = self.without_defaults()
        size = len(text.encode())
        if size > DOCUMENT_BYTES:
            raise Invalid(
                f"the preferences have {size} bytes, at most {DOCUMENT_BYTES} are allowed",
                field="preferences",
                cure="remove unused prices or aliases",
            )
        return text
