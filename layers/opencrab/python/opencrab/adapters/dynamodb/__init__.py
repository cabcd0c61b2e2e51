"""The home on AWS: one DynamoDB table with stores, journal, budgets and switches."""
