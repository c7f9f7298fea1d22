"""Branches are sessions of their own (docs/adr/0012): how one is copied from another, and which belong together."""
