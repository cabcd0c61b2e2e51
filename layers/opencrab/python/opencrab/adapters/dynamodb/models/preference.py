"""The preferences in the table: one document with a version, which the board tells as well."""

import json

from pynamodb.expressions.operand import Path

from opencrab.adapters.dynamodb.item import Item, Schema
from opencrab.adapters.dynamodb.money.board import dynamodb_settings_version_write
from opencrab.adapters.dynamodb.table import Cancelled, Table, item_absent, put_item
from opencrab.domain.errors import Conflict
from opencrab.domain.models.preferences import Preferences
from opencrab.ports.models.preferences import StoredPreferences

SCHEMA = Schema("preferences")
PARTITION, DOCUMENT = "PREFERENCES", "P"


class DynamoPreferences:
    """`ports.models.preferences.PreferenceStore` on a DynamoDB table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self) -> StoredPreferences:
        item = self._table.get(PARTITION, DOCUMENT)
        return (
            StoredPreferences(Preferences())
            if item is None
            else _model_preferences_from_dynamodb_item(item)
        )

    def save(self, preferences: Preferences, version: int) -> StoredPreferences:
        saved = StoredPreferences(preferences, version + 1)
        known = Path("version") == version if version else item_absent()
        try:
            self._table.transact(
                put_item(_model_preferences_to_dynamodb_item(saved), known),
                dynamodb_settings_version_write(saved.version),
            )
        except Cancelled:
            raise Conflict(
                f"the settings were changed concurrently: version {version} is not the newest",
                cure="load them again and repeat the change",
            ) from None
        return saved


def _model_preferences_to_dynamodb_item(stored: StoredPreferences) -> Item:
    """Serialize the preferences to an item; raise Invalid if they are too large."""
    fields = {"body": stored.preferences.document(), "version": stored.version}
    return SCHEMA.encode_item(PARTITION, DOCUMENT, fields)


def _model_preferences_from_dynamodb_item(item: Item) -> StoredPreferences:
    """Deserialize the preferences from an item."""
    fields = SCHEMA.decode_item(item)
    return StoredPreferences(Preferences.read(json.loads(fields["body"])), fields["version"])
