"""API keys in the table, read without an SDK: all that the authoriser asks."""

import json

from opencrab.adapters.door.aws import PlainAws
from opencrab.domain.errors import Unavailable

_SCHEMA = 1
"""The newest version of a stored key that this code reads, as in `adapters.dynamodb.access.key`."""


class PlainDynamoKeys:
    """The API keys of the DynamoDB table, in the format of `adapters.dynamodb.access.key`."""

    def __init__(self, aws: PlainAws, table: str, *, seconds: float) -> None:
        self._aws = aws
        self._table = table
        self._seconds = seconds

    def is_valid(self, digest: str) -> bool:
        """Check whether a key is known and not revoked, by a consistent read.

        Raise Unavailable, also for a key that a newer version of OpenCrab has written.
        """
        given = {
            "TableName": self._table,
            "Key": {"pk": {"S": f"KEY#{digest}"}, "sk": {"S": "K"}},
            "ConsistentRead": True,
        }
        found = self._aws.call("DynamoDB_20120810.GetItem", given, seconds=self._seconds)
        item = found.get("Item")
        if not item:
            return False
        if int(item.get("schema", {"N": "1"})["N"]) > _SCHEMA:
            raise Unavailable(
                "the key was written by a newer version of OpenCrab",
                cure="wait until the deployment has ended, or deploy the newer version again",
            )
        return json.loads(item["body"]["S"]).get("revoked_at") is None
