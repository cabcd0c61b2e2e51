"""What to do about an error is said in commands."""

import pytest

from opencrab.gateways.cli.connection.cure import name_commands_in_cure


@pytest.mark.parametrize(
    ("cure", "shown"),
    [
        ("list them with GET /api/sessions", "list them with `opencrab sessions list`"),
        (
            "list them with GET /api/agents/a1/changes",
            "list them with `opencrab learning changes a1`",
        ),
        (
            "use a turn_id from GET /api/sessions/{session_id}/messages",
            "use a turn_id from `opencrab turns list`",
        ),
        ("GET /api/agents lists the agents", "`opencrab agents list` lists the agents"),
        ("GET /api/agents/a1/plans", "GET /api/agents/a1/plans"),
        ("一覧は GET /api/agents です", "一覧は `opencrab agents list` です"),
    ],
)
def test_routes_that_errors_name_become_commands(cure: str, shown: str) -> None:
    assert name_commands_in_cure(cure) == shown
