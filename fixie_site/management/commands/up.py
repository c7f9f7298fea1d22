"""`manage.py up`: everything a newcomer needs, in one process and one child: site, worker, sample agents."""

import asyncio
import errno
import signal
import socket
from typing import Any

import uvicorn
import uvloop
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from fixie_site import first_start
from fixie_site.sample_agents import SampleAgents, until_routed


class Command(BaseCommand):
    help = "Starts Fixie on this machine: database, site, worker and sample agents."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        check_port(settings.PORT)
        call_command("migrate", verbosity=0, skip_checks=True)
        demo = first_start.prepare()
        # uvicorn stops in good order and then hands the signal on: SIGTERM is to unwind us like Ctrl-C.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            uvloop.run(self.serve(demo))
        except KeyboardInterrupt:
            self.stdout.write("Stopped.")

    async def serve(self, demo: first_start.Demo) -> None:
        server = uvicorn.Server(server_config())
        samples = SampleAgents()
        serving = asyncio.create_task(server.serve())
        try:
            await until_started(server, serving)
            problems = await samples.start(demo.user_id)
            problems += await until_routed()
            self.welcome(demo, problems)
            await serving
        finally:
            await samples.stop()

    def welcome(self, demo: first_start.Demo, problems: list[str]) -> None:
        for problem in problems:
            self.stderr.write(problem)
        self.stdout.write(
            f"\nFixie is running:  {settings.SITE_URL}\n"
            f"Sign in as         {demo.username} (an administrator)\n"
            f"Password           {demo.password}\n"
            f"API key            {demo.api_key}\n"
            f"\nPress Ctrl-C to stop it. What it keeps is in {settings.VAR}.\n"
        )
        self.stdout.flush()


def server_config() -> uvicorn.Config:
    return uvicorn.Config(
        "fixie_site.asgi:application",
        host="127.0.0.1",
        port=settings.PORT,
        log_level="warning",
        log_config=None,
        access_log=False,
        ws="websockets-sansio",
        # Frames are small; a compressor for each socket would more than double its memory.
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=int(settings.SHUTDOWN_GRACE_SECONDS),
    )


def check_port(port: int) -> None:
    """Raises CommandError, in one clear line, where nothing can listen on `port`."""
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            reason = "is in use (is Fixie running already?)"
        else:
            reason = f"cannot be used ({error.strerror})"
        raise CommandError(f"Port {port} {reason}. Choose another one: make run PORT={port + 1}") from None


async def until_started(server: uvicorn.Server, serving: "asyncio.Task[None]") -> None:
    while not server.started:
        if serving.done():
            await serving
            raise CommandError("The site did not start; the lines above say why.")
        await asyncio.sleep(0.02)
