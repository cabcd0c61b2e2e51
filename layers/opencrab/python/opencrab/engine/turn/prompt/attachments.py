"""Attachments: pictures and text files of the message that a turn answers, as its model gets them.

Only files in the agent's own workspace are read, and only for messages of the owner and of users:
nobody else may have an agent open its files. What is not shown is named in a note, with the reason.
A turn that took over from earlier ones answers their messages too, and shows what came with them.
"""

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace

from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.attachment import (
    PICTURE_BYTES,
    PICTURES,
    WORKSPACE,
    is_message_attachment_text,
    message_attachment_picture_type,
)
from opencrab.domain.conversation.message import Line, LineKind
from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.workspace.path import workspace_path
from opencrab.engine.phrases import is_phrase_of_takeover
from opencrab.engine.turn.cleared_files import files_a_turn_may_use
from opencrab.engine.turn.prompt_cache import AttachedContent, MessageGroup
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.models.model import (
    ChatMessage,
    Image,
    ModelInfo,
    PromptText,
    TrustedText,
    estimated_tokens,
    join_texts_for_model_call,
    label_text_for_model_call,
    labelled_message,
)
from opencrab.ports.texts import Texts

TEXT_BYTES = 24 * 1024
"""The most bytes of all text files of one message that are shown, fewer if the model takes less."""

FILE_BYTES = 5 << 20
"""The most bytes of a text file of which the beginning is shown."""

_TRUSTED = {Authority.OWNER, Authority.USER}
_TEXTS = Texts(__file__)


def prompt_trigger_with_attachments(
    work: TurnWork, trigger: MessageGroup, info: ModelInfo
) -> MessageGroup:
    """Return the trigger with its pictures, its files' texts, and notes about what is not shown.

    Each picture counts `ModelInfo.image_tokens`.
    """
    *before, last = trigger.messages
    found = _read_once(work, info)
    if found is None or not isinstance(last, ChatMessage):
        return trigger
    images = found.images if info.vision else ()
    texts = (*found.texts, *(found.notes if info.vision else found.without_vision))
    said = last.text if isinstance(last.text, PromptText) else PromptText(last.text)
    shown = labelled_message(
        "user", join_texts_for_model_call("\n", (said, *texts)), name=last.name
    )
    tokens = len(images) * info.image_tokens + sum(map(estimated_tokens, texts))
    messages = (*before, replace(shown, images=images))
    return replace(trigger, messages=messages, tokens=trigger.tokens + tokens)


def _read_once(work: TurnWork, info: ModelInfo) -> AttachedContent | None:
    """Return what came with the trigger, read once for all steps of a turn; None for nothing."""
    if work.prompt.attached is None:
        carrying = [line.sequence for line in work.history if line.has_attachments]
        data = [
            line.data
            for line in _answered_lines(work)
            if line.sequence in carrying and line.authority in _TRUSTED and line.data is not None
        ]
        if not data:
            return None
        work.prompt.attached = _read(work, data, min(TEXT_BYTES, info.max_input_tokens))
    return work.prompt.attached


def _answered_lines(work: TurnWork) -> Iterator[Line]:
    """Yield the trigger, then the lines before it that the same answer covers, newest first.

    Those are of the same person, and their turns were taken over.
    """
    trigger = work.trigger
    if trigger is None:
        return
    yield trigger
    taken_over = {
        line.group_line
        for line in work.history
        if line.kind is LineKind.SYSTEM
        and line.speaker_id == work.turn.agent_id
        and is_phrase_of_takeover(line.text)
    }
    for line in sorted(work.history, key=lambda line: line.sequence, reverse=True):
        said_by = (line.speaker_id, line.speaker_name, line.from_agent)
        if line.sequence >= trigger.sequence or not line.starts_group:
            continue
        if said_by == (trigger.speaker_id, trigger.speaker_name, trigger.from_agent):
            if line.sequence not in taken_over:
                return
            yield line


def _read(work: TurnWork, data: list[dict[str, object]], text_bytes: int) -> AttachedContent:
    images, notes = list[Image](), list[PromptText]()
    references = [each for one in data for each in _references(one, "images")]
    details = _details(data)
    for reference in references:
        image = _image(work, reference)
        if image is None:
            here = reference.startswith(WORKSPACE)
            notes.append(_note(work, "unreadable" if here else "elsewhere", reference))
        elif len(images) == PICTURES:
            notes.append(_note(work, "too_many", reference, most=PICTURES))
        else:
            images.append(replace(image, detail=details.get(reference, "")))
    texts, left = list[PromptText](), text_bytes
    for reference in (each for one in data for each in _references(one, "files")):
        text, used = _file(work, reference, left)
        texts.append(text)
        left -= used
    unseen = tuple(_note(work, "no_vision", reference) for reference in references)
    return AttachedContent(tuple(images), tuple(texts), tuple(notes), unseen)


def _references(data: dict[str, object], name: str) -> list[str]:
    listed = data.get(name)
    return listed if isinstance(listed, list) else []


def _details(data: list[dict[str, object]]) -> dict[str, str]:
    """Return how closely each picture is looked at; what the newest message says counts."""
    found: dict[str, str] = {}
    for one in reversed(data):
        details = one.get("details")
        found |= details if isinstance(details, dict) else {}
    return found


def _content(work: TurnWork, reference: str, most: int) -> tuple[bytes, bool] | None:
    """Return a file's content and whether it is clean; None if there is none to read."""
    if not reference.startswith(WORKSPACE):
        return None
    files, agent_id = files_a_turn_may_use(work), work.turn.agent_id
    try:
        path = workspace_path(reference.removeprefix(WORKSPACE))
        info = files.info(agent_id, path)
        if info is None or info.size > most:
            return None
        _, content = files.read(agent_id, path)
    except (Invalid, NotFound):
        return None
    return content, info.clean


def _image(work: TurnWork, reference: str) -> Image | None:
    found = _content(work, reference, PICTURE_BYTES)
    if found is None:
        return None
    content, clean = found
    if not clean:
        # A model reads text in an image, and somebody else made this one.
        work.turn = work.turn.replaced(taint=True)
    kind = message_attachment_picture_type(content)
    return None if kind is None else Image(kind, b64encode(content).decode())


def _file(work: TurnWork, reference: str, left: int) -> tuple[PromptText, int]:
    """Return a file's text, cut to the bytes that are left, and how many of them it takes."""
    found = _content(work, reference, FILE_BYTES)
    if found is None or not is_message_attachment_text(found[0]):
        return _note(work, "unreadable", reference), 0
    content, clean = found
    if not clean:
        work.turn = work.turn.replaced(taint=True)
    shown = content[: max(left, 0)].decode("utf-8", "ignore")
    facts = {"reference": reference, "size": len(content), "shown": len(shown.encode())}
    key = "file" if facts["shown"] == facts["size"] else "cut"
    text = _TEXTS[key][work.profile.agent.language].format(content=shown, **facts)
    return label_text_for_model_call(text, tainted=not clean), len(shown.encode())


def _note(work: TurnWork, key: str, reference: str, **facts: object) -> PromptText:
    text = _TEXTS[key][work.profile.agent.language].format(reference=reference, **facts)
    return TrustedText(text)
