"""An AgentApp of the published `agentscope-runtime`, which thinks and then says back what it was asked."""

import sys

from agentscope.message import Msg, TextBlock, ThinkingBlock
from agentscope_runtime.engine.app import AgentApp

app = AgentApp(app_name="Echo", app_description="Says it back.")


@app.query(framework="agentscope")
async def answer(self, msgs, request=None, **kwargs):
    asked = msgs[-1] if isinstance(msgs, list) else msgs
    words = asked.get_text_content() or ""
    # Each is the whole message as it stands, and whether it is complete.
    thought = ThinkingBlock(type="thinking", thinking="I say it back.")
    message = Msg("echo", [thought, TextBlock(type="text", text=words[: len(words) // 2])], "assistant")
    yield message, False
    message.content = [thought, TextBlock(type="text", text=words)]
    yield message, True


if __name__ == "__main__":
    app.run(host="127.0.0.1", port=int(sys.argv[1]))
