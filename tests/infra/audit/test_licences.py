"""An SPDX expression is allowed if it leaves a choice that is allowed entirely."""

import pytest

from infra.audit.licences import is_allowed

ALLOWED = frozenset({"MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"})


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("MIT OR GPL-3.0-only", True),
        ("GPL-3.0-only OR MIT", True),
        ("MIT AND GPL-3.0-only", False),
        ("MIT AND Apache-2.0", True),
        ("MIT AND GPL-3.0-only OR Apache-2.0", True),
        ("MIT AND (GPL-3.0-only OR Apache-2.0)", True),
        ("(MIT AND GPL-3.0-only) OR LGPL-3.0-only", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("MIT WITH Something", False),
        ("MIT or GPL-3.0-only", False),
        ("(MIT", False),
        ("MIT)", False),
        ("MIT AND", False),
        ("", False),
    ],
)
def test_what_is_allowed(expression: str, allowed: bool) -> None:  # noqa: FBT001
    assert is_allowed(expression, ALLOWED) is allowed
