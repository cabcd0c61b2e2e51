"""Models on AWS, from the settings and from the keys in the installation's secrets store."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from opencrab import settings
from opencrab.ports.access.secrets import Secrets

if TYPE_CHECKING:
    from opencrab.adapters.providers.catalogue.configuration import ModelsSettings, ProviderSettings
    from opencrab.settings import Settings

_ELSEWHERE = "kept-where-the-workers-read-it"


def aws_models_from_settings(
    load: Callable[..., "Settings"], secrets: Secrets | None
) -> "ModelsSettings":
    """Read the settings and secrets again and return the models that they allow.

    A default that cannot work is not replaced: a turn that needs it reports what is missing.
    """
    from opencrab.adapters.providers.catalogue.configuration import provider_catalogue_settings
    from opencrab.bootstrap.bedrock import AwsAccount, models_signed_for_aws
    from opencrab.bootstrap.llm import configured_llm_table

    if secrets is not None:
        secrets.forget()
    secret = _somewhere if secrets is None else secrets.get
    configured = load({}, secret=secret)
    known = provider_catalogue_settings(
        configured_llm_table(configured),
        configured.pricing,
        configured.absent_below("llm.providers"),
        key_names=configured.variables_of("api_key", "llm.providers"),
        listing=settings.public_prices_of_settings,
        stored_key=None if secrets is None else secrets.get,
    )
    unseen = secrets is None
    found = (_reachable(replace(each, unseen=unseen)) for each in known.providers.values())
    known = replace(known, providers={each.name: each for each in found})
    return models_signed_for_aws(known, AwsAccount(), by_choice=False)


def _somewhere(name: str) -> str | None:
    """Return a placeholder for a variable whose value only the workers can read."""
    if name == "AWS_REGION":
        return None
    return _ELSEWHERE if name.endswith("KEY") else "https://elsewhere.invalid"


def _reachable(provider: "ProviderSettings") -> "ProviderSettings":
    """Return the provider, with a problem if its address is the function's own machine."""
    from opencrab.adapters.providers.catalogue.connection import catalogue_provider_address
    from opencrab.adapters.providers.wire.address import is_url_of_this_machine

    url = catalogue_provider_address(provider)
    if not url or not is_url_of_this_machine(url):
        return provider
    return replace(provider, problem="its base_url is the machine on which the function runs")
