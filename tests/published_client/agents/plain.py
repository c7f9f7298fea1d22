"""An agent that is nothing but a function; its `agent.yaml` names the function itself."""


def answer(query: str) -> str:
    return f"You said: {query}"
