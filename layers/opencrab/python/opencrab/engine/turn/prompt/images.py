"""Vision: the images of the message that a turn answers, for a model that takes images.

Only images in the agent's own workspace are sent, and only in messages of the owner and of users.
An address elsewhere stays text, and nobody else may have an agent open its files.
"""

from base64 import b64encode
from dataclasses import replace
from itertools import islice

from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.message import Line
from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.workspace.path import workspace_path
from opencrab.engine.turn.cleared_files import files_of_turn
from opencrab.engine.turn.prompt_cache import MessageGroup
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.models.model import ChatMessage, Image

IMAGES = 4
"""The most images of one message that are sent, the first ones."""

IMAGE_BYTES = 3_500_000
"""The most bytes of an image that is sent: vendors take 5 MB of base64."""

_WORKSPACE = "workspace:"
_TRUSTED = {Authority.OWNER, Authority.USER}
_MARKS = (
    ("image/png", 0, b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", 0, b"\xff\xd8\xff"),
    ("image/gif", 0, b"GIF8"),
    ("image/webp", 8, b"WEBP"),
)


def trigger_with_images(work: TurnWork, trigger: MessageGroup, image_tokens: int) -> MessageGroup:
    """Return the trigger with its images, each of which counts `image_tokens`."""
    images = _images(work)
    *before, last = trigger.messages
    if not images or not isinstance(last, ChatMessage):
        return trigger
    messages = (*before, replace(last, images=images))
    return replace(trigger, messages=messages, tokens=trigger.tokens + len(images) * image_tokens)


def _images(work: TurnWork) -> tuple[Image, ...]:
    """Return the trigger's images, read once for all steps of a turn."""
    if work.prompt.images is None:
        line = next((x for x in work.history if x.sequence == work.turn.trigger_line), None)
        references = _references(line) if line is not None else []
        found = (_image(work, reference) for reference in references)
        seen_ones = (image for image in found if image is not None)
        work.prompt.images = tuple(islice(seen_ones, IMAGES))
    return work.prompt.images


def _references(line: Line) -> list[str]:
    listed = (line.data or {}).get("images", [])
    return listed if line.authority in _TRUSTED else []


def _image(work: TurnWork, reference: str) -> Image | None:
    if not reference.startswith(_WORKSPACE):
        return None
    files, agent_id = files_of_turn(work), work.turn.agent_id
    try:
        path = workspace_path(reference.removeprefix(_WORKSPACE))
        info = files.info(agent_id, path)
        if info is None or info.size > IMAGE_BYTES:
            return None
        _, content = files.read(agent_id, path)
    except (Invalid, NotFound):
        return None
    if not info.clean:
        # A model reads text in an image, and somebody else made this one.
        work.turn = work.turn.replaced(taint=True)
    kind = _media_type(content)
    return None if kind is None else Image(kind, b64encode(content).decode())


def _media_type(content: bytes) -> str | None:
    """Return an image's media type by its first bytes; None if it is not one of the four."""
    return next((kind for kind, at, mark in _MARKS if content[at : at + len(mark)] == mark), None)
