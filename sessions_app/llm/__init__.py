"""Language models behind one interface, and the text format that they and the few-shots share.

`base` is the interface, `format` the transcript's lines, `catalog` the choice; `openai_chat` talks to a server, and
`follower` needs none. Knows no Django model; docs/recipes/add-a-language-model.md says how to add one.
"""
