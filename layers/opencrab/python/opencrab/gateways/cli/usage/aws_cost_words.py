"""Words about what an installation on AWS costs."""

SENTENCES: dict[str, tuple[str, str]] = {
    "cost_prices": (
        "AWS prices in {region} as of {as_of}, from memory (config/aws-pricing.toml); "
        "without tokens and tax",
        "AWS の料金({region}、{as_of} 時点、記憶に基づく値。config/aws-pricing.toml)。"
        "トークン代と税は含みません",
    ),
    "cost_idle": ("A month without traffic", "利用のない1か月"),
    "cost_beating": (
        "A day of each agent that beats every {seconds} s and has nothing to do",
        "{seconds} 秒ごとに目を覚まし、することのないエージェント1体の1日",
    ),
    "cost_turns": (
        "{count} turns, of which each waits {seconds} s for its model",
        "{count} ターン(1ターンにつきモデルの応答を {seconds} 秒待つ場合)",
    ),
    "cost_turns_waiting": (
        "{count} turns, of which each waits {seconds} s for its model, and a client for each",
        "{count} ターン(1ターンにつきモデルの応答を {seconds} 秒待ち、クライアントも待つ場合)",
    ),
    "cost_month": (
        "A month with {count} turns: {cost}; {rest} after the free tier",
        "{count} ターンの1か月: {cost}、無料枠を引くと {rest}",
    ),
    "cost_free": (
        "The free tier here is what AWS leaves to every account for good; all that runs in the "
        "account shares it.",
        "無料枠は、期限のない分だけを数えています。アカウント全体で共有されます。",
    ),
    "cost_total": ("total", "合計"),
    "no_prices": ("this program was started without its price sheet", "料金表がありません"),
    "no_prices_cure": ("install OpenCrab again", "OpenCrab を入れ直してください"),
}
