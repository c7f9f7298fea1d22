"""How the platform speaks to agents, a module for each protocol. Knows no Django model.

`base` has the words, `wire` the documents, `catalog` says which there are, and docs/recipes/add-a-transport.md how
to add one.
"""
