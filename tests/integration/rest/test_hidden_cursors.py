"""Cursors of lists of which a caller sees a part."""

import base64

from opencrab.domain.access.authority import Scope
from opencrab.domain.conversation.session import Participant, Session
from opencrab.engine.access.visibility import SCANNED, SCANS
from tests.integration.rest.house import House, problem


def test_a_cursor_after_hidden_sessions_names_none_of_them_and_leads_on(house: House) -> None:
    agent, home = house.agent(), house.runtime.home
    now, hidden = house.runtime.clock.now(), set[str]()
    for number in range(SCANNED * SCANS + 50):
        hidden.add(f"a{number:05d}")
        home.sessions.create(
            Session(
                id=f"a{number:05d}",
                participants=(Participant(agent_id=agent),),
                created_by="somebody",
                created_at=now,
                updated_at=now,
            )
        )
    stranger, key = house.key(Scope.CHAT)
    own = "b1"
    home.sessions.create(
        Session(
            id=own,
            participants=(Participant(agent_id=agent),),
            created_by=key.principal.id,
            created_at=now,
            updated_at=now,
        )
    )
    first = house.got("/sessions?limit=1", key=stranger)
    cursor = first["next_cursor"]
    assert first["items"] == []
    place = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
    assert not any(each in place for each in hidden)
    after = house.got(f"/sessions?limit=1&cursor={cursor}", key=stranger)
    assert [each["id"] for each in after["items"]] == [own]
    problem(house.call("GET", f"/agents?cursor={cursor}"), 422, "cursor")
    unknown = base64.urlsafe_b64encode(b"sessions:~x").decode().rstrip("=")
    problem(house.call("GET", f"/sessions?cursor={unknown}"), 422, "cursor")
