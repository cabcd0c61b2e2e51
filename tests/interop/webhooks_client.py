"""Signs and verifies with the official library of Standard Webhooks; runs in its environment.

Reads lines of JSON, and answers each with one: headers, or whether those given hold.
"""

import json
import sys
from datetime import UTC, datetime

from standardwebhooks import Webhook, WebhookVerificationError

for row in sys.stdin:
    asked = json.loads(row)
    hook = Webhook(asked["secret"])
    if "at" in asked:
        at = datetime.fromtimestamp(asked["at"], UTC)
        signature = hook.sign(asked["id"], at, asked["body"])
        answer = {
            "webhook-id": asked["id"],
            "webhook-timestamp": str(asked["at"]),
            "webhook-signature": signature,
        }
        print(json.dumps(answer), flush=True)  # noqa: T201 - the answer
        continue
    try:
        hook.verify(asked["body"], asked["headers"])
    except WebhookVerificationError as error:
        print(json.dumps({"valid": False, "why": str(error)}), flush=True)  # noqa: T201
    else:
        print(json.dumps({"valid": True}), flush=True)  # noqa: T201
