"""The measured process: served as `manage.py up` serves the site, without what that command does around it."""

import uvicorn

from benchmarks.asgi import application
from fixie_site.management.commands.up import server_config

if __name__ == "__main__":
    config = server_config()
    config.app = application
    uvicorn.Server(config).run()
