"""The document of the providers that an owner added, as every process reads it."""

from opencrab.domain.document import INSTALLATION_FACTS, Document
from opencrab.domain.models.own_provider import OWN_PROVIDERS_KIND, OwnProviders
from opencrab.ports.documents import Documents


def own_model_providers(facts: Documents) -> OwnProviders:
    """Return the added providers."""
    return stored_own_model_providers(facts).read(OwnProviders)


def stored_own_model_providers(facts: Documents) -> Document:
    """Return the document, or an empty one that is not stored yet."""
    found = facts.get(INSTALLATION_FACTS, OWN_PROVIDERS_KIND, OWN_PROVIDERS_KIND)
    if found is not None:
        return found
    return Document(
        owner=INSTALLATION_FACTS,
        kind=OWN_PROVIDERS_KIND,
        id=OWN_PROVIDERS_KIND,
        version=0,
        body={},
    )
