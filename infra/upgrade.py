"""The upgrade of a stack's data after a deployment: its own function migrates it, page by page."""

import json
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from infra.place import Place, Unready

_MOST_CALLS = 400
"""Each call migrates for half a minute: more than three hours are no upgrade any more."""


def upgrade_data(place: Place, stage: str) -> list[str]:
    """Let the stack migrate what older releases left incomplete; return what to say of it.

    Safe to repeat: what was done is recorded in the table. Raises Unready if it cannot be done;
    the deployment itself is done by then.
    """
    import botocore.session  # type: ignore[import-untyped, unused-ignore] # noqa: PLC0415
    from botocore.config import (  # type: ignore[import-untyped, unused-ignore] # noqa: PLC0415
        Config,
    )
    from botocore.exceptions import (  # type: ignore[import-untyped, unused-ignore] # noqa: PLC0415
        BotoCoreError,
        ClientError,
    )

    session = botocore.session.Session(profile=place.profile)
    # A call that is repeated while the first one runs would only do the same work twice.
    patient = Config(read_timeout=70, retries={"total_max_attempts": 2})
    try:
        with closing(
            session.create_client("lambda", region_name=place.region, config=patient)
        ) as client:
            return _describe(_run(client, f"opencrab-{stage}-heartbeat"))
    except (BotoCoreError, ClientError) as error:
        raise _failed(str(error)) from error


def _run(client: Any, function: str) -> Mapping[str, Any]:
    for _ in range(_MOST_CALLS):
        answer = client.invoke(FunctionName=function, Payload=json.dumps({"upgrade": {}}).encode())
        told = json.loads(answer["Payload"].read())
        if answer.get("FunctionError") or "ended" not in told:
            raise _failed(str(told.get("errorMessage", told)))
        if told["ended"]:
            return dict(told)
    raise _failed("it does not come to an end")


def _describe(told: Mapping[str, Any]) -> list[str]:
    """Say what was migrated now; nothing if there was nothing to do."""
    done = [each for each in told["migrations"] if each["changed"] and not each["was_done"]]
    before = told["before"] or "an earlier release"
    lines = [f"  data         upgraded from {before} to {told['release']}"] if done else []
    return lines + [
        f"               {each['name']}: {each['changed']} of {each['checked']} agents"
        for each in done
    ]


def _failed(why: str) -> Unready:
    return Unready(
        f"the code is deployed, but its data is not upgraded: {why}",
        "let the credentials invoke the heartbeat function (lambda:InvokeFunction), read its log "
        "(docs/how-to/read-logs.md), and run `make deploy` again: it goes on where it was",
    )
