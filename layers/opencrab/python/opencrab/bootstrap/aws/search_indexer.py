"""The function that indexes; for vectors, where they are on, it asks a model and pays."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from opencrab import settings
from opencrab.bootstrap.aws.search import aws_embedder_of_process, aws_search_indexer

if TYPE_CHECKING:
    from opencrab.bootstrap.aws.uploaded_settings import UploadedSettings
    from opencrab.settings import Settings

Follow = Callable[[Mapping[str, Any]], None]


def lambda_search_indexer(uploaded: "UploadedSettings | None" = None) -> Follow:
    """Build the handler of the table's stream, which indexes new rows.

    Without vectors it reads no uploaded file, and loads neither models nor what pays for them.
    """
    follow = aws_search_indexer()
    if not settings.load_settings({}).get("search.vectors"):
        return follow
    from opencrab.bootstrap.aws.functions import lambda_text_embedder
    from opencrab.bootstrap.aws.uploaded_settings import (
        FollowingFunction,
        uploaded_settings_of_process,
    )

    followed = uploaded_settings_of_process() if uploaded is None else uploaded

    def build(configured: "Settings", load: Callable[..., "Settings"]) -> Follow:
        is_on = configured.get("search.vectors")
        aws_embedder_of_process().use(
            (lambda: lambda_text_embedder(configured, load, followed.look_early)) if is_on else None
        )
        return follow

    function = FollowingFunction(build, followed)

    def index(event: Mapping[str, Any]) -> None:
        function.current()(event)

    return index
