"""Everything that is stored after a run, as plain JSON, once all leases of budgets have ended."""

import json
from collections import Counter, defaultdict
from datetime import timedelta
from typing import Any

from opencrab.domain.errors import NotFound
from tests.crash.world import World

Json = dict[str, Any]
_LEASES_END = timedelta(days=1)
ENDS = frozenset({"completed", "idle", "stopped", "exhausted", "failed"})


class Rest:
    """The items of a run, read once and sorted by what they are."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.turns: dict[str, Json] = {}
        self.records: dict[str, dict[str, Json]] = defaultdict(dict)
        self.lines: dict[str, list[Json]] = defaultdict(list)
        self.sessions: dict[str, Json] = {}
        self.unanswered: dict[str, set[str]] = {}
        self.utterances: list[Json] = []
        self.drawn: Counter[str] = Counter()
        self.due = 0
        self.dead = 0
        world.raw.budgets.return_unspent(world.clock.now() + _LEASES_END)
        self.queued = world.ground.queued()
        for pk, sk, body in world.ground.items():
            kind, _, name = pk.partition("#")
            self._sort(kind, name, sk, body)

    def calls(self, turn_id: str) -> dict[str, Json]:
        """Everything that the model asked for in a turn, by the call's id."""
        return {
            call["id"]: call
            for record in self.records[turn_id].values()
            if record["kind"] == "model_result" and record["answer"]
            for call in record["answer"]["calls"]
        }

    def results(self, turn_id: str) -> list[Json]:
        """How calls ended, in the order of their records."""
        records = self.records[turn_id]
        return [records[key] for key in sorted(records) if records[key]["kind"] == "call_result"]

    def _sort(self, kind: str, name: str, sk: str, body: str) -> None:
        match kind, sk:
            case "TURN", "H":
                self.turns[name] = json.loads(body)
            case "TURN", _:
                self.records[name][sk] = self._resolved(json.loads(body))
            case "SESSION", "S":
                self.sessions[name] = json.loads(body)
            case "SESSION", "UNANSWERED":
                self.unanswered[name] = {
                    word for row in body.split("\n") for word in row.split()[1:]
                }
            case "SESSION", _:
                self.lines[name].append(json.loads(body))
            case "OUT", _:
                self.utterances.append(json.loads(body))
            case "BUDGET", _:
                self.drawn[name] += int(body)
            case _:
                self.due += kind == "DUE"
                self.dead += kind == "DEAD"

    def _resolved(self, record: Json) -> Json:
        if record["kind"] != "pointer":
            return record
        try:
            body: Json = json.loads(self._world.raw.blobs.get(record["sha256"]))
        except NotFound:
            self._world.problems.append(f"the body of record {record['n']} is lost")
            return record
        return body
