"""Amazon Bedrock: its Converse API for all models, signed by AWS credentials or with a key.

What a conversation must look like is the same as for Anthropic's Messages API, whose requests and
answers are translated here block by block.
"""
