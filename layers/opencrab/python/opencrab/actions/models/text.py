"""What the meta actions say in words, in Japanese and English; the rest is numbers."""

from opencrab.domain.value import Language

_JA, _EN = Language.JA, Language.EN

_SENTENCES = {
    "no_calls": {
        _JA: "この期間にモデルの呼び出しはありません。",
        _EN: "No model was called in this period.",
    },
    "no_quality": {
        _JA: "品質はまだ分かりません。結果や人の評価がまだ集まっていません(0点ではありません)。",
        _EN: "Quality is not known yet: too few results and opinions of people. That is not zero.",
    },
    "little": {
        _JA: "データが足りないため、何も変えていません。",
        _EN: "There is not enough data, so nothing was changed.",
    },
    "none_better": {
        _JA: "いまの選び方よりよいものは見つかりません。何も変えていません。",
        _EN: "Nothing was found that is better than the present choice. Nothing was changed.",
    },
    "no_choice": {
        _JA: "選べるモデルの別名がないため、何も変えられません。",
        _EN: "There is no model that you may select, so nothing can be changed.",
    },
    "advice": {
        _JA: "これは提案です。まだ何も変えていません。",
        _EN: "This is advice. Nothing was changed.",
    },
    "applied": {
        _JA: "次の番から有効です。オーナーはいつでも元に戻せます。",
        _EN: "It counts from your next turn on. Your owner can undo it at any time.",
    },
    "not_allowed": {
        _JA: "オーナーは自動での変更を許していません。提案として残しました。何も変えていません。",
        _EN: "Your owner has not allowed changes. It is kept as a proposal; nothing was changed.",
    },
    "off": {
        _JA: "オーナーがモデルの最適化を止めています。何も変えず、提案も残していません。",
        _EN: "Your owner has switched this off. Nothing was changed, and no proposal was kept.",
    },
    "not_your_word": {
        _JA: "外から来た言葉のある番では変えられません。何も変えず、提案も残していません。",
        _EN: "A turn with foreign words cannot change this. It is advice; no proposal was kept.",
    },
    "other_aim": {
        _JA: "オーナーの目標と違う条件なので助言だけです。何も変えず、提案も残していません。",
        _EN: "This is not the aim that your owner set. It is advice; no proposal was kept.",
    },
    "pinned": {
        _JA: "オーナーが固定しています。",
        _EN: "Your owner keeps this as it is.",
    },
    "no_experience": {
        _JA: "これに合うモデルの経験はまだありません。",
        _EN: "There is no experience with a model that fits this yet.",
    },
}


def said(name: str, language: Language) -> str:
    """One of the sentences in a language."""
    return _SENTENCES[name][language]
