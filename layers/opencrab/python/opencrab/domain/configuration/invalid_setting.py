"""The error for a wrong setting, which can be said in the language of whoever set it."""

from opencrab.domain.errors import Invalid


class InvalidSetting(Invalid):
    """A setting or a file of settings that is wrong; `problem` and `facts` say so in any language.

    `problem` is the key of a sentence, `line` that of the file, 0 if it is none.
    """

    def __init__(
        self,
        message: str,
        *,
        problem: str = "",
        facts: dict[str, object] | None = None,
        line: int = 0,
        field: str | None = None,
        cure: str | None = None,
    ) -> None:
        super().__init__(message, field=field, cure=cure)
        self.problem = problem
        self.facts = facts or {}
        self.line = line
