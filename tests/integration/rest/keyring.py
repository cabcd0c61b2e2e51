"""A house with a key of each kind, and a session, task, approval and files of one of them."""

from typing import Any

from opencrab.domain.access.authority import Scope
from opencrab.domain.access.principal import ApiKey
from opencrab.domain.identifier import content_hash
from opencrab.gateways.rest.app import create_rest_app
from opencrab.gateways.rest.http.polling import PollingWatch
from tests.integration.rest.house import SETUP, House

SCHEDULE = {"name": "x", "when": "@every 1h", "instructions": "x"}


class Keyring:
    """What the creator has and shares, and a key of each kind of `route_rules.KEYS`."""

    def __init__(self, house: House) -> None:
        self.house = house
        # Streams end at once.
        house.app = create_rest_app(
            house.runtime, watch=PollingWatch(0.02), setup=lambda _: SETUP, longest_seconds=0
        )
        delegate = house.key(Scope.CHAT)[1].principal.id
        rules = {"delegates": [delegate]}
        self.agent = house.agent(policy="strict", approvals=rules)
        self.other_agent = house.agent("Ren")
        creator, made = house.key(Scope.CHAT)
        self.creator = made.principal.id
        self.session = self._session(self.agent, creator)
        self.other_session = self._session(self.other_agent, house.owner)
        place = f"/agents/{self.agent}"
        task = house.made(f"{place}/tasks", {"instruction": "描いて"}, key=creator)
        self.task_session = task["session_id"]
        (self.turn,) = house.say(self.session, "write memo.txt: hello crab", key=creator)
        house.work()
        self.approval = str(house.got("/approvals")["items"][0]["id"])
        self.schedule = str(house.made(f"{place}/schedules", SCHEDULE)["id"])
        house.made(f"{place}/skills", {"name": "tide-table", "description": "x", "guidance": "x"})
        for path in ("memo.txt", "public/menu.txt"):
            house.call("PUT", f"{place}/workspace/{path}", content=b"crab")
        member, uninvited, guest = (house.key(Scope.CHAT) for _ in range(3))
        self.guest = guest[1].principal.id
        for session_id in (self.session, self.task_session):
            house.invite(session_id, member[0])
        gone, key = house.key(Scope.OWNER)
        house.runtime.home.keys.revoke(key.id, house.runtime.clock.now())
        own = (f"sessions:{self.session}", f"sessions:{self.task_session}")
        self.keys = {
            "owner": house.owner,
            "creator": creator,
            "member": member[0],
            "uninvited": uninvited[0],
            "sessions:own": house.granted(*own)[0],
            "sessions:other": house.granted(f"sessions:{self.other_session}")[0],
            "sessions:delegate": house.granted(
                f"sessions:{self.other_session}", principal_id=delegate
            )[0],
            "agent:own": house.granted(f"agent:{self.agent}")[0],
            "agent:other": house.granted(f"agent:{self.other_agent}")[0],
            "metrics": house.granted("metrics")[0],
            "all": house.granted("all")[0],
            "legacy": self._legacy(),
            "revoked": gone,
            "none": "",
        }

    def ids(self) -> dict[str, str]:
        """What stands for each parameter of a path."""
        return {
            "agent_id": self.agent,
            "session_id": self.session,
            "turn_id": self.turn,
            "approval_id": self.approval,
            "task_id": "G1",
            "goal_id": "G1",
            "schedule_id": self.schedule,
            "skill": "tide-table",
            "path": "memo.txt",
            "principal_id": self.guest,
        }

    def _session(self, agent_id: str, key: str) -> str:
        body: dict[str, Any] = {"participants": [agent_id]}
        return str(self.house.made("/sessions", body, key=key)["id"])

    def _legacy(self) -> str:
        """A read key as releases before grants stored it."""
        secret = "oc_made_before_there_were_grants"
        key = ApiKey(
            id="legacy",
            name="前の鍵",
            scope=Scope.READ,
            hash=content_hash(secret.encode()),
            created_at=self.house.runtime.clock.now(),
        )
        self.house.runtime.home.keys.put(key)
        return secret
