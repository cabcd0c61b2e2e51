"""Writes config/models.json, the prices of models as the installed genai-prices knows them.

Runs in .venv-prices (`make prices`), so that nothing at run time needs that library.
"""

import dataclasses
import json
import sys
from collections.abc import Mapping
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "config" / "models.json"

sys.path.insert(0, str(ROOT / "layers" / "opencrab" / "python"))

from opencrab.adapters.providers.catalogue.prices import PriceEntry, read_provider_price_list  # noqa: E402  - found just now
from opencrab.adapters.system_clock import SystemClock  # noqa: E402


def installed() -> list[dict[str, Any]]:
    """The library's own list in the shape in which it is published."""
    from genai_prices.data import providers  # noqa: PLC0415  - only this environment has it

    return [
        {"id": provider.id, "models": [_model(model) for model in provider.models]}
        for provider in providers
    ]


def document(listed: Mapping[str, PriceEntry], today: date, source: str) -> str:
    """The file: one line a model, sorted."""
    lines = [f"{json.dumps(name)}:{_line(entry)}" for name, entry in sorted(listed.items())]
    head = f'"as_of":"{today.isoformat()}","source":{json.dumps(source)}'
    return "".join(("{", head, ',"models":{\n', ",\n".join(lines), "\n}}\n"))


def _line(entry: PriceEntry) -> str:
    values: dict[str, Any] = {part: float(usd) for part, usd in entry.parts.items()}
    values["context"] = entry.context
    values["max_input_tokens"] = entry.max_input_tokens
    values["also"] = list(entry.also)
    kept = {name: _short(value) for name, value in values.items() if value not in (None, [])}
    return json.dumps(kept, separators=(",", ":"), ensure_ascii=False)


def _short(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _model(model: Any) -> dict[str, Any]:
    prices = model.prices if isinstance(model.prices, list) else [model.prices]
    return {
        "id": model.id,
        "match": _match(model.match),
        "context_window": model.context_window,
        "prices": [_conditional(each) for each in prices],
    }


def _match(match: Any) -> dict[str, Any]:
    if hasattr(match, "or_"):
        return {"or": [_match(each) for each in match.or_]}
    return {"equals": match.equals} if hasattr(match, "equals") else {}


def _conditional(each: Any) -> dict[str, Any]:
    prices = getattr(each, "prices", each)
    constraint = getattr(each, "constraint", None)
    units = {
        unit: _plain(value) for unit, value in vars(prices).items() if not unit.startswith("_")
    }
    return {"constraint": _plain(constraint), "prices": units}


def _plain(value: Any) -> Any:
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    fields = dataclasses.asdict(value)
    return {
        name: each.isoformat() if name.endswith(("_date", "_time")) else each
        for name, each in fields.items()
    }


def main() -> None:
    """Write the file, dated today."""
    today = SystemClock().now().date()
    listed = read_provider_price_list(installed(), today)
    text = document(listed, today, f"genai-prices {version('genai-prices')}")
    TARGET.write_text(text, encoding="utf-8")
    size = len(text.encode()) // 1024
    sys.stdout.write(f"{len(listed)} models in {TARGET.relative_to(ROOT)}, {size} KB\n")


if __name__ == "__main__":
    main()
