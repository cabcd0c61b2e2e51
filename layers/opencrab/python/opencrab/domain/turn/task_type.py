"""Task types: what kind of work a model call is, decided by code and not by a model.

A new design and whatever is complex need the best model, routine work and simple choices the
fastest, all other work the standard one.
"""

import re
from enum import StrEnum

from opencrab.domain.models.routing import Use
from opencrab.domain.turn.turn import Trigger
from opencrab.domain.value import Unit, Value

COMPLEX = 0.7
"""The complexity above which a task needs the first tier, whatever it is about."""

_MEDIUM = 0.35
_READ = 8_000
"""The number of characters of a text that are read."""


class TaskType(StrEnum):
    """The type of work of a model call."""

    CONVERSATION = "conversation"
    DESIGN = "design"
    CODE = "code"
    ANALYSIS = "analysis"
    CREATIVE = "creative"
    DECISION = "decision"
    ROUTINE = "routine"


class ThinkContext(Value):
    """The task of a model call; `acting` means that it continues after tool calls."""

    task_type: TaskType = TaskType.CONVERSATION
    complexity: Unit = 0.0
    acting: bool = False

    @property
    def tier(self) -> int:
        """The tier of model that it needs: 1 best, 2 standard, 3 fastest (Kingdom's)."""
        if self.task_type in {TaskType.ROUTINE, TaskType.DECISION}:
            return 3
        return 1 if self.task_type is TaskType.DESIGN or self.complexity > COMPLEX else 2

    @property
    def use(self) -> Use:
        """The use whose model is called."""
        if self.tier != 2:  # noqa: PLR2004  - the usual one
            return Use.THINKING if self.tier == 1 else Use.ANALYSIS
        if self.task_type is TaskType.CREATIVE:
            return Use.CREATIVE
        return Use.TOOL_CALLING if self.acting else Use.CONVERSATION


def turn_complexity_level(complexity: float) -> str:
    """Return a complexity as a word, for reports: simple, medium or complex."""
    if complexity > COMPLEX:
        return "complex"
    return "medium" if complexity > _MEDIUM else "simple"


def turn_think_context(text: str, trigger: Trigger, *, acting: bool = False) -> ThinkContext:
    """Classify a model call by its turn's trigger and text.

    Heartbeats, events, summaries and embeddings are routine.
    """
    words = text[:_READ]
    complexity = _complexity(words)
    if trigger in _ROUTINE:
        return ThinkContext(task_type=TaskType.ROUTINE, complexity=complexity, acting=acting)
    found = next(
        (kind for kind, pattern in _KINDS if re.search(pattern, words, re.IGNORECASE)), None
    )
    if found is TaskType.DECISION and complexity > _PLAIN_CHOICE:
        found = None
    return ThinkContext(
        task_type=found or TaskType.CONVERSATION, complexity=complexity, acting=acting
    )


_PLAIN_CHOICE = 0.3
_ROUTINE = {Trigger.HEARTBEAT, Trigger.EVENT, Trigger.COMPACTION, Trigger.EMBEDDING}


def _words(english: str, japanese: str) -> str:
    return rf"\b(?:{english})\b|{japanese}"


_ASKING = r"(?:(?:^|[.?!,;:\n]\s*)|please |pls |you |me |us |to |and |let's )"
_DESIGNED = (
    r"(?:(?!(?:to|about|for|of|on|in|with|from|called|named)\b)[\w/-]+ ){0,4}"
    r"(?:design|architecture|schema|(?:data|permission) model|spec(?:ification)?|rfc|api|pipeline|"
    r"process|protocol|framework)\b(?!\.\w)"
)
"""What a new one of may be asked for, with the words before it."""

_ENDS = r"(?:ください|下さい|ほしい|欲しい|もらえ|くれ|[。、!\uff01\n]|$)"
_PLEASE = rf"(?:して|を考えて|を提案して){_ENDS}"

_KINDS = (
    (
        TaskType.DECISION,
        _words(
            r"yes[\"'”]? ?(?:or|/) ?(?:a )?[\"'“]?no|y/n|answer (?:only )?(?:yes|no)\b[^.]{0,20}",
            r"[「『]?はい[」』]?(?:か、?|または|・|/|\uff0f)[「『]?いいえ|"
            r"(?:yes|イエス) ?(?:か|/|\uff0f|or) ?(?:no|ノー)",
        ),
    ),
    (
        # A new one is asked for; who talks about a design that is there has another task.
        TaskType.DESIGN,
        _words(
            rf"{_ASKING}design (?:a|an|the|our|my|some)|"
            r"(?:design|devise|draft|plan|work out)\b[^.?!\n]{0,80}from (?:scratch|the ground up)|"
            r"(?:draft|propose|sketch|outline|write|create|devise|suggest|come up with|work out) "
            rf"(?:me |us )?(?:a|an|the|our|some) {_DESIGNED}|"
            rf"(?:need|want)(?: to (?:build|create|make|set up))? an? {_DESIGNED}|"
            rf"what should (?:the|our) {_DESIGNED}|"
            r"how (?:would|should|do|can) (?:you|we|i) (?:structure|architect|design|model) "
            r"(?:a|an|the|our)|"
            r"how [^.?!\n]{0,40}\bshould be (?:structured|designed|organi[sz]ed|laid out)",
            rf"設計(?:し(?:たい|直したい)|{_PLEASE})|"
            r"(?:設計|アーキテクチャ|仕様書?|構成|スキーマ|データモデル|仕組み|しくみ|プロセス)"
            r"[^。?!\uff1f\uff01\n]{0,12}"
            rf"(?:(?:考え|書い|作っ|作成し|提案し|決め|組み立て|設計し|出し)て{_ENDS}|"
            r"(?:考え|作り|作成し|決め|組み立て)たい|願い(?:します|でき|したい))",
        ),
    ),
    (
        TaskType.CODE,
        _words(
            r"refactor\w*|implement\w*|debug\w*|stack ?trace|traceback|unit tests?|code review|"
            r"compile[rs]?|regex|algorithm|function|python|javascript|typescript|rust|sql",
            r"```|コード|実装|リファクタ|デバッグ|バグ|関数|アルゴリズム|正規表現|単体テスト",
        ),
    ),
    (
        TaskType.CREATIVE,
        _words(
            r"poem|haiku|lyrics|short story|fairy tale|slogan|brainstorm\w*",
            r"俳句|短歌|小説|物語|歌詞|キャッチコピー|ブレスト|詩を",
        ),
    ),
    (
        TaskType.ANALYSIS,
        _words(
            r"analy[sz]e|summari[sz]e|compare|evaluate|pros and cons",
            r"分析|要約|まとめて|比較して|評価して",
        ),
    ),
)
_DEMANDS = (
    r"\b(?:concurren\w+|distributed|consisten\w+|deadlocks?|race conditions?|transactions?|proofs?|"
    r"prove|optimi[sz]\w+|migrat\w+|scal(?:e|able|ability|ing)|security|failure modes?|"
    r"trade-?offs?|constraints?|requirements?|architecture|edge cases?|throughput|latency|"
    r"downtime|failover|idempoten\w+|determinis\w+|multithread\w*)\b|"
    r"並行|並列|分散|整合性|デッドロック|競合|トランザクション|証明|最適化|移行|拡張性|スケール|"
    r"セキュリティ|障害|制約|要件|アーキテクチャ|境界条件|例外処理|性能|停止なし|二重|線形化|冪等"
)
_PARTS = r"^[ \t\u3000]*(?:(?:[-*]|\d{1,4}[.)\uff0e])[ \t\u3000]+|・[ \t\u3000]*)\S"
_CODE = r"```|^\s{4}\S|\bdef \w+\(|\bclass \w+|;\s*$"
_LONG = 2_000


def _complexity(text: str) -> float:
    """Estimate how demanding a text is, 0 to 1: by length, list items, code and keywords."""
    weight = len(text) + sum(1 for character in text if character > "\u2fff")
    demands = len(
        {found.group().casefold() for found in re.finditer(_DEMANDS, text, re.IGNORECASE)}
    )
    parts = sum(1 for _ in re.finditer(_PARTS, text, re.MULTILINE))
    score = 0.35 * min(weight / _LONG, 1.0)
    score += 0.2 * min(demands, 4)
    score += 0.15 * min(parts / 4, 1.0)
    score += 0.15 if re.search(_CODE, text, re.MULTILINE) else 0.0
    return round(min(score, 1.0), 2)
