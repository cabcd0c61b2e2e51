"""Search in OpenSearch Serverless, over plain HTTP: for installations that outgrow one file."""
