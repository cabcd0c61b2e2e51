"""Models by chance, and the vendors' own bill for them: answered or not, whatever they report.

The bill is kept in millionths of a micro-dollar and made without OpenCrab's arithmetic. It knows
what was asked by looking at whose call comes in, never at what anybody saved of it.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.models.routing import Routing, Use
from opencrab.domain.money.budget import FREE, Price, Usage
from opencrab.domain.turn.record import ActionCall, ModelAnswer
from opencrab.ports.models.model import (
    UNWATCHED,
    AnswerWatch,
    ChatMessage,
    ChatModel,
    ChatRequest,
    ModelInfo,
)
from tests.crash.scheduling import Gate, Scheduler
from tests.money.account import PICO, Account, Reserved

INFOS = {
    info.name: info
    for info in (
        ModelInfo(
            name="dear:big",
            hidden_tokens=30,
            price=Price(
                input_per_million=3_000_000,
                output_per_million=15_000_000,
                cached_per_million=300_000,
                cache_write_per_million=3_750_000,
                cache_write_long_per_million=6_000_000,
            ),
        ),
        ModelInfo(
            name="thrifty:small",
            price=Price(input_per_million=250_000, output_per_million=1_250_001),
        ),
        ModelInfo(
            name="thrifty:next",
            price=Price(
                input_per_million=999_999, output_per_million=2_000_000, cached_per_million=0
            ),
        ),
        ModelInfo(
            name="shop:mid",
            price=Price(input_per_million=1_000_000, output_per_million=4_000_000),
        ),
        ModelInfo(name="local:free", price=FREE, private=True),
    )
}

_BILLED_AT_TIMES = (
    Fault.SERVER_ERROR,
    Fault.TIMEOUT,
    Fault.BROKEN_OFF,
    Fault.NONSENSE,
    Fault.BLOCKED,
)
"""What vendors have been seen to bill; said here once more, and not asked of the engine."""


@dataclass(frozen=True)
class Entry:
    """One call that a vendor received: what it bills, and what of that nobody could know.

    `beyond` is what it bills over the reservation, `concealed` what it bills and does not report;
    an honest vendor does neither.
    """

    turn_id: str
    n: int
    picos: int
    beyond: int
    concealed: int


class Market:
    """`ports.model.Models`: every model of every vendor, each behind an I/O point."""

    def __init__(
        self,
        dice: random.Random,
        account: Account,
        advance: Callable[[float], None],
        scheduler: Callable[[], Scheduler],
    ) -> None:
        self.dice = dice
        self.account = account
        self.advance = advance
        self.book: list[Entry] = []
        self.billed: Counter[str] = Counter()
        self.honest = dice.random() < 0.85
        self.failing = dice.choice((0.0, 0.1, 0.3, 0.6))
        self.acting = dice.choice((0.1, 0.4, 0.7))
        self.reroute()
        self._models: dict[str, ChatModel] = {}
        for info in INFOS.values():
            gate: object = Gate(Model(self, info), "model", scheduler)
            self._models[info.name] = gate  # type: ignore[assignment]  # a gate is what it guards

    def reroute(self) -> None:
        """Other models are chosen, and others take their places."""
        names = list(INFOS)
        self.dice.shuffle(names)
        self.routing = Routing(
            default=names[0],
            uses={Use.TOOL_CALLING: names[1]},
            fallback=tuple(names[: self.dice.randint(0, len(names))]),
        )

    def get(self, name: str | None) -> ChatModel:
        return self._models[name or self.routing.default]

    def refresh(self, version: int) -> None:
        """Nothing changes."""

    def enter(self, reserved: Reserved, picos: int, *, concealed: int = 0) -> None:
        """Put a call on the bill, and see at once that its budgets paid for it beforehand."""
        turn = reserved.turn
        beyond = max(picos - reserved.micro_usd * PICO, 0)
        if beyond and self.honest:
            self.account.problems.append(
                f"{turn.id} reserved {reserved.micro_usd} for what costs {picos / PICO}"
            )
        self.book.append(Entry(turn.id, reserved.n, picos, beyond, concealed))
        for scope in self.account.scopes_of(turn):
            self.billed[scope] += picos - max(beyond, concealed)
            drawn = self.account.by_scope[scope] * PICO
            if self.billed[scope] > drawn:
                self.account.problems.append(
                    f"{scope}: billed {self.billed[scope] / PICO} when {drawn / PICO} was drawn"
                )


class Model:
    """`ports.model.ChatModel`: answers, acts or fails as the dice say."""

    def __init__(self, market: Market, info: ModelInfo) -> None:
        self._market = market
        self.info = info

    def encode(self, request: ChatRequest) -> bytes:
        shown = (
            message.text if isinstance(message, ChatMessage) else message.content
            for message in request.turns
        )
        return "\n".join((request.system, *shown)).encode()

    def chat(
        self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED
    ) -> ModelAnswer:
        market, draw = self._market, self._market.dice.random
        reserved = market.account.calling()
        fault = market.dice.choice(tuple(Fault)) if draw() < market.failing else None
        market.advance(0.2 if draw() < 0.95 else draw() * 400)
        if fault is Fault.UNREACHABLE:
            raise ModelCallFailed("the line is dead", fault)
        if reserved is None:
            market.account.problems.append(f"{self.info.name} was called without a reservation")
            raise ModelCallFailed("nobody is calling", Fault.BAD_REQUEST)
        usage = self._used(request, body)
        if fault is not None:
            raise self._failure(reserved, usage, fault)
        reported = self._reported(usage, request)
        picos = self._picos(usage)
        told = self._told(reported, picos)
        if market.honest:
            picos = min(picos, told)
        market.enter(reserved, picos, concealed=max(picos - told, 0))
        return self._answer(reported)

    def _used(self, request: ChatRequest, body: bytes) -> Usage:
        """What the call takes: at most what its bytes and limits allow, at times exactly that."""
        dice = self._market.dice
        most = len(body) + self.info.hidden_tokens
        total = int(most * (1.0 if dice.random() < 0.1 else dice.random()))
        cached = dice.choice((0, 0, total // 2, total))
        written = dice.choice((0, total - cached))
        kept = total - cached - written if dice.random() < 0.3 else 0
        output = int(request.max_output_tokens * (1.0 if dice.random() < 0.1 else dice.random()))
        if not self._market.honest and dice.random() < 0.2:
            output += 5 * request.max_output_tokens
        return Usage(
            input_tokens=total,
            output_tokens=output,
            cached_tokens=cached,
            cache_write_tokens=written,
            cache_write_long_tokens=kept,
            reasoning_tokens=output // 2,
        )

    def _failure(self, reserved: Reserved, usage: Usage, fault: Fault) -> ModelCallFailed:
        """A failure; the vendor bills some of them, and at times it is known whether it did."""
        dice = self._market.dice
        certain = dice.random() < 0.15
        charged = dice.random() < 0.6 and (certain or fault in _BILLED_AT_TIMES)
        counted = usage if charged and dice.random() < 0.3 else None
        self._market.enter(reserved, self._picos(usage) if charged else 0)
        return ModelCallFailed(
            "failed on purpose",
            fault,
            billed=charged if certain else None,
            retry_after_seconds=dice.choice((None, 0.5, 20.0, 90.0)),
            usage=counted,
        )

    def _reported(self, usage: Usage, request: ChatRequest) -> Usage:
        """What the vendor says that it counted: the truth, nothing, nonsense, or too much."""
        dice = self._market.dice
        way = dice.random()
        if self.info.provider == "shop" and way < 0.5:
            dollars = -(-self._picos(usage) // PICO)
            return Usage(output_tokens=-3, reported_micro_usd=dollars)
        if way < 0.6:
            return usage
        if way < 0.7:
            return Usage()
        if way < 0.8:
            return usage.replaced(cached_tokens=-5, cache_write_tokens=10**9)
        if way < 0.9 or self._market.honest:
            return usage.replaced(output_tokens=request.max_output_tokens)
        return usage.replaced(input_tokens=usage.input_tokens // 2, output_tokens=1)

    def _told(self, reported: Usage, picos: int) -> int:
        """What a report comes to; one that says nothing hides nothing."""
        if reported.reported_micro_usd is not None:
            return reported.reported_micro_usd * PICO
        if max(reported.input_tokens, reported.output_tokens) <= 0:
            return picos
        return self._picos(reported)

    def _picos(self, usage: Usage) -> int:
        """Millionths of a micro-dollar, by the list of prices."""
        price = self.info.price
        assert price is not None
        left, total = usage.input_tokens, usage.output_tokens * price.output_per_million
        for tokens, own in (
            (usage.cached_tokens, price.cached_per_million),
            (usage.cache_write_tokens, price.cache_write_per_million),
            (usage.cache_write_long_tokens, price.cache_write_long_per_million),
        ):
            part = min(max(tokens, 0), left)
            left -= part
            total += part * (price.input_per_million if own is None else own)
        return total + left * price.input_per_million

    def _answer(self, usage: Usage) -> ModelAnswer:
        dice = self._market.dice
        if dice.random() < self._market.acting:
            calls = tuple(
                ActionCall(id=f"x{n}", name=dice.choice(("look", "knock", "mumble")), arguments={})
                for n in range(dice.randint(1, 3))
            )
            return ModelAnswer(calls=calls, model=self.info.name, usage=usage)
        text = dice.choice(("", "はい、承知しました。", "Done."))
        return ModelAnswer(text=text, model=self.info.name, usage=usage)
