"""Words about an agent's memory: sentences, terms, and the Japanese of their help."""

SENTENCES: dict[str, tuple[str, str]] = {
    "no_memories": ("{name} keeps no memories", "{name} に記憶はありません"),
    "memory_text_needed": (
        "say what it shall know, or send it through a pipe",
        "覚えさせる内容を引数かパイプで渡してください",
    ),
    "memory_new": ("memory {id} is kept", "記憶 {id} を保存しました"),
    "memory_merged": (
        "this was known already: memory {id}",
        "既に覚えている内容です(記憶 {id})",
    ),
    "memory_superseded": (
        "memory {id} says this now; what it said before is in its history",
        "記憶 {id} を新しい内容にしました(以前の内容は履歴に残ります)",
    ),
    "memory_earlier": ("until {at}: {content}", "{at} まで: {content}"),
    "query_needed": ("say what you look for", "探す内容を指定してください"),
    "nothing_found": ("nothing was found", "見つかりませんでした"),
    "found_why": ("why: {why} · {score} · {id}", "理由: {why} ・ {score} ・ {id}"),
    "no_moment": (
        "this is no time: write it as 2026-02-17 or 2026-02-17T09:00",
        "日時として読めません。2026-02-17 または 2026-02-17T09:00 の形で指定してください",
    ),
    "no_impressions": (
        "{name} has no impressions of anybody",
        "{name} には誰の印象もありません",
    ),
    "compaction_fails": (
        "{count} conversation(s) could not be summarised:",
        "要約できなかった会話が {count} 件あります:",
    ),
    "forget_one": (
        "name one: MEMORY, --session, --person, --since/--until or --everything",
        "MEMORY、--session、--person、--since/--until、--everything のどれか1つを指定してください",
    ),
    "forget_needs_yes": (
        "forgetting is for good: confirm it with --yes",
        "忘れさせたことは元に戻せません。--yes で確認してください",
    ),
    "really_forget_memory": (
        "{content}\nShall {name} forget this for good?",
        "{content}\n{name} にこれを忘れさせますか? 元には戻せません",
    ),
    "really_forget_session": (
        "Shall {name} forget all of conversation {id}, for good?",
        "{name} に会話 {id} のすべてを忘れさせますか? 元には戻せません",
    ),
    "really_forget_person": (
        "Shall {name} forget everything about {id}, for good?",
        "{name} に {id} のすべてを忘れさせますか? 元には戻せません",
    ),
    "really_forget_period": (
        "Shall {name} forget everything from {since} to {until}, for good?",
        "{name} に {since} から {until} までのすべてを忘れさせますか? 元には戻せません",
    ),
    "really_forget_everything": (
        "Shall {name} forget everything it ever lived through, for good?",
        "{name} にこれまでのすべてを忘れさせますか? 元には戻せません",
    ),
    "forget_preview": (
        "this takes away {lines} line(s), {turns} turn(s) and {kept} thing(s) that are kept",
        "発言 {lines} 行、ターン {turns} 件、保存した内容 {kept} 件が失われます",
    ),
    "forgotten": ("it is forgotten", "忘れました"),
    "forget_left": (
        "{left} step(s) are left: give the same command again",
        "まだ {left} 件残っています。同じコマンドをもう一度実行してください",
    ),
    "forget_files": (
        "files that came of it remain: {names}",
        "ここから作られたファイルは残ります: {names}",
    ),
    "forget_skills": (
        "skills that came of it remain: {names}",
        "ここから学んだスキルは残ります: {names}",
    ),
    "forget_schedules": (
        "schedules that have to do with it remain: {names}",
        "関係する予定は残ります: {names}",
    ),
    "nothing_to_forget": (
        "nothing of it was found, so nothing is forgotten; people are named by their ids, which "
        "`opencrab memory search --json` shows as speaker_id",
        "該当するものがなく、何も忘れていません。人は ID で指定します"
        "(opencrab memory search --json の speaker_id)",
    ),
    "nothing_forgotten": ("nothing was forgotten", "何も忘れていません"),
    "hearing_private": ("agent and owner", "本人とオーナー"),
    "hearing_session": ("its conversation", "その会話"),
    "hearing_guild": ("its community", "そのコミュニティ"),
    "hearing_public": ("everybody", "全員"),
    "kind_instruction": ("instruction", "指示"),
    "kind_inner_voice": ("thought", "心の声"),
    "kind_memory": ("memory", "記憶"),
    "kind_experience": ("experience", "経験"),
    "kind_summary": ("summary", "要約"),
    "found_by_words": ("its words", "言葉の一致"),
    "found_by_neighbour": ("what was said around it", "前後の発言"),
    "found_by_speaker": ("its speaker", "話し手"),
    "found_by_time": ("its time", "日時"),
    "memory_tainted": ("from outside", "外部から"),
    "head_category": ("category", "分類"),
    "head_memory": ("memory", "記憶"),
    "head_provenance": ("on whose word", "出どころ"),
    "head_hearing": ("who may hear", "聞ける範囲"),
    "head_confidence": ("confidence", "確かさ"),
    "head_importance": ("importance", "重要さ"),
    "head_taint": ("words", "内容の由来"),
    "head_links": ("belongs to", "関連"),
    "head_merged": ("learned again", "重ねて学んだ回数"),
    "head_lines": ("lines", "行数"),
    "head_personality": ("personality", "人柄"),
    "head_communication_style": ("how they speak", "話し方"),
    "head_recent_behavior": ("lately", "最近の様子"),
    "head_agreement": ("agreement", "意見の一致"),
    "head_notes": ("notes", "メモ"),
    "head_backend": ("index", "索引"),
    "head_rows": ("rows", "件数"),
    "head_published": ("snapshot", "スナップショット"),
    "head_memories": ("memories", "記憶の数"),
    "head_core": ("of these core", "うち中核"),
    "head_refusals": ("turned away", "保存しなかった数"),
    "head_failures": ("failures", "失敗回数"),
    "head_passed": ("left out", "飛ばした数"),
    "retry_begun": (
        "what failed is tried again; `opencrab memory status` shows what came of it",
        "失敗した要約をもう一度作ります。結果は opencrab memory status で確認できます",
    ),
    "head_error": ("why", "理由"),
    "memory_exported": ("{place}: {size} bytes", "{place} に書き出しました({size} バイト)"),
    "memory_imported": (
        "taken in: {taken} · known already: {known} · left out, as it says something else here: "
        "{other} · left out, as it was forgotten here: {forgotten}",
        "取り込み {taken} 件 ・ 既知 {known} 件 ・ 内容が異なるため除外 {other} 件 ・ "
        "忘れた内容のため除外 {forgotten} 件",
    ),
    "archive_too_large": (
        "{place} is larger than {most} bytes",
        "{place} は {most} バイトを超えています",
    ),
    "archive_too_large_cure": (
        "export less at a time: --kept, or one --session",
        "--kept や --session で分けて書き出してください",
    ),
    "no_memories_of": (
        "{name} keeps no memories of category {category}",
        "{name} に分類 {category} の記憶はありません",
    ),
    "memory_untrusted": (
        "it counts as learned from strangers; --trust takes your own export back as it was",
        "外部から学んだ内容として扱います。自分で書き出したものは --trust で元どおりに戻せます",
    ),
}

TERMS: dict[str, str] = {
    "import": "取り込み",
    "web": "ウェブ",
}

HELP = {
    "Summarise again what failed in a conversation.": "失敗した会話の要約をもう一度作ります。",
    "A conversation's id.": "会話の ID。",
    "Export what an agent remembers as a zip.": "エージェントの記憶を zip に書き出します。",
    "The file to write; if left out, AGENT-memory.zip.": (
        "書き出すファイル(省略時は AGENT-memory.zip)。"
    ),
    "Only what is kept, not what was said.": "会話を除き、保存した記憶だけ。",
    "Only this conversation.": "この会話だけ。",
    "Import memories, experiences, impressions and knowledge of a zip.": (
        "zip から記憶・経験・印象・知識を取り込みます。"
    ),
    "A zip that was exported.": "書き出した zip ファイル。",
    "Take it as it is: it is my own export.": "自分で書き出したものとして、そのまま取り込みます。",
    "Search, list, add and forget what an agent remembers.": (
        "エージェントの記憶の検索・一覧・追加・忘却。"
    ),
    "List what an agent keeps, the newest first.": "記憶の一覧(新しい順)。",
    "Only this category, such as preference.": "この分類だけ(例: preference)。",
    "How many memories.": "表示する記憶の数。",
    "Show one memory with where it comes from.": "記憶を出どころとともに表示します。",
    "A memory's id.": "記憶の ID。",
    "Give an agent something to know for good.": "エージェントに新しいことを覚えさせます。",
    "What it shall know; without it standard input.": "覚えさせる内容(省略時は標準入力)。",
    "Such as fact, preference, decision, lesson; core: always in mind.": (
        "分類(fact、preference、decision、lesson など。core は常に意識する内容)。"
    ),
    "Between 0 and 1.": "0 から 1 の間。",
    "Who may hear of it: public (everybody) or private.": (
        "誰に話してよいか: public(全員)または private(非公開)。"
    ),
    "Let an agent forget a memory, a conversation, a person, a time or everything, for good.": (
        "記憶・会話・人物・期間・すべてのどれかを忘れさせます。元には戻せません。"
    ),
    "All of this conversation.": "この会話のすべて。",
    "All of this person.": "この人物のすべて。",
    "All that it ever lived through.": "これまでのすべて。",
    "Search what was said to an agent and what it keeps.": (
        "エージェントの過去の会話と記憶を検索します。"
    ),
    "Words, or a whole question.": "探す言葉、または質問文。",
    "An agent's id or name; if left out, the only one.": (
        "エージェントの ID または名前(1体だけなら省略可)。"
    ),
    "How many finds.": "表示する件数。",
    "Only in this conversation.": "この会話だけ。",
    "speech, instruction, inner_voice, memory, experience or summary; repeatable.": (
        "種類: speech、instruction、inner_voice、memory、experience、summary(複数指定可)。"
    ),
    "Only what this one said: a name or an id.": "この人の発言だけ(名前または ID)。",
    "From this day or time on, like 2026-02-17.": "この日時以降(例: 2026-02-17)。",
    "Up to this day or time.": "この日時まで。",
    "Also say why it was found.": "見つかった理由も表示します。",
    "List an agent's conversations with their sizes.": "会話の一覧と行数。",
    "List what an agent thinks of people, or show one of them in full.": (
        "人物の印象の一覧、または1人の詳しい印象。"
    ),
    "Only this person, by id.": "この人物だけ(ID)。",
    "Show how an agent's memory stands: its index, what waits, and what failed.": (
        "記憶の状態(索引、スナップショット、失敗)を表示します。"
    ),
}
