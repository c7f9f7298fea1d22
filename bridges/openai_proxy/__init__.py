"""The site's language model server for agents: OpenAI's API, with the token of a call in place of a key.

The published `fixieai` package points the `openai` package here (fixieai.agents.openai_proxy). What a caller uses is
counted against the day's tokens of the user and of the agent; the server's key and address stay here.
"""
