"""Language models behind one port: OpenAI-shaped servers, local ones, and one that is scripted."""
