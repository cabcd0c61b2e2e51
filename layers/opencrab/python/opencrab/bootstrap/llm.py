"""Section `llm` of the settings, in which a default model that was chosen also answers."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opencrab.settings import Settings

_PROVIDER, _MODEL = "llm.default_provider", "llm.default_model"
_SHIPPED = "default.toml"


def configured_llm_table(configured: "Settings") -> dict[str, Any]:
    """Return section `llm`; a default that was chosen wins over the models that ship for uses.

    It was chosen if a settings file sets it, or a variable sets another than the shipped one: the
    template sets both always, the model to nothing where that is the provider's own. Models for
    uses that the owner sets stay, and so do embeddings. The shipped model is no model of another
    provider, whose own default takes its place.
    """
    table = configured.table("llm")
    is_provider, is_model = _is_chosen(configured, _PROVIDER), _is_chosen(configured, _MODEL)
    if is_provider and not is_model:
        table["default_model"] = ""
    if is_provider or is_model:
        for use in [use for use in table.get("models", {}) if use != "embedding"]:
            if _is_shipped(configured, f"llm.models.{use}"):
                del table["models"][use]
    return table


def _is_chosen(configured: "Settings", name: str) -> bool:
    found = configured.values.get(name)
    if found is None or found.source == _SHIPPED:
        return False
    is_of_file = found.source.rpartition(":")[2].isdigit()
    return is_of_file or found.value not in ("", configured.shipped.get(name))


def _is_shipped(configured: "Settings", name: str) -> bool:
    parts = (name, f"{name}.provider", f"{name}.model")
    return all(
        configured.values[each].source == _SHIPPED for each in parts if each in configured.values
    )
