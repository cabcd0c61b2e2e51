"""The check of sign-ins at MCP servers."""

from collections.abc import Iterator

from opencrab.domain.mcp.sign_in import McpSignInState
from opencrab.engine.discord.diagnosis import Check
from opencrab.engine.installation.findings import Findings
from opencrab.engine.mcp.sign_in import mcp_sign_in_records
from opencrab.engine.runtime import Runtime

_KEYS = {McpSignInState.NEEDED: "mcp_sign_in", McpSignInState.MORE_SCOPE: "mcp_scope"}


def check_installation_mcp(runtime: Runtime, findings: Findings) -> Iterator[Check]:
    """Tell which MCP servers wait for their owner; none of them is asked."""
    for name, record in sorted(mcp_sign_in_records(runtime).items()):
        if record.state in _KEYS:
            yield findings.warning("mcp", _KEYS[record.state], name=name)
        else:
            yield findings.well("mcp", "mcp_signed_in", name=name)
