"""Wiring only: settings, addresses, the ASGI application, how errors look, and the command `up`.

The one place that knows every app. A rule of the domain does not belong here.
"""
