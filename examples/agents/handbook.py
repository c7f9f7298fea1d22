"""An agent that answers questions about Fixie from its documents: `python -m examples.agents.handbook --port 9006`.

It has no Funcs but that of its corpus, which hands its documents to the platform; that finds the passages that answer
a question. Answers call their sources by the files' names, which are good wherever the agent runs.
"""

import re
from pathlib import Path

from examples.agents.serving import CORPUS, Agent, main

ROOT = Path(__file__).resolve().parents[2]
# The short ones first: what has been read is searched at once.
GLOBS = ("docs/recipes/*.md", "README.md", "examples/README.md", "docs/*.md", "docs/adr/*.md")
FILES = [file for glob in GLOBS for file in sorted(ROOT.glob(glob))]

MANIFEST = {
    "type": "code_shot",
    "corpora": [CORPUS],
    # Without any, a question is what is searched for.
    "few_shots": [],
    "base_prompt": "I answer questions about Fixie, this agent platform, from its own documents, and name my source.",
    "sample_queries": [
        "How do I add an agent?",
        "How do I write an agent in Node?",
        "How can I register my own agent?",
        "What is a few-shot?",
        "How does the Router choose an agent?",
        "How can an agent ask another agent?",
        "How do I use a language model?",
        "How do I run the site in production?",
        "How do signing keys rotate?",
        "How do runs survive a crash?",
        "How do I add a transport?",
        "Which WebSocket frames are there?",
    ],
}


def text_of(file: Path) -> str:
    """A document without its links to others, which lead nowhere from where a passage of it is read."""
    return re.sub(r"(?<!!)\[([^\]\n]+)\]\((?!https?:)[^)\n]*\)", r"\1", file.read_text(encoding="utf-8"))


AGENT = Agent("handbook", MANIFEST, documents={str(file.relative_to(ROOT)): text_of(file) for file in FILES})

if __name__ == "__main__":
    main(AGENT, port=9006)
