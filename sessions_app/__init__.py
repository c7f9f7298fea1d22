"""Conversations, and the runs that answer them.

A query comes in through an edge (`api`, `consumers`, `views`), is accepted by `posting` and `accepting`, executed in
`runner`, and goes out through `follow` and `streams`. docs/architecture.md follows one all the way. What people do
with whole sessions has a folder each.
"""
