"""The administrator's view of sessions and runs; Django finds it by the name of this folder."""

from sessions_app.admin import runs, sessions

__all__ = ["runs", "sessions"]
