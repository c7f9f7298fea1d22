"""The site as an MCP server: agents are tools. `/mcp` over HTTP, and `manage.py mcp` for programs on one's own machine.

The package `mcp` takes half a second and 19 MB to load: only what is imported with the first call may import it.
"""
