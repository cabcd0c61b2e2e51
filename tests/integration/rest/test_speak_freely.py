"""An owner lets agents speak freely in a session, over REST, and what agents are told then."""

from opencrab.domain.access.authority import Scope
from tests.integration.rest.house import House, problem


def test_an_owner_lets_agents_speak_freely_and_ends_it(shared: House) -> None:
    session_id = shared.session(shared.agent())
    path = f"/sessions/{session_id}"
    assert shared.got(path)["speaks_freely"] is False
    for freely in (True, True, False):
        answer = shared.call("PUT", f"{path}/speak-freely", {"speaks_freely": freely})
        assert (answer.status_code, answer.json()["speaks_freely"]) == (200, freely)
        assert shared.got(path)["speaks_freely"] is freely
        listed = {each["id"]: each for each in shared.got("/sessions?limit=100")["items"]}
        assert listed[session_id]["speaks_freely"] is freely


def test_only_owners_may_and_only_of_sessions_that_exist(shared: House) -> None:
    session_id = shared.session(shared.agent())
    path, body = f"/sessions/{session_id}/speak-freely", {"speaks_freely": True}
    for scope in (Scope.CHAT, Scope.READ):
        problem(shared.call("PUT", path, body, key=shared.key(scope)[0]), 403)
    problem(shared.call("PUT", "/sessions/nobody/speak-freely", body), 404)
    problem(shared.call("PUT", path, {}), 422)
