"""What an operator should know after a deployment: who hears alarms, how much may run at once."""

from collections.abc import Mapping
from contextlib import closing

from infra.place import Place, Unready

ALARMS = "Alarms"
"""The stack's output that is there if alarms reach somebody."""

FEW_AT_ONCE = 50
"""With fewer concurrent executions in the account, turns can take all of them from the API."""

ID_LISTS = ("DiscordGuildIds", "DiscordOwnerIds", "DiscordUserIds", "DiscordRoleIds")
ID_BYTES = 900
"""What Lambda's 4 KB for variables leave to these lists, with the longest of other values."""


def check_id_lists(settings: Mapping[str, str]) -> None:
    """Raise Unready if the lists of ids do not fit into the functions' variables."""
    size = sum(len(settings.get(name, "")) for name in ID_LISTS)
    if size > ID_BYTES:
        raise Unready(
            f"the lists of Discord ids have {size} bytes; Lambda's variables have room for "
            f"{ID_BYTES}, some 45 ids",
            "give these people a role in Discord, and list the role in DiscordRoleIds",
        )


def advise(place: Place, outputs: Mapping[str, str]) -> list[str]:
    """Return what to say about alarms and the account's concurrency; nothing if all is well."""
    lines = []
    if ALARMS not in outputs:
        lines += [
            "  alarms       none: nobody is told when something breaks",
            '               make deploy ARGS="--set AlarmMail=YOUR-ADDRESS"',
        ]
    allowed = account_concurrency(place)
    if allowed is not None and allowed < FEW_AT_ONCE:
        lines += [
            f"  concurrency  AWS runs at most {allowed} functions of this account at once, in all;",
            "               more turns than that keep the API waiting. Ask AWS for 1,000:",
            "               Service Quotas, AWS Lambda, Concurrent executions. Until then",
            "               let turns and nights use fewer of them:",
            '               make deploy ARGS="--set MaximumConcurrency=3 --set NightFunctions=1"',
        ]
    return lines


def account_concurrency(place: Place) -> int | None:
    """How many functions of the account may run at once; None if AWS does not say."""
    import botocore.session  # type: ignore[import-untyped, unused-ignore] # noqa: PLC0415
    from botocore.exceptions import (  # type: ignore[import-untyped, unused-ignore] # noqa: PLC0415
        BotoCoreError,
        ClientError,
    )

    session = botocore.session.Session(profile=place.profile)
    try:
        with closing(session.create_client("lambda", region_name=place.region)) as client:
            return int(client.get_account_settings()["AccountLimit"]["ConcurrentExecutions"])
    except (BotoCoreError, ClientError):
        return None  # the deployment itself went well, and may do without this permission
