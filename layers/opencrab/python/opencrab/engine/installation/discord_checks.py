"""The check of the Discord bot."""

from collections.abc import Iterator

from opencrab.engine.discord.diagnosis import Check, DiagnosisResult, discord_setup_checks
from opencrab.engine.discord.setup import BotApplication
from opencrab.engine.installation.findings import Findings
from opencrab.engine.runtime import Runtime


def check_installation_discord(
    runtime: Runtime, application: BotApplication, findings: Findings
) -> Iterator[Check]:
    """Check the Discord bot, if there is one: its problems, or that it has none."""
    if runtime.discord is None:
        return
    checks = discord_setup_checks(runtime, application, findings.language)
    wrong = [check for check in checks if check.state is DiagnosisResult.PROBLEM]
    for check in wrong:
        yield Check(name="discord", state=check.state, what=check.what, cure=check.cure)
    if not wrong:
        yield findings.well("discord", "discord", count=len(checks))
