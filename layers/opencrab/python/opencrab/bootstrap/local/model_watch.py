"""The composition of the watch for a model server that starts later than OpenCrab."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opencrab.adapters.providers.registry import ProviderModels
    from opencrab.bootstrap.local.models import LocalModels


def watch_for_local_model_server(
    models: "ProviderModels",
    thinking: "LocalModels",
    say: Callable[..., object],
    *,
    look_seconds: float = 10.0,
) -> AbstractContextManager[object]:
    """Within this block a model server that starts is used, if there is no other model.

    `say` is told its `name`.
    """
    from opencrab.adapters.providers.catalogue.configuration import SCRIPTED
    from opencrab.gateways.local.model_watch import ModelWatch

    if thinking.settings.default != SCRIPTED:
        return nullcontext()

    def look() -> bool:
        # Meanwhile the owner may have stored a key.
        if models.routing.default == SCRIPTED and thinking.look():
            models.reload()
            say(name=models.routing.default)
        return models.routing.default != SCRIPTED

    return ModelWatch(look, look_seconds=look_seconds)
