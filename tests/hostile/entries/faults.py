"""Bugs seeded in the guards of the entries; each is hunted in a world with that entry."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from tests.hostile.entries.webhooks import Webhooks
from tests.hostile.entry import Entry
from tests.hostile.faults import SourceFault
from tests.hostile.world import World
from tests.mutants.mutant import Mutant

_DOOR, _ENGINE = "opencrab.gateways.door", "opencrab.engine"


class Guard(NamedTuple):
    """A guard of the product, as it is and as it would be by mistake."""

    name: str
    module: str
    old: str
    new: str
    fault: str


_WEBHOOKS = (
    Guard(
        "SignaturesNotCompared",
        f"{_DOOR}.webhook",
        'if any(hmac.compare_digest(expected, each.encode(errors="replace")) for each in given):',
        "if given:",
        "whoever sends any signature of Standard Webhooks is let in",
    ),
    Guard(
        "GithubNotCompared",
        f"{_DOOR}.webhook",
        "if hmac.compare_digest(expected, given):",
        'if given.startswith(b"sha256="):',
        "whoever sends any signature of GitHub's form is let in",
    ),
    Guard(
        "AgeNotChecked",
        f"{_DOOR}.webhook",
        "return abs(now - int(timestamp)) <= FRESH_SECONDS",
        "return True",
        "a request that was recorded long ago is taken",
    ),
    Guard(
        "OldSecretsForEver",
        f"{_DOOR}.webhook",
        'if now < float(webhook.get("previous_until") or 0):',
        'if webhook.get("previous_until"):',
        "a secret counts after its time is over",
    ),
    Guard(
        "RotationCutsOff",
        f"{_ENGINE}.webhooks.curation",
        "previous=(*webhook.secrets, *still)[:_MOST_PREVIOUS] if hours else (),",
        "previous=webhook.secrets if hours else (),",
        "a sender that has not heard of two rotations is cut off",
    ),
    Guard(
        "NobodysSecretCounts",
        f"{_DOOR}.webhook",
        "if webhook is _NONE:",
        "if webhook is None:",
        "whoever knows the made-up secret fills the queue by names that are not there",
    ),
    Guard(
        "DeliveryIdsTrusted",
        f"{_DOOR}.webhook",
        'event_id = f"sha256-{hashlib.sha256(request.body).hexdigest()}"',
        'event_id = request.headers.get("x-github-delivery")'
        ' or f"sha256-{hashlib.sha256(request.body).hexdigest()}"',
        "a recorded request of GitHub runs again under another id, which nobody signed",
    ),
    Guard(
        "OwnersWebhooksVouch",
        f"{_ENGINE}.webhooks.received",
        "taint=True, only=(webhook.agent_id,)",
        "taint=False, only=(webhook.agent_id,)",
        "what was sent to an owner's webhook counts as the owner's words",
    ),
    Guard(
        "WebhooksAreOwners",
        f"{_ENGINE}.webhooks.received",
        "authority=received.webhook.authority",
        "authority=received.webhook.authority.OWNER",
        "whoever posts to any webhook has the owner's authority",
    ),
    Guard(
        "AnswersSignedByTheSender",
        "opencrab.adapters.web.webhook_answers",
        'webhook.reply_secret.removeprefix("whsec_")',
        'webhook.secrets[0].removeprefix("whsec_")',
        "whoever may send to a webhook can forge its answers",
    ),
)

_GUARDS: Mapping[Callable[[World], Entry], tuple[Guard, ...]] = {Webhooks: _WEBHOOKS}

ENTRY_FAULTS = tuple(
    SourceFault(
        each.name,
        Mutant(f"hostile-{each.name.lower()}", each.module, each.old, each.new, each.fault),
        entries=(entry,),
    )
    for entry, guards in _GUARDS.items()
    for each in guards
)
