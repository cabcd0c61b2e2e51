"""A reservation covers whatever a vendor may count: every byte, picture, hidden and last token."""

from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.money.budget import Price, Usage
from opencrab.engine.money.reservation import model_call_reservation
from opencrab.ports.models.model import ChatMessage, ChatRequest, Image, ModelInfo

few = st.integers(0, 5_000)


@given(
    text=st.text(alphabet="aé海🦀", max_size=60),
    hidden=few,
    thinks=few,
    images=st.lists(st.binary(max_size=40), max_size=3),
    answer=st.integers(1, 2_000),
)
def test_no_bill_is_higher(
    text: str, hidden: int, thinks: int, images: list[bytes], answer: int
) -> None:
    price = Price(input_per_million=3_000_000, output_per_million=15_000_000)
    info = ModelInfo(
        name="openai:gpt",
        price=price,
        image_tokens=700,
        hidden_tokens=hidden,
        hidden_output_tokens=thinks,
    )
    pictures = tuple(Image("image/png", data.hex()) for data in images)
    request = ChatRequest(
        model="gpt",
        actions=(),
        system="",
        turns=(ChatMessage("user", text, images=pictures),),
        max_output_tokens=answer,
    )
    body = (text + "".join(each.data for each in pictures)).encode()
    most = Usage(
        input_tokens=len(text.encode()) + 700 * len(pictures) + hidden,
        output_tokens=answer + thinks,
    )
    assert price.cost(most) <= model_call_reservation(info, request, body)
