"""Words about an agent's files, in English and Japanese."""

SENTENCES: dict[str, tuple[str, str]] = {
    "no_files": ("there are no files there", "ファイルはありません"),
    "file_written": ("{path} was written ({size} bytes)", "{path} に書き込みました({size} バイト)"),
    "file_fetched": (
        "{path} is in {place} now ({size} bytes)",
        "{path} を {place} に保存しました({size} バイト)",
    ),
    "file_deleted": ("{path} was deleted", "{path} を削除しました"),
    "file_untouched": ("nothing was changed", "変更はありません"),
    "really_delete": (
        "Delete {path}? Its older versions stay for a while.",
        "{path} を削除しますか?(以前の版はしばらく残ります)",
    ),
    "delete_needs_yes": (
        "confirm with --yes that the file shall be deleted",
        "ファイルを削除するには --yes で確認してください",
    ),
    "not_text": (
        "{path} is not text ({size} bytes)",
        "{path} はテキストではありません({size} バイト)",
    ),
    "not_text_cure": (
        "fetch it with `opencrab workspace get`",
        "`opencrab workspace get` で取り出してください",
    ),
    "place_taken": ("{place} exists already", "{place} は既に存在します"),
    "place_taken_cure": (
        "name another file, or use --force",
        "別のファイル名を指定するか、--force を付けてください",
    ),
    "no_place": ("{place} cannot be used: {why}", "{place} を使えません: {why}"),
    "no_place_cure": ("name another file", "別のファイルを指定してください"),
    "head_path": ("path", "パス"),
    "head_size": ("bytes", "バイト"),
    "head_version": ("version", "版"),
    "current_version": ("current", "現在の内容"),
}

JAPANESE = {
    "List, read, write, fetch, upload and delete an agent's files.": (
        "エージェントのファイルの一覧・表示・書き込み・取り出し・アップロード・削除。"
    ),
    "List an agent's files, or those in one folder.": (
        "エージェントのファイル(またはフォルダー1つ分)の一覧。"
    ),
    "Show a file's text.": "ファイルのテキストを表示します。",
    "Write a text, or what comes through a pipe, as a file.": (
        "テキスト、またはパイプからの入力をファイルに書き込みます。"
    ),
    "Fetch a file as it is.": "ファイルをそのまま取り出します。",
    "Upload a file as it is.": "ファイルをそのままアップロードします。",
    "Delete a file; its older versions stay for a while.": (
        "ファイルを削除します。以前の版はしばらく残ります。"
    ),
    "List what is kept of a file, the newest first.": "ファイルの版の一覧(新しい順)。",
    "A path in the workspace, like notes/today.md.": ("ワークスペースのパス(例: notes/today.md)。"),
    "Only this folder.": "このフォルダーだけ。",
    "The whole text; without it standard input.": "書き込むテキスト(省略時は標準入力)。",
    "An older version of it.": "以前の版。",
    "A file on this computer; if left out, of the same name, here.": (
        "このコンピューターのファイル(省略時は現在の場所に同じ名前で)。"
    ),
    "A file on this computer.": "このコンピューターのファイル。",
    "Its path in the workspace; if left out, its name.": (
        "ワークスペースでのパス(省略時は同じ名前)。"
    ),
    "Replace a file that exists here.": "既にあるファイルを置き換えます。",
}
