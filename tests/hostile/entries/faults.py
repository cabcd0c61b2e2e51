"""Bugs seeded in the guards of the entries; each is hunted in a world with that entry."""

from collections.abc import Callable, Mapping

from tests.hostile.entries.bundles import Bundles
from tests.hostile.entries.chats import Chats
from tests.hostile.entries.client_faults import CLIENT_GUARDS
from tests.hostile.entries.clients import Clients
from tests.hostile.entries.email.faults import EMAIL_GUARDS
from tests.hostile.entries.email.mails import Mails
from tests.hostile.entries.guard import Guard
from tests.hostile.entries.tools import Tools
from tests.hostile.entries.webhooks import Webhooks
from tests.hostile.entry import Entry
from tests.hostile.faults import SourceFault
from tests.hostile.world import World
from tests.mutants.mutant import Mutant

_DOOR, _ENGINE = "opencrab.gateways.door", "opencrab.engine"


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
        "previous=(*webhook.secrets, *still)[:MOST_PREVIOUS] if hours else (),",
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
        "self._posts.post(webhook.reply_to, (webhook.reply_secret,), event_id, body)",
        "self._posts.post(webhook.reply_to, webhook.secrets[:1], event_id, body)",
        "whoever may send to a webhook can forge its answers",
    ),
)

_ACTIONS, _MCP = "opencrab.actions.mcp", "opencrab.adapters.mcp"

_TOOLS = (
    Guard(
        "PinsNotCompared",
        f"{_MCP}.connections",
        "if listed != fingerprint:",
        "if listed is None:",
        "a tool that its server changed is called as if it had not",
    ),
    Guard(
        "ChangesNotHeard",
        f"{_MCP}.http",
        "self.tools_changed = True",
        "self.tools_changed = False",
        "a server says that its tools changed, and nobody looks",
    ),
    Guard(
        "ChangedToolsOffered",
        _ACTIONS,
        "if tool.name not in changed",
        "if tool.name",
        "a model is offered a tool that its server has changed",
    ),
    Guard(
        "TrustedUnseen",
        f"{_ENGINE}.mcp.trust",
        "if listed.fingerprint != fingerprint:",
        "if not fingerprint:",
        "what an owner trusts is what the server says a moment later",
    ),
    Guard(
        "ImpactsLowered",
        _ACTIONS,
        "impact=tool.impact,",
        "impact=tool.impact.READ,",
        "a tool touches less than its owner said, and asks nobody",
    ),
    Guard(
        "ToolResultsClean",
        _ACTIONS,
        "return ActionResult.ok(server=server.name, **told, **data).replaced(taint=True)",
        "return ActionResult.ok(server=server.name, **told, **data)",
        "what a tool says counts as words of the house",
    ),
    Guard(
        "ToolFailuresClean",
        _ACTIONS,
        "return failed.replaced(taint=True)",
        "return failed",
        "what a tool says when it fails counts as words of the house",
    ),
    Guard(
        "ToolsOfferedToAll",
        _ACTIONS,
        "if (tool.shared or authority in _OWN) and action.offered(agent, routing)",
        "if action.offered(agent, routing)",
        "anybody's turn is offered the owner's tools",
    ),
    Guard(
        "ToolsCalledForAll",
        _ACTIONS,
        "if not (tool.shared or (context.turn.authority in _OWN and context.clearance.whole)):",
        "if context is None:",
        "anybody's turn calls the owner's tools by their names",
    ),
    Guard(
        "ShadowsTrusted",
        "opencrab.domain.mcp.tool",
        "if taken is not None:",
        "if taken is tool:",
        "a tool takes the name of another one of its server",
    ),
    Guard(
        "HiddenWordsKept",
        "opencrab.domain.mcp.text",
        "if each.isspace() or unicodedata.category(each) not in _INVISIBLE",
        "if each",
        "a description says to a model what its owner does not see",
    ),
    Guard(
        "PathsClimb",
        "opencrab.domain.mcp.openapi",
        "if not value or _CLIMBS & {*_SLASHES.split(value)}:",
        "if not value:",
        "an argument leads to another operation than the one that was trusted",
    ),
    Guard(
        "ApisLeadElsewhere",
        f"{_MCP}.openapi",
        "if _origin(found) != _origin(self._server.openapi):",
        "if not found:",
        "a description sends the owner's key to another host",
    ),
    Guard(
        "IssuersNotCompared",
        f"{_MCP}.oauth_discovery",
        'if not isinstance(said, str) or said.removesuffix("/") != issuer.removesuffix("/"):',
        "if not isinstance(said, str):",
        "another authorization server gets the code, by the name of the one that the owner knows",
    ),
    Guard(
        "ResourcesNotCompared",
        f"{_MCP}.oauth_discovery",
        "if not isinstance(resource, str) or not mcp_resource_covers(resource, server.url):",
        "if not isinstance(resource, str):",
        "a server asks for a token of another one",
    ),
    Guard(
        "StatesNotCompared",
        f"{_MCP}.oauth_sign_ins",
        'if not hmac.compare_digest(said.get("state", "").encode(), pending.state.encode()):',
        'if not said.get("state", ""):',
        "an answer that nobody asked for signs the owner in at somebody's account",
    ),
    Guard(
        "CardsLeadElsewhere",
        f"{_MCP}.a2a",
        "if _origin(found) != _origin(self._server.a2a):",
        "if not found:",
        "a card sends the owner's key to another host",
    ),
)

_CHATS = (
    Guard(
        "LineNotCompared",
        f"{_DOOR}.line",
        "if not is_line_signature(lookup.secret(SECRET).strip(), request.body, signature):",
        "if not signature:",
        "whoever sends any signature of LINE's form is let in",
    ),
    Guard(
        "SlackNotCompared",
        f"{_DOOR}.slack",
        "if not is_slack_signature("
        "lookup.secret(SECRET).strip(), timestamp, request.body, signature):",
        "if not signature:",
        "whoever sends any signature of Slack's form is let in",
    ),
    Guard(
        "SlackAgeNotChecked",
        f"{_DOOR}.slack",
        "if abs(request.now - int(timestamp)) > FRESH_SECONDS:",
        "if request.now < 0:",
        "a request of Slack that was recorded long ago is taken",
    ),
    Guard(
        "SlackTimeNotSigned",
        f"{_DOOR}.slack",
        "timestamp, request.body, signature):",
        'str(int(request.now)), request.body, signature) and "retry" not in timestamp:',
        "a request counts by the time at which it comes, which nobody signed",
    ),
    Guard(
        "EverybodyDecides",
        f"{_ENGINE}.chat.approval_buttons",
        "is_owner = chat.people.authority(person.id) is Authority.OWNER",
        "is_owner = chat.people.authority(person.id) is not None",
        "whoever finds the data of a button decides",
    ),
    Guard(
        "ShownHashForgotten",
        f"{_ENGINE}.chat.approval_buttons",
        "shown_hash=shown_hash,",
        "shown_hash=None,",
        "a press approves another call than the one that was shown",
    ),
    Guard(
        "StrangersAreUsers",
        "opencrab.domain.chat.people",
        "return Authority.USER if user_id in self.user_ids else Authority.PUBLIC",
        "return Authority.USER",
        "everybody on a chat service has a user's rights",
    ),
    Guard(
        "GroupsAreOwners",
        f"{_ENGINE}.chat.messages",
        "others_read=room.is_group",
        "others_read=False",
        "a group hears what only the owner may",
    ),
)

_ROWS, _IMPORTING = f"{_ENGINE}.bundle.rows", f"{_ENGINE}.bundle.importing"

_BUNDLES = (
    Guard(
        "BundledMemoriesTrusted",
        _ROWS,
        "part, trusted=record.trusted",
        "part, trusted=True",
        "a stranger's memories count as the agent's own",
    ),
    Guard(
        "BundledNotesTrusted",
        _ROWS,
        "tainted=value.tainted or not record.trusted",
        "tainted=value.tainted",
        "a stranger's notes count as the agent's own",
    ),
    Guard(
        "BundledSkillsLive",
        _ROWS,
        "status=SkillStatus.QUARANTINED,",
        "status=SkillStatus.ACTIVE,",
        "a stranger's skill counts before its owner has seen it",
    ),
    Guard(
        "BundledSchedulesRun",
        _ROWS,
        "own_one.replaced(enabled=False, channel=None)",
        "own_one.replaced(channel=None)",
        "a stranger's schedule runs",
    ),
    Guard(
        "BundledGoalsTaken",
        _ROWS,
        "if values and kind in TRUSTED_KINDS and not record.trusted:",
        "if values and kind is None:",
        "a stranger's goals are worked on",
    ),
    Guard(
        "BundledFilesClean",
        _IMPORTING,
        "workspace_path(path), clean and record.trusted",
        "workspace_path(path), clean",
        "a stranger's files count as the agent's own writing",
    ),
    Guard(
        "BundledFileNamesClean",
        _IMPORTING,
        "if not is_own:",
        "if not path:",
        "names that a stranger gave to files are listed as the agent's own",
    ),
    Guard(
        "BundledPolicyKept",
        _IMPORTING,
        "return untrusted_bundled_agent(bundled), (AgentImportNote.UNTRUSTED,)",
        "return bundled, (AgentImportNote.UNTRUSTED,)",
        "a stranger decides what the agent does unasked, and what it may spend",
    ),
)

_GUARDS: Mapping[Callable[[World], Entry], tuple[Guard, ...]] = {
    Webhooks: _WEBHOOKS,
    Tools: _TOOLS,
    Chats: _CHATS,
    Bundles: _BUNDLES,
    Clients: CLIENT_GUARDS,
    Mails: EMAIL_GUARDS,
}

ENTRY_FAULTS = tuple(
    SourceFault(
        each.name,
        Mutant(f"hostile-{each.name.lower()}", each.module, each.old, each.new, each.fault),
        entries=(entry,),
    )
    for entry, guards in _GUARDS.items()
    for each in guards
)
