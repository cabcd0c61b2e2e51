"""The owner's key where its hash is deployed: known without being stored."""

from datetime import UTC, datetime

from opencrab.domain.access.authority import Scope
from opencrab.domain.access.principal import ApiKey
from opencrab.domain.errors import Conflict, Refused
from opencrab.ports.access.keys import Keys

OWNER = "owner"
_DEPLOYED = datetime(1970, 1, 1, tzinfo=UTC)


class OwnerKey:
    """`ports.access.keys.Keys` with the owner's key added, which only a deployment can change."""

    def __init__(self, keys: Keys, digest: str) -> None:
        self._keys = keys
        self._key = ApiKey(
            id=OWNER, name=OWNER, scope=Scope.OWNER, hash=digest, created_at=_DEPLOYED
        )

    def put(self, key: ApiKey) -> None:
        if key.hash == self._key.hash:
            raise Conflict(
                f"API key {key.id!r} has the same secret as the owner's key",
                cure="create the key again, with another secret",
            )
        self._keys.put(key)

    def find(self, digest: str) -> ApiKey | None:
        return self._key if digest == self._key.hash else self._keys.find(digest)

    def list(self) -> tuple[ApiKey, ...]:
        return (self._key, *self._keys.list())

    def revoke(self, key_id: str, now: datetime, *, keep_last_owner: bool = True) -> ApiKey:  # noqa: ARG002
        if key_id == self._key.id:
            raise Refused(
                "the owner's key was deployed, so it cannot be revoked here",
                cure="unset OPENCRAB_OWNER_KEY, move the file ~/.opencrab/STAGE-ACCOUNT-REGION.key "
                'away, and run `make deploy ARGS="--stage STAGE --new-owner-key"`',
            )
        # The deployed key stays, so that the last stored one need not.
        return self._keys.revoke(key_id, now, keep_last_owner=False)
