"""Rules for functions: where they run, how long, what they log, and what their variables say."""

import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.template.stacks import Resource, Stacks, Violation, number

FUNCTION = "AWS::Lambda::Function"
RUNTIME, ARCHITECTURE = "python3.13", "arm64"
GATEWAY_SECONDS = 30

IN_A_NETWORK = {
    "functions/search": "it reads files on EFS, which are nowhere else; the table is all it calls",
}
"""Functions in a VPC, with the reason; none is in the stack as it comes."""

UNTRACED = {
    "functions/heartbeat": "nobody waits for it, and a trace costs more than a beat",
    "functions/search_indexer": "nobody waits for it, and a trace costs more than its work",
}
"""Functions that Lambda does not trace, with the reason."""

SAID_ALOUD = {
    "OPENCRAB_AWS__OWNER_KEY_HASH": "a hash: the owner's key cannot be had from it",
    "OPENCRAB_AWS__SECRETS": "names the place of the secrets, not one of them",
    "OPENCRAB_DISCORD_PUBLIC_KEY": "public, as its name says: Discord shows it to check signatures",
    "OPENCRAB_GATEWAY__DISCORD__PUBLIC_KEY": "the same key",
}
"""Variables whose names sound secret and whose values are not, with the reason."""

NO_SETTINGS = {
    "OPENCRAB_CHANNELS": "functions/channel_gateway",
    "OPENCRAB_DISCORD_API": "functions/discord_gateway",
    "OPENCRAB_DISCORD_PUBLIC_KEY": "functions/discord_gateway",
}
"""Variables of functions that load no settings, as senders wait for them; they read them."""

_secret_name = re.compile(
    r"(?:^|_)(?:api_?key|credentials?|keys?|passw(?:or)?d|private|secrets?|token)(?:_|$)", re.I
)
_secret_value = re.compile(
    r"AKIA[0-9A-Z]{16}|AIza[\w-]{30}|gh[pousr]_\w{20}|xox[abps]-|(?:^|\W)sk-\w|-----BEGIN"
    r"|\{\{resolve:(?:secretsmanager|ssm-secure):"
)
_hole = re.compile(r"\$\{[^}]*\}")
_word = re.compile(r"[A-Za-z0-9+=_]{20,}")


def functions_match_their_layers(stacks: Stacks) -> Iterator[Violation]:
    """Every function and layer is for Python 3.13 on arm64.

    The layers contain wheels and bytecode compiled for exactly that; anything else fails at
    import, or is compiled again at each cold start. arm64 costs a fifth less.
    Source: https://docs.aws.amazon.com/lambda/latest/dg/foundation-arch.html
    """
    for function in stacks.of(FUNCTION):
        if function.at("Runtime") != RUNTIME:
            yield Violation(
                function.address, f"runs on {function.at('Runtime')!r}", f"Runtime: {RUNTIME}"
            )
        if function.items("Architectures") != [ARCHITECTURE]:
            yield Violation(
                function.address,
                f"runs on {function.at('Architectures') or 'x86_64'!r}",
                f"Architectures: [{ARCHITECTURE}]",
            )
    for layer in stacks.of("AWS::Lambda::LayerVersion"):
        for name, value in (
            ("CompatibleRuntimes", RUNTIME),
            ("CompatibleArchitectures", ARCHITECTURE),
        ):
            if layer.items(name) != [value]:
                yield Violation(
                    layer.address, f"is for {layer.at(name) or 'anything'!r}", f"{name}: [{value}]"
                )


def functions_are_traced(stacks: Stacks) -> Iterator[Violation]:
    """Where X-Ray is on, every function is traced, except the heartbeat and the search indexer.

    This shows where the time of a turn went, without an SDK that takes 250 ms to import. At
    this rate X-Ray records every invocation; for a heartbeat that finds nothing to do, or the
    lines of one turn, tracing would cost more than all the rest.
    Source: https://docs.aws.amazon.com/lambda/latest/dg/services-xray.html
    """
    if not any(each.at("TracingConfig", "Mode") == "Active" for each in stacks.of(FUNCTION)):
        return  # Tracing=PassThrough
    for function in stacks.of(FUNCTION):
        folder = str(function.at("Code", "S3Key"))
        if function.at("TracingConfig", "Mode") != "Active" and folder not in UNTRACED:
            yield Violation(function.address, "is not traced", "Tracing: Active")


def functions_have_no_vpc(stacks: Stacks) -> Iterator[Violation]:
    """No function is in a VPC, except the search function if its index is on EFS.

    In a VPC it would reach neither model providers nor AWS without a NAT gateway for $32 a
    month.
    Source: https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc-internet.html
    """
    for function in stacks.of(FUNCTION):
        folder = str(function.at("Code", "S3Key"))
        if function.at("VpcConfig") is not None and folder not in IN_A_NETWORK:
            yield Violation(function.address, "runs in a VPC", "drop VpcConfig")


def recursive_loops_are_stopped(stacks: Stacks) -> Iterator[Violation]:
    """Lambda's recursive loop detection is on for every function.

    It is the last protection against a bug that invokes itself all night and spends money.
    Source: https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html
    """
    for function in stacks.of(FUNCTION):
        if function.at("RecursiveLoop") not in {None, "Terminate"}:
            yield Violation(function.address, "allows recursive loops", "drop RecursiveLoop")


def log_groups_have_retention(stacks: Stacks) -> Iterator[Violation]:
    """Every function logs to a log group of the template, with a retention period.

    The log group that Lambda creates by itself keeps everything forever, and remains after the
    stack is deleted.
    Source: https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs.html
    """
    for function in stacks.of(FUNCTION):
        group = _log_group(stacks, function)
        if group is None:
            yield Violation(
                function.address,
                "names a log group that the template does not create",
                "an AWS::Logs::LogGroup, named in LoggingConfig: LogGroup",
            )
        elif number(group.at("RetentionInDays")) < 1:
            yield Violation(group.address, "has no retention period", "RetentionInDays")


def handlers_exist(stacks: Stacks) -> Iterator[Violation]:
    """Every function has its handler in the checkout, and every handler its function.

    SAM packages an empty or misnamed folder without an error; the function then fails at each
    invocation.
    """
    named = {Path(source).name for source in stacks.sources}
    for function in stacks.of(FUNCTION):
        folder = Path(str(function.at("Code", "S3Key")))
        module = str(function.at("Handler")).partition(".")[0]
        if not (stacks.root / folder / f"{module}.py").is_file():
            yield Violation(
                function.address,
                f"has no module {module!r} in {folder.as_posix()!r}",
                "Handler: handler.handler, and CodeUri: the function's folder",
            )
    for path in sorted((stacks.root / "functions").glob("*/handler.py")):
        if path.parent.name not in named:
            yield Violation(
                f"functions/{path.parent.name}",
                "no resource runs it",
                "an AWS::Serverless::Function, or delete the folder",
            )


def timeouts_fit_the_api(stacks: Stacks) -> Iterator[Violation]:
    """The timeout of a function behind the HTTP API is below the API's 30 seconds.

    The API answers 503 after 30 s while the function goes on: the client retries and pays
    twice. A function that ends first can report what it did.
    Source: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html
    """
    for integration in stacks.of("AWS::ApiGatewayV2::Integration"):
        for function in stacks.mentioned(integration.at("IntegrationUri")):
            seconds = number(function.at("Timeout"))
            if function.type == FUNCTION and seconds >= GATEWAY_SECONDS:
                yield Violation(
                    function.address,
                    f"may run for {seconds} s behind the HTTP API",
                    f"Timeout: {GATEWAY_SECONDS - 1}",
                )


def variables_hold_no_secret(stacks: Stacks) -> Iterator[Violation]:
    """No environment variable has the name of a secret, or a value that is or resolves to one.

    Whoever may list functions can read their variables, which also appear in templates, logs
    and backups. Secrets are read by name at run time.
    Source: https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
    """
    for function, name, value in _variables(stacks):
        sounds = _secret_name.search(name.replace("__", "_")) and name not in SAID_ALOUD
        if sounds or (_looks_secret(value) and name != "OPENCRAB_AWS__OWNER_KEY_HASH"):
            yield Violation(
                function.address,
                f"variable {name!r} {'is named' if sounds else 'looks'} like a secret",
                "put it below the path that OPENCRAB_AWS__SECRETS names",
            )


def variables_name_settings(stacks: Stacks) -> Iterator[Violation]:
    """Every OPENCRAB_ variable names a setting of config/default.toml.

    A misspelt one would be ignored without a message, and the default used. The
    discord_gateway function loads no settings: its own variables are listed.
    """
    settings = _settings(stacks.root)
    for function, name, _ in _variables(stacks):
        own = NO_SETTINGS.get(name) == str(function.at("Code", "S3Key")).rstrip("/")
        if name.startswith("OPENCRAB_") and not own and not _is_setting(settings, name):
            yield Violation(
                function.address,
                f"variable {name!r} is not a setting",
                "OPENCRAB_SECTION__KEY of a key in config/default.toml",
            )


def _variables(stacks: Stacks) -> Iterator[tuple[Resource, str, str]]:
    for function in stacks.of(FUNCTION):
        for name, value in (function.at("Environment", "Variables") or {}).items():
            yield function, name, str(value)


def _looks_secret(value: str) -> bool:
    """Whether a value has the mark of a known kind of key, or a long word made by chance."""
    if _secret_value.search(value):
        return True
    return any(_is_random(word) for word in _word.findall(_hole.sub(" ", value)))


def _is_random(word: str) -> bool:
    """Whether a word mixes letters and digits with over 3.2 bits a sign: names stay below."""
    counts = Counter(word)
    bits = -sum(each / len(word) * math.log2(each / len(word)) for each in counts.values())
    return bits > 3.2 and bool(re.search(r"\d", word)) and bool(re.search(r"[A-Za-z]", word))


@cache
def _settings(root: Path) -> dict[str, Any]:
    with (root / "config" / "default.toml").open("rb") as file:
        return tomllib.load(file)


def _is_setting(settings: dict[str, Any], name: str) -> bool:
    value: Any = settings
    for part in name.removeprefix("OPENCRAB_").lower().split("__"):
        if not isinstance(value, dict) or part not in value:
            return False
        value = value[part]
    return True


def _log_group(stacks: Stacks, function: Resource) -> Resource | None:
    named = function.at("LoggingConfig", "LogGroup")
    if named is not None:
        found = stacks.find(named)
        return found if found and found.type == "AWS::Logs::LogGroup" else None
    names = {
        f"/aws/lambda/{function.at('FunctionName')}",
        f"/aws/lambda/${{{function.address}}}",
    }
    groups = stacks.of("AWS::Logs::LogGroup")
    return next((group for group in groups if group.at("LogGroupName") in names), None)
