"""Vision: the pictures of the message that a turn answers, for a model that can see.

Only pictures in the agent's own workspace are shown, and only to the owner and to users: an address
elsewhere stays the text that it is, and nobody from outside may have an agent look around.
"""

from base64 import b64encode
from dataclasses import replace
from itertools import islice

from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.message import Line
from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.workspace.path import workspace_path
from opencrab.engine.turn.prompt_cache import MessageGroup
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.models.model import ChatMessage, Image

IMAGES = 4
"""So many pictures of one message are shown, the first ones."""

IMAGE_BYTES = 3_500_000
"""A larger one is not shown: vendors take 5 MB of base64."""

_WORKSPACE = "workspace:"
_TRUSTED = {Authority.OWNER, Authority.USER}
_MARKS = (
    ("image/png", 0, b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", 0, b"\xff\xd8\xff"),
    ("image/gif", 0, b"GIF8"),
    ("image/webp", 8, b"WEBP"),
)


def trigger_with_images(work: TurnWork, trigger: MessageGroup, image_tokens: int) -> MessageGroup:
    """The trigger with its pictures, for a model that counts each as so many tokens."""
    images = _images(work)
    *before, last = trigger.messages
    if not images or not isinstance(last, ChatMessage):
        return trigger
    messages = (*before, replace(last, images=images))
    return replace(trigger, messages=messages, tokens=trigger.tokens + len(images) * image_tokens)


def _images(work: TurnWork) -> tuple[Image, ...]:
    """Read once for a turn, however many steps it takes."""
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
    files, agent_id = work.runtime.home.files, work.turn.agent_id
    try:
        path = workspace_path(reference.removeprefix(_WORKSPACE))
        info = files.info(agent_id, path)
        if info is None or info.size > IMAGE_BYTES:
            return None
        _, content = files.read(agent_id, path)
    except (Invalid, NotFound):
        return None
    if not info.clean:
        # What is in a picture can be read, and somebody else drew it.
        work.turn = work.turn.replaced(taint=True)
    kind = _media_type(content)
    return None if kind is None else Image(kind, b64encode(content).decode())


def _media_type(content: bytes) -> str | None:
    """What a picture is by its first bytes, whatever its name says."""
    return next((kind for kind, at, mark in _MARKS if content[at : at + len(mark)] == mark), None)
