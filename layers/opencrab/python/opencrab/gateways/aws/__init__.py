"""Lambda's side: what queues, schedules and streams deliver, given to the engine.

HTTP comes in through `gateways/rest`, also on AWS.
"""
