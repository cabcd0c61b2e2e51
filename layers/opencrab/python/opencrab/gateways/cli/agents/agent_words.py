"""Words about agents: finding, making, changing and retiring them."""

SENTENCES: dict[str, tuple[str, str]] = {
    "no_agents": ("there are no agents yet", "エージェントはまだいません"),
    "no_agents_cure": (
        "create one with `opencrab agents create`",
        "`opencrab agents create` で作成してください",
    ),
    "unknown_agent": (
        "there is no agent named {name}",
        "「{name}」というエージェントはいません",
    ),
    "did_you_mean": ("did you mean {name}?", "「{name}」ではありませんか?"),
    "agents_are": ("the agents are: {names}", "エージェント: {names}"),
    "ambiguous": (
        "{count} agents are named {name}",
        "「{name}」という名前のエージェントが {count} 体います",
    ),
    "ambiguous_cure": ("use an id: {ids}", "ID で指定してください: {ids}"),
    "choose_agent": (
        "there are several agents; say which one",
        "エージェントが複数います。どれと話すか指定してください",
    ),
    "choose_agent_cure": (
        "name one: `opencrab chat AGENT`; `opencrab agents list` shows them",
        "`opencrab chat AGENT` のように指定してください。一覧は `opencrab agents list` です",
    ),
    "which_agent": ("Which one", "どのエージェントと話しますか"),
    "create_one": ("Create one now?", "今、作成しますか?"),
    "ask_language": (
        "Its language, ja or en / 言語",
        "エージェントの言語 (ja / en)",
    ),
    "ask_name": ("Name", "名前"),
    "ask_persona": (
        "Persona, such as: a curious researcher (Enter: none)",
        "ペルソナ(例: 好奇心旺盛な研究者。Enter で省略)",
    ),
    "ask_purpose": (
        "What is it there for, in one sentence? (Enter: nothing special)",
        "何のためのエージェントですか? ひとことで(Enter で省略)",
    ),
    "one_of": ("please answer with one of: {choices}", "次のどれかを入力してください: {choices}"),
    "needed": ("this one is needed", "これは必須です"),
    "name_needed": ("say the agent's name", "エージェントの名前を指定してください"),
    "nothing_to_edit": (
        "say what to change, such as --name or --traits",
        "--name や --traits などで、変更する内容を指定してください",
    ),
    "agent_created": ("{name} is here ({id})", "{name} を作成しました({id})"),
    "agent_created_next": (
        'talk to it: opencrab chat "{name}"',
        '話しかけるには: opencrab chat "{name}"',
    ),
    "agent_changed": ("{name} was changed", "{name} を変更しました"),
    "agent_retired": ("{name} has retired", "{name} は引退しました"),
    "unchanged": ("{name} stays as it is", "{name} は変更していません"),
    "really_retire": (
        "Retire {name} for good?",
        "{name} を引退させますか? 元には戻せません",
    ),
    "yes_needed": (
        "retiring is for good: confirm it with --yes",
        "引退は取り消せません。--yes で確認してください",
    ),
    "unknown_fields": (
        "these fields do not exist or cannot be changed: {names}",
        "次の項目は存在しないか、変更できません: {names}",
    ),
    "not_json": ("this is not JSON: {why}", "JSON として読めません: {why}"),
    "not_an_object": ("it must be an object in braces", "全体を {{ }} で囲んでください"),
    "edit_again": ("Edit again?", "もう一度編集しますか?"),
    "no_editor": (
        "the editor {editor} did not work: {why}",
        "エディター {editor} を使えませんでした: {why}",
    ),
    "no_editor_cure": (
        "set EDITOR to yours, or use options such as --name",
        "EDITOR を設定するか、--name などのオプションを使ってください",
    ),
}
