"""The templates of notes that every vault has until it has one of the same name itself."""

from typing import Final

from opencrab.domain.value import Language

_MEETING_EN: Final = """\
---
tags:
  - meeting
---
# {{title}}

- Date: {{date}}
- Present:
- Purpose:

## Agenda

1.

## Discussion

## Decisions

-

## Tasks

- [ ] Task (who, by when)

## Next meeting

## Related

"""

_MEETING_JA: Final = """\
---
tags:
  - 会議
---
# {{title}}

- 日付: {{date}}
- 出席者:
- 目的:

## 議題

1.

## 話し合ったこと

## 決まったこと

-

## タスク

- [ ] やること（担当、期限）

## 次回

## 関連

"""

_DAILY_REVIEW_EN: Final = """\
---
tags:
  - daily-review
---
# {{title}}

Review of {{date}}

## Done today

-

## Notes of today

-

## Learned

-

## Left open

-

## Tasks for tomorrow

- [ ]

## Related

"""

_DAILY_REVIEW_JA: Final = """\
---
tags:
  - 日次レビュー
---
# {{title}}

{{date}} のふりかえり

## 今日したこと

-

## 今日のノート

-

## 学んだこと

-

## 残ったこと

-

## 明日のタスク

- [ ]

## 関連

"""

_MINDMAP_EN: Final = """\
---
tags:
  - mindmap
---
# {{title}}

- {{title}}
  - Main idea
    - Detail
  - Questions
  - Examples

## How they are connected

-

## Related

"""

_MINDMAP_JA: Final = """\
---
tags:
  - マインドマップ
---
# {{title}}

- {{title}}
  - 中心となる考え
    - 詳細
  - 疑問
  - 例

## つながり

-

## 関連

"""

_STUDY_MAP_EN: Final = """\
---
tags:
  - study-map
---
# {{title}}

Begun on {{date}}

## Goal

## Known already

-

## Steps

| Step | Notes | State |
| --- | --- | --- |
| Basics | | open |
| Practice | | open |
| Depth | | open |

## How the topics depend on each other

-

## Open questions

-

## Related

"""

_STUDY_MAP_JA: Final = """\
---
tags:
  - 学習マップ
---
# {{title}}

開始日: {{date}}

## 目標

## すでに知っていること

-

## 段階

| 段階 | ノート | 状態 |
| --- | --- | --- |
| 基礎 | | 未着手 |
| 実践 | | 未着手 |
| 発展 | | 未着手 |

## 項目どうしの関係

-

## 残っている疑問

-

## 関連

"""

SHIPPED: Final = {
    "meeting": {Language.EN: _MEETING_EN, Language.JA: _MEETING_JA},
    "daily-review": {Language.EN: _DAILY_REVIEW_EN, Language.JA: _DAILY_REVIEW_JA},
    "mindmap": {Language.EN: _MINDMAP_EN, Language.JA: _MINDMAP_JA},
    "study-map": {Language.EN: _STUDY_MAP_EN, Language.JA: _STUDY_MAP_JA},
}
"""By name and language."""
