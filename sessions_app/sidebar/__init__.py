"""Somebody's sessions: listed by day, named, pinned, hidden, and found again by their words."""
