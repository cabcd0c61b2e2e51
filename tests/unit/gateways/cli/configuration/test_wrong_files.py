"""Wrong settings files as people make them: each is told with file, line, fault and cure.

Each case has the file's bytes, the line (0 for the file as a whole), and what is said of the fault
and of its cure in English and in Japanese.
"""

import os
from pathlib import Path

import pytest

from tests.unit.gateways.cli.configuration.home import Home

NO_VALUE = ("after = is no value", "straight quotes", "値になっていません", "半角の引用符")
NO_NAME = ("no name of a setting", "names in English", "読めない文字", "英字の名前")
TWICE = ("a second time", "keep one of them", "2度目", "どちらか1つ")
NO_EQUALS = ("there is no = between", "NAME = VALUE", "= がありません", "「名前 = 値」")
ENCODING = ("not in UTF-8", "save it in UTF-8", "UTF-8 ではありません", "UTF-8 で保存")
BUDGET = "from 0 to 1,000,000", "the default is 0.5", "0 から 1,000,000", "既定値: 0.5"

WRONG: dict[str, tuple[bytes, int, tuple[str, str, str, str]]] = {
    "wrong type": (
        b'[agent]\nmax_steps = "ten"\n',
        2,
        ("a whole number", "such as 10", "整数", "10 のように"),
    ),
    "misspelt section": (
        b"[buget]\nturn_usd = 1\n",
        1,
        ("there is no section [buget]", "[budget]?", "[buget] という", "[budget] のこと"),
    ),
    "misspelt setting": (
        b"[budget]\nturn_ud = 1\n",
        2,
        (
            "no setting budget.turn_ud",
            "budget.turn_usd?",
            "budget.turn_ud という",
            "turn_usd のこと",
        ),
    ),
    "misspelt use": (
        b'[llm.models]\ntalking = "openai:gpt-5"\n',
        2,
        ("llm.models.talking", "llm.models.thinking?", "llm.models.talking", "thinking のこと"),
    ),
    "unknown kind of provider": (
        b'[llm.providers.x]\nkind = "opnai"\n',
        2,
        ("one of openai, azure", "in quotes\n", "openai, azure", "書いてください\n"),
    ),
    "alias of nothing": (
        b'[llm.aliases]\nfast = "opnai:gpt-5"\n',
        2,
        (
            "opnai:gpt-5 names no provider",
            "openai:gpt-5?",
            "モデルはありません",
            "openai:gpt-5 のこと",
        ),
    ),
    "alias of itself": (
        b'[llm.aliases]\na = "b"\nb = "a"\n',
        2,
        ("a → b → a", "PROVIDER:MODEL", "循環", "行き着く"),
    ),
    "fallback to one model twice": (
        b'[llm.fallback]\nchain = ["openai", "smart", "openai:gpt-5.2"]\n',
        2,
        ("openai:gpt-5.2 twice", "once", "2度あります", "1度だけ"),
    ),
    "default provider that is none": (
        b'[llm]\ndefault_provider = "opnai"\n',
        2,
        ("opnai names no provider", "openai?", "opnai という", "openai のこと"),
    ),
    "negative budget": (b"[budget]\nturn_usd = -1\n", 2, BUDGET),
    "budget as a text": (
        b'[budget]\nturn_usd = "1.50"\n',
        2,
        ("must be a number", "without quotes, such as 0.5", "数値", "引用符を付けずに"),
    ),
    "address without https": (
        b'[llm.providers.openai]\nbase_url = "api.openai.com"\n',
        2,
        ("must look like", "https://example.org/v1", "の形で", "https://example.org/v1"),
    ),
    "address with a port that is none": (
        b'[llm.providers.openai]\nbase_url = "https://host:99999/v1"\n',
        2,
        ("not a URL", "https://api.example.com/v1", "アドレスではありません", "https://"),
    ),
    "plain http to a vendor": (
        b'[llm.providers.openai]\nbase_url = "http://api.example.org/v1"\n',
        2,
        (
            "must use https",
            "https://api.example.com/v1",
            "アドレスではありません",
            "内部ネットワーク",
        ),
    ),
    "setting twice": (b"[budget]\nturn_usd = 1\nturn_usd = 2\n", 3, TWICE),
    "section twice": (b"[budget]\n[agent]\n[budget]\nturn_usd = 1\n", 3, TWICE),
    "YAML": (b"budget:\n  turn_usd: 1\n", 1, NO_EQUALS),
    "text without quotes": (b"[owner]\nname = Aoi\n", 2, NO_VALUE),
    "typographic quotes": ("[owner]\nname = “葵”\n".encode(), 2, NO_VALUE),
    "text without an end": (
        b'[owner]\nname = "Aoi\n[budget]\n',
        2,
        ("no closing quote", "end it with a quote", "閉じる引用符", "引用符で閉じて"),
    ),
    "byte order mark, and a fault": (
        b"\xef\xbb\xbf[budget]\nturn_ud = 1\n",
        2,
        (
            "no setting budget.turn_ud",
            "budget.turn_usd?",
            "budget.turn_ud という",
            "turn_usd のこと",
        ),
    ),
    "line ends of Windows, and a fault": (
        b"[budget]\r\nturn_usd = 1\r\n\r\nsesion_usd = 2\r\n",
        4,
        ("budget.sesion_usd", "budget.session_usd?", "sesion_usd という", "session_usd のこと"),
    ),
    "tabs, and a fault": (b"\t[budget]\n\tturn_usd\t=\t-1\n", 2, BUDGET),
    "Shift JIS": ('[owner]\nname = "花子"\n'.encode("shift_jis"), 2, ENCODING),
    "UTF-16": ('[owner]\nname = "a"\n'.encode("utf-16"), 1, ENCODING),
    "secret in its setting": (
        b'[llm.providers.openai]\napi_key = "sk-KANARI"\n',
        2,
        ("contains a secret", ".env", "秘密の値", ".env"),
    ),
    "secret as a variable": (
        b'OPENAI_API_KEY = "sk-KANARI"\n',
        1,
        ("secrets do not belong", "OPENAI_API_KEY=VALUE", "秘密の値", "OPENAI_API_KEY=値"),
    ),
    "list in place of a section": (
        b"budget = [1, 2]\n",
        1,
        ("must be a section", "[budget] on a line", "セクションで", "[budget] と1行に"),
    ),
    "list of sections": (
        b"[[budget]]\nturn_usd = 1\n",
        1,
        ("must be a section", "[budget] on a line", "セクションで", "[budget] と1行に"),
    ),
    "date in place of a text": (
        b"[owner]\nname = 2026-11-29\n",
        2,
        ("a text, not 2026-11-29\n", "in quotes", "値: 2026-11-29)", "引用符で囲んで"),
    ),
    "Japanese section": ("[予算]\n上限 = 1\n".encode(), 1, NO_NAME),
    "Japanese setting": ("[budget]\n上限 = 1\n".encode(), 2, NO_NAME),
    "zone that does not exist": (
        b'[agent]\ntime_zone = "Tokyo"\n',
        2,
        ("IANA time zone", "Asia/Tokyo", "タイムゾーン", "Asia/Tokyo"),
    ),
    "cron in place of an interval": (
        b'[backup]\nevery = "0 3 * * *"\n',
        2,
        ("must look like", '"12h"', "の形で", '"12h"'),
    ),
    "too large": (
        b"# " + b"x" * 1_100_000,
        0,
        ("larger than 1,048,576", "a few lines", "1,048,576 バイト", "数行で"),
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_is_told_with_its_line_fault_and_cure(tmp_path: Path, case: str) -> None:
    content, line, said = WRONG[case]
    home = Home(tmp_path)
    home.file.parent.mkdir(parents=True)
    home.file.write_bytes(content)
    place = f"{home.file}:{line}: " if line else f"{home.file}: "
    for language, what, cure in (("en", *said[:2]), ("ja", *said[2:])):
        assert home.run("check", language=language).code == 1
        first, _, rest = home.err.partition("\n  → ")
        assert first.startswith(place)
        assert what in f"{first}\n"
        assert cure in rest
        assert "KANARI" not in home.err
    assert home.file.read_bytes() == content


def test_a_folder_in_place_of_the_file_is_told(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.file.mkdir(parents=True)
    for language, what in (("en", "a folder or a device"), ("ja", "フォルダーかデバイス")):
        assert home.run("check", language=language).code == 1
        assert home.err.startswith(f"{home.file}: ")
        assert what in home.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_nobody_may_read_is_told(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write("[budget]\n")
    home.file.chmod(0)
    assert home.run("check").code == 1
    assert "chmod" in home.err


@pytest.mark.parametrize("content", [b"\xef\xbb\xbf[budget]\r\n\tturn_usd\t=\t1\r\n", b"", b"# \n"])
def test_what_looks_odd_and_is_no_fault_is_accepted(tmp_path: Path, content: bytes) -> None:
    home = Home(tmp_path)
    home.file.parent.mkdir(parents=True)
    home.file.write_bytes(content)
    assert home.run("check").code == 0, home.err
