"""What OpenAI's own Python client does with a running OpenCrab, in an environment of its own.

Writes one JSON object for each step. With `--embed` as third argument it only asks for vectors;
with a text it only streams the answer to that, and tells its words as they arrive.
"""

import json
import sys
import time
from typing import Any

import openai

URL, KEY = sys.argv[1:3]
client = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY, timeout=60)


def tell(**step: Any) -> None:
    sys.stdout.write(f"{json.dumps(step, ensure_ascii=False)}\n")
    sys.stdout.flush()


def stream(text: str) -> None:
    chunks = client.chat.completions.create(
        model="蟹",
        messages=[{"role": "user", "content": text}],
        stream=True,
        stream_options={"include_usage": True},
    )
    for chunk in chunks:
        for choice in chunk.choices:
            if choice.delta.content:
                tell(words=choice.delta.content)
        if chunk.usage is not None:
            tell(total=chunk.usage.total_tokens)


def respond() -> None:
    """The newer interface: one response after the other, streamed, in the background, cancelled."""
    first = client.responses.create(model="蟹", input="say 干潮です")
    tell(response=first.output_text, status=first.status)
    with client.responses.stream(
        model="蟹", input="say 波🦀 again", previous_response_id=first.id
    ) as stream:
        words = "".join(e.delta for e in stream if e.type == "response.output_text.delta")
        second = stream.get_final_response()
    tell(streamed=words, whole=second.output_text, tokens=second.usage is not None)
    later = client.responses.create(model="蟹", input="say soon", background=True)
    while later.status in {"queued", "in_progress"}:
        time.sleep(0.05)  # noqa: TID251 - another process is at work
        later = client.responses.retrieve(later.id)
    tell(later=later.output_text, cancelled=client.responses.cancel(later.id).status)
    try:
        client.responses.create(model="蟹", input="x", previous_response_id="resp_none")
    except openai.NotFoundError as error:
        tell(unknown=error.param)


def whole() -> None:
    tell(models=[model.id for model in client.models.list()])
    messages: list[Any] = []
    for text in ("say 潮が満ちました", "say the tide is out"):
        messages.append({"role": "user", "content": text})
        answer = client.chat.completions.with_raw_response.create(
            model="蟹", messages=messages, temperature=0.2, max_tokens=100, user="花"
        )
        message = answer.parse().choices[0].message
        messages.append({"role": "assistant", "content": message.content})
        tell(said=message.content, session=answer.headers["X-OpenCrab-Session"])
    stream("say 波🦀 and foam")
    respond()
    for wrong in ({"model": "nobody"}, {"n": 3}):
        asked: dict[str, Any] = {"model": "蟹", "messages": [{"role": "user", "content": "x"}]}
        try:
            client.chat.completions.create(**{**asked, **wrong})
        except openai.APIStatusError as error:
            tell(error=type(error).__name__, code=error.code, param=error.param)
    try:
        openai.OpenAI(base_url=f"{URL}/v1", api_key="wrong").models.list()
    except openai.AuthenticationError as error:
        tell(error=type(error).__name__, code=error.code)


def embed() -> None:
    """Vectors as the library asks for them by itself (base64), as numbers, and shortened."""
    texts, tokens = ["波🦀", "foam"], 0
    for form in (None, "float"):
        more: dict[str, Any] = {} if form is None else {"encoding_format": form}
        found = client.embeddings.create(model="蟹", input=texts, **more)
        vectors, tokens = [list(each.embedding) for each in found.data], found.usage.total_tokens
        tell(format=form, vectors=vectors, model=found.model)
    try:
        client.embeddings.create(model="蟹", input="x", dimensions=256)
    except openai.UnprocessableEntityError as error:
        tell(tokens=tokens, refused=error.param)


if sys.argv[3:] == ["--embed"]:
    embed()
elif len(sys.argv) > 3:
    stream(sys.argv[3])
else:
    whole()
