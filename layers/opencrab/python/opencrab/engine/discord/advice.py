"""Advice on Discord: what the doctor found and what to click, in English and Japanese."""

from opencrab.domain.value import Language
from opencrab.engine.discord.setup import ATTACH, EMBED, HISTORY, IN_THREADS, SEND, VIEW

PERMISSION_NAMES: dict[int, dict[Language, str]] = {
    VIEW: {Language.EN: "View Channel", Language.JA: "チャンネルを見る"},
    SEND: {Language.EN: "Send Messages", Language.JA: "メッセージを送る"},
    EMBED: {Language.EN: "Embed Links", Language.JA: "埋め込みリンク"},
    ATTACH: {Language.EN: "Attach Files", Language.JA: "ファイルを添付"},
    HISTORY: {Language.EN: "Read Message History", Language.JA: "メッセージ履歴を読む"},
    IN_THREADS: {
        Language.EN: "Send Messages in Threads",
        Language.JA: "スレッドでメッセージを送信",
    },
}
"""Permissions as Discord's own pages name them."""

_PORTAL = "https://discord.com/developers/applications"

_Text = tuple[str, str]

_ADVICE: dict[str, tuple[_Text, _Text]] = {
    "off": (
        ("Discord is switched off here", "Discord は無効になっています"),
        (
            "set gateway.discord.enabled, token, application_id and public_key; on AWS deploy with "
            "Discord=on (docs/discord.md)",
            "gateway.discord の enabled・token・application_id・public_key を設定してください。"
            "AWS では Discord=on でデプロイします(docs/discord.md)",
        ),
    ),
    "unreachable": (
        ("Discord cannot be reached: {why}", "Discord に接続できません: {why}"),
        ("check the network, then ask again", "ネットワークを確認して、もう一度実行してください"),
    ),
    "token": (
        ("the bot is {name} ({id})", "Bot は {name}({id})です"),
        ("", ""),
    ),
    "token_wrong": (
        ("Discord does not accept the bot's token: {why}", "Bot のトークンが無効です: {why}"),
        (
            f"open {_PORTAL} → your application → Bot → Reset Token, and store the new one as "
            "DISCORD_TOKEN",
            f"{_PORTAL} → アプリ → Bot → 「Reset Token」で作り直し、"
            "DISCORD_TOKEN に保存してください",
        ),
    ),
    "application": (("the application is {name}", "アプリは {name} です"), ("", "")),
    "application_unread": (
        ("the application cannot be read: {why}", "アプリの情報を取得できません: {why}"),
        ("ask again in a minute", "少し待って、もう一度実行してください"),
    ),
    "application_other": (
        (
            "the token belongs to application {id}, configured is {wanted}",
            "トークンのアプリは {id} ですが、設定は {wanted} です",
        ),
        (
            "set application_id to {id} (General Information → Application ID)",
            "application_id を {id} にしてください(General Information → Application ID)",
        ),
    ),
    "public_key": (("the public key is the application's", "公開鍵は一致しています"), ("", "")),
    "public_key_other": (
        (
            "the configured public key is another: every interaction would be refused",
            "設定の公開鍵が違います。このままではすべての操作が拒否されます",
        ),
        (
            "set public_key to {key} (General Information → Public Key)",
            "public_key を {key} にしてください(General Information → Public Key)",
        ),
    ),
    "endpoint_form": (
        (
            "the https address of this installation, followed by /discord/interactions",
            "このインストールの https のアドレスに /discord/interactions を付けたもの",
        ),
        ("", ""),
    ),
    "endpoint": (("interactions come to {url}", "操作は {url} に届きます"), ("", "")),
    "endpoint_set": (
        (
            "interactions go to {url}; whether that is here is not known here",
            "操作は {url} に送られます(ここに届くかどうかは、ここからは分かりません)",
        ),
        ("", ""),
    ),
    "endpoint_none": (
        (
            "Discord does not know where to send interactions",
            "操作の送り先が Discord に登録されていません",
        ),
        (
            f"open {_PORTAL} → your application → General Information → Interactions Endpoint "
            "URL, enter {wanted} and save",
            f"{_PORTAL} → アプリ → General Information → Interactions Endpoint URL に "
            "{wanted} を入力して保存してください",
        ),
    ),
    "endpoint_other": (
        (
            "interactions go to {url}, which is not this installation",
            "操作は {url} に送られます。このインストールではありません",
        ),
        (
            f"open {_PORTAL} → your application → General Information → Interactions Endpoint "
            "URL, enter {wanted} and save",
            f"{_PORTAL} → アプリ → General Information → Interactions Endpoint URL に "
            "{wanted} を入力して保存してください",
        ),
    ),
    "guilds": (
        ("who may invite the bot is settled", "Bot を招待できる人は限られています"),
        ("", ""),
    ),
    "guilds_listed": (
        (
            "it answers in the {count} servers of guild_ids; in private (direct messages, "
            "conversations it was brought along to) it answers owners and users only",
            "guild_ids の {count} 個のサーバーで応答します。"
            "サーバーの外(ダイレクトメッセージなど)では、オーナーと許可されたユーザーにだけ応答します",
        ),
        ("", ""),
    ),
    "anybody": (
        (
            "anybody can invite the bot, and it answers in every server and in private",
            "誰でも Bot を招待でき、どのサーバーでもダイレクトメッセージでも応答します",
        ),
        (
            "name your servers in guild_ids, or open Bot and switch Public Bot off",
            "guild_ids でサーバーを指定するか、Bot の「Public Bot」をオフにしてください",
        ),
    ),
    "install": (
        ("it can come to servers and along with users", "サーバーにも、ユーザーにも追加できます"),
        ("", ""),
    ),
    "install_server": (
        ("it cannot be added to servers", "サーバーに追加できません"),
        (
            "open Installation → Installation Contexts and tick Guild Install",
            "Installation → Installation Contexts で「Guild Install」を選んでください",
        ),
    ),
    "install_user": (
        (
            "users cannot bring it along to places where it is not a member",
            "ユーザーが自分用に追加して、どこでも使うことはできません",
        ),
        (
            "if they should: Installation → Installation Contexts, tick User Install",
            "必要なら Installation → Installation Contexts で「User Install」を選んでください",
        ),
    ),
    "content": (
        ("it may read what messages say (Message Content)", "メッセージの内容を読めます"),
        ("", ""),
    ),
    "content_not_needed": (
        (
            "Message Content is off, and no agent needs it: mentions can be read without",
            "Message Content Intent はオフです(メンションは読めるため、今は必要ありません)",
        ),
        ("", ""),
    ),
    "content_needed": (
        (
            "agents should listen to everything in a channel, but messages come empty",
            "チャンネルの全発言を聞く設定ですが、メッセージの内容を読む許可がありません",
        ),
        (
            "open Bot → Privileged Gateway Intents and switch Message Content Intent on",
            "Bot → Privileged Gateway Intents で「Message Content Intent」をオンにしてください",
        ),
    ),
    "commands": (
        ("all {count} commands are registered", "{count} 個のコマンドを登録済みです"),
        ("", ""),
    ),
    "commands_guilds": (
        (
            "the commands are registered in each server of guild_ids",
            "guild_ids の各サーバーにコマンドを登録済みです",
        ),
        ("", ""),
    ),
    "commands_unread": (
        ("the commands cannot be read: {why}", "コマンドを確認できません: {why}"),
        ("ask again in a minute", "少し待って、もう一度実行してください"),
    ),
    "commands_differ": (
        (
            "commands to add: {added}, to change: {changed}, to remove: {removed}",
            "コマンドの差分: 追加 {added}、変更 {changed}、削除 {removed}",
        ),
        ("run `opencrab discord register`", "`opencrab discord register` を実行してください"),
    ),
    "channel": (("#{name}: all permissions are there", "#{name}: 権限は揃っています"), ("", "")),
    "channel_lacks": (
        ("#{name}: missing {missing}", "#{name}: 足りない権限 {missing}"),
        (
            "in Discord: the channel's gear → Permissions → add the bot's role, and allow these",
            "Discord のチャンネル設定(歯車)→ 権限 → Bot のロールを追加し、これらを許可してください",
        ),
    ),
    "channel_hidden": (
        (
            "channel {id} is not there, or the bot does not see it: {why}",
            "チャンネル {id} がないか、Bot から見えません: {why}",
        ),
        (
            "invite the bot (`opencrab discord invite`), or allow it View Channel there",
            "Bot を招待するか(`opencrab discord invite`)、「チャンネルを見る」を許可してください",
        ),
    ),
    "channel_unread": (
        ("channel {id} cannot be read: {why}", "チャンネル {id} を確認できません: {why}"),
        ("ask again in a minute", "少し待って、もう一度実行してください"),
    ),
    "owners": (("somebody is the owner", "オーナーが設定されています"), ("", "")),
    "owners_none": (
        ("nobody is the owner on Discord", "Discord 上のオーナーが設定されていません"),
        (
            "put your Discord id into owner_ids (Discord: Settings → Advanced → Developer Mode, "
            "then right-click your name → Copy User ID)",
            "自分の Discord ID を owner_ids に入れてください(設定 → 詳細設定 → 開発者モードを"
            "オンにし、自分の名前を右クリック → 「ユーザーIDをコピー」)",
        ),
    ),
    "secret": (("its token {secret} is there", "トークン {secret} があります"), ("", "")),
    "secret_none": (
        ("there is no secret {secret}", "シークレット {secret} がありません"),
        (
            "store the bot's token under this name, as you did with DISCORD_TOKEN",
            "DISCORD_TOKEN と同じ場所に、この名前でトークンを保存してください",
        ),
    ),
    "secret_unread": (
        ("secret {secret} cannot be read: {why}", "シークレット {secret} を読めません: {why}"),
        ("ask again in a minute", "少し待って、もう一度実行してください"),
    ),
}


def advice(key: str, language: Language, /, **facts: object) -> tuple[str, str]:
    """What was found and what to do about it, with the facts filled in."""
    what, cure = (
        japanese if language is Language.JA else english for english, japanese in _ADVICE[key]
    )
    return what.format(**facts), cure.format(**facts)
