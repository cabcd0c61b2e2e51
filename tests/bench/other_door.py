"""The door as it is usually built, for comparison: FastAPI behind Mangum, and boto3's SQS client.

It does less than ours: it answers inline, so that it makes no call to Discord.
"""

import json
import os
from typing import Annotated, Any

import boto3
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from fastapi import FastAPI, Header, HTTPException, Request
from mangum import Mangum

app = FastAPI()
key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(os.environ["OPENCRAB_DISCORD_PUBLIC_KEY"]))
sqs = boto3.client("sqs")
queue_url = os.environ["OPENCRAB_AWS__INTERACTIONS_QUEUE"]


@app.post("/discord/interactions")
async def interactions(
    request: Request,
    x_signature_ed25519: Annotated[str, Header()],
    x_signature_timestamp: Annotated[str, Header()],
) -> dict[str, Any]:
    """Verify, queue, answer."""
    body = await request.body()
    try:
        key.verify(bytes.fromhex(x_signature_ed25519), x_signature_timestamp.encode() + body)
    except (InvalidSignature, ValueError):
        raise HTTPException(401) from None
    told = json.loads(body)
    if told["type"] == 1:
        return {"type": 1}
    sqs.send_message(
        QueueUrl=queue_url,
        MessageBody=body.decode(),
        MessageGroupId=told["channel_id"],
        MessageDeduplicationId=told["id"],
    )
    return {"type": 5}


_served = Mangum(app, lifespan="off")


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer one interaction."""
    return _served(event, context)
