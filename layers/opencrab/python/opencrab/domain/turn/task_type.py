"""Task types: what kind of work a model call is, decided by code and not by a model.

A new design, a proof, a plan, a dilemma and whatever is complex need the best model, routine work
and simple choices the fastest, all other work the standard one.
"""

import re
from enum import StrEnum
from functools import lru_cache

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
    REASONING = "reasoning"
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
        if self.task_type in {TaskType.DESIGN, TaskType.REASONING}:
            return 1
        return 1 if self.complexity > COMPLEX else 2

    @property
    def use(self) -> Use:
        """The use of the turn's model, which `Routing.use_of_call` may turn into `tool_calling`."""
        if self.tier != 2:  # noqa: PLR2004  - the usual one
            return Use.THINKING if self.tier == 1 else Use.ANALYSIS
        return _USES.get(self.task_type, Use.CONVERSATION)


_USES = {TaskType.CREATIVE: Use.CREATIVE, TaskType.ANALYSIS: Use.ANALYSIS}


def complexity_level_of_turn(complexity: float) -> str:
    """Return a complexity as a word, for reports: simple, medium or complex."""
    if complexity > COMPLEX:
        return "complex"
    return "medium" if complexity > _MEDIUM else "simple"


def turn_think_context(text: str, trigger: Trigger, *, acting: bool = False) -> ThinkContext:
    """Classify a model call by its turn's trigger and text.

    Heartbeats, events, summaries and embeddings are routine.
    """
    task_type, complexity = _classify(text[:_READ])
    if trigger in _ROUTINE:
        task_type = TaskType.ROUTINE
    return ThinkContext(task_type=task_type, complexity=complexity, acting=acting)


@lru_cache(maxsize=32)
def _classify(words: str) -> tuple[TaskType, float]:
    """Return a text's type of work and its complexity; all calls of a turn ask for the same."""
    complexity = _complexity(words)
    kinds = (kind for kind, pattern in _KINDS if re.search(pattern, words, re.IGNORECASE))
    found = next(kinds, None)
    if found is TaskType.DECISION and complexity > _PLAIN_CHOICE:
        found = None
    if found is TaskType.REASONING and TaskType.CREATIVE in kinds:
        # A story about a dilemma, a song about a plan.
        found = TaskType.CREATIVE
    return found or TaskType.CONVERSATION, complexity


_PLAIN_CHOICE = 0.3
_ROUTINE = {Trigger.HEARTBEAT, Trigger.EVENT, Trigger.COMPACTION, Trigger.EMBEDDING}


def _words(english: str, japanese: str) -> str:
    return rf"(?:\b(?:{english})\b|{japanese})"


_ASKING = r"(?:(?:^|[.?!,;:\n]\s*)|please |pls |you |me |us |to |and |let's )"
_DESIGNED = (
    r"(?:(?!(?:to|about|for|of|on|in|with|from|called|named)\b)[\w/-]+ ){0,4}"
    r"(?:design|architecture|schema|(?:data|permission) model|spec(?:ification)?|rfc|api|pipeline|"
    r"process|protocol|framework)\b(?!\.\w)"
)
"""What a new one of may be asked for, with the words before it."""

_ENDS = r"(?:ください|下さい|ほしい|欲しい|(?:もらえ|くれ)(?!た|て|まし)|[。、!\uff01\n]|$)"
"""How a request ends; thanks for what was done is none."""

_PLEASE = rf"(?:して|を考えて|を提案して){_ENDS}"
_PLANNED = (
    r"(?:(?!(?:to|about|for|of|on|in|with|from|called|named|phone|cell|mobile|data|insurance|floor|"
    r"pricing|payment)\b)[\w/'-]+ ){0,4}"
    r"(?:plan|strategy|roadmap|itinerary)\b(?!\.\w| [b-d]\b)"
)
_MADE = (
    rf"(?:(?:立て|考え|作っ|つくっ|作成し|練っ|組ん|組み立て|提案し|書い|出し)て{_ENDS}|"
    r"(?:立て|考え|作り|つくり|練り|組み)たい|願い(?:します|でき|したい))"
)
_SMALL = (
    r"\b(?:eat|food|snack|lunch|dinner|breakfast|dessert|cook|pizza|pasta|sushi|ramen|burgers?|"
    r"coffee|tea|drink|wear|dress|shirt|shoes|outfit|colou?rs?|nails?|movie|song|umbrella)\b|"
    r"ご飯|ごはん|[朝昼夕]食|[昼夕]飯|ランチ|おやつ|献立|メニュー|食べ|飲[むもみ]|ラーメン|うどん|"
    r"パスタ|ピザ|寿司|カレー|コーヒー|紅茶|(?<![制不])服(?![用薬])|靴|髪型|ネイル|何色|の色|映画|傘|"
    r"お風呂"
)
"""What a choice in a short message is small talk about."""

_HARD = rf"\A(?!(?=[\s\S]{{0,80}}\Z)[\s\S]*(?:{_SMALL}))[\s\S]*?"

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
        # A proof or a plan that is asked for.
        TaskType.REASONING,
        _words(
            r"prove (?:that|it|this|why|the|there|or disprove)|proof that|disprove|"
            r"proof of (?!(?:address|age|concept|delivery|employment|funds|id|identity|income|"
            r"insurance|life|ownership|payment|postage|purchase|residen\w+|vaccination)\b)|"
            r"(?:derive|deduce) (?:the|a|an|that|this|from)|logic puzzle|"
            r"think (?:hard|carefully|step by step)|(?:think|reason) (?:this |it )?through|"
            rf"(?:make|draft|draw up|write|work out|give|come up with|create|build|outline|propose|"
            rf"prepare|sketch|suggest) (?:me |us )?(?:a|an|the|our|my) {_PLANNED}|"
            rf"(?:need|want) (?:a|an) {_PLANNED}|"
            rf"{_ASKING}(?:help me (?:to )?)?plan (?:out )?(?:my|our|the|a|an|how)",
            r"(?<!在職|在学|卒業|身分|退職|就労|勤務|納税|収入|居住|成績|出席|残高)証明"
            r"(?:し(?:て|たい|なさい|ろ)|せよ|を(?:書|考|示|し)|でき(?:ます|る))|導出(?:し|せよ)|"
            r"論理パズル|(?:じっくり|順を追って|筋道を立てて)考えて|"
            rf"よく考えて(?:から|答え|{_ENDS})|"
            r"(?:計画|プラン|戦略|ロードマップ|段取り|旅程|対策)[^。?!\uff1f\uff01\n]{0,12}"
            rf"{_MADE}",
        ),
    ),
    (
        # A choice that somebody who writes cannot make, unless it is a small one.
        TaskType.REASONING,
        _HARD
        + _words(
            r"dilemma|torn between|(?:help me|hard to|struggling to) (?:decide|choose)|"
            r"(?:(?:i|we)(?: \w+)? |(?:^|[.?!,;:\n]) ?)(?:can(?:'|’)?t|cannot) (?:decide|choose)|"
            r"should (?:i|we) [^.?!\n]{3,120}\bor (?:should|rather|stay|keep|just|not|would)\b",
            r"ジレンマ|板挟み|決めかねて(?:い|る|ま|て)|"
            r"(?<!道に|道を|道で|駅で|森で)迷って(?:い(?!た|て)|る|ま)|"
            r"(?:[かでを、]|ずっと|とても|すごく)悩んで(?:い(?!た|て)|る|ま)|"
            r"べき(?:です|でしょう)?か[、,]?[^。?!\uff1f\uff01\n]{0,60}べき(?:です|でしょう)?か|"
            r"か[、,]?それとも[^。\n]{0,60}(?:べき|いい|良い|よい)",
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
            r"analy[sz]e|analysis of|summari[sz]e|sum (?:it |this |that |them )?up|summary of|"
            r"tl;?dr|recap|key points|main points|compare|comparison|contrast|evaluate|assess|"
            r"pros and cons|advantages and disadvantages",
            rf"分析|要約|(?:まとめ|比べ|整理し|集計し)て{_ENDS}|比較(?:し|表|を)|評価して|要点|"
            r"かいつまんで|長所と短所|(?:メリット|利点)と(?:デメリット|欠点)",
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
