"""OpenStack Swift as an S3 server in one process. Run by the Python of `.venvs/swift`, in a directory of its own.

    python tests/s3_server DIRECTORY ACCESS_KEY SECRET_KEY

prints the server's address once it listens, and ends with its standard input.
"""

import os
import sys
from pathlib import Path

import eventlet

eventlet.monkey_patch()

from eventlet import wsgi  # noqa: E402 -- only now is `socket` eventlet's
from swift.common import utils  # noqa: E402

HOST = "127.0.0.1"
PROJECT = "AUTH_fixie"


def main(directory: str, access_key: str, secret_key: str) -> None:
    home = Path(directory)
    (home / "devices" / "disk").mkdir(parents=True)
    (home / "swift.conf").write_text("[swift-hash]\nswift_hash_path_suffix = tests\n")
    utils.set_swift_dir(directory)
    listeners = {name: eventlet.listen((HOST, 0)) for name in ("account", "container", "object", "proxy")}
    ports = {name: listener.getsockname()[1] for name, listener in listeners.items()}
    for name in ("account", "container", "object"):
        write_ring(home, name, ports[name])
    config = {
        "swift_dir": directory,
        "devices": str(home / "devices"),
        "mount_check": "false",
        "log_level": "ERROR",
    }
    for name, application in applications(config, access_key, secret_key).items():
        eventlet.spawn_n(wsgi.server, listeners[name], application, log_output=False)
    print(f"http://{HOST}:{ports['proxy']}", flush=True)
    while eventlet.tpool.execute(os.read, sys.stdin.fileno(), 1):
        pass


def write_ring(home: Path, name: str, port: int) -> None:
    """One device that holds the only copy of everything."""
    from swift.common.ring import RingBuilder

    builder = RingBuilder(1, 1, 0)
    disk = {"device": "disk", "ip": HOST, "port": port, "region": 1, "zone": 1, "weight": 1.0}
    builder.add_dev(disk)
    builder.rebalance()
    builder.get_ring().save(str(home / f"{name}.ring.gz"))


def applications(config, access_key: str, secret_key: str):
    from swift.account.server import AccountController
    from swift.common.middleware import catch_errors, copy, gatekeeper, listing_formats, tempauth
    from swift.common.middleware.s3api import s3api
    from swift.container.server import ContainerController
    from swift.obj.server import ObjectController
    from swift.proxy.server import Application

    user, _, name = access_key.partition(":")
    users = {f"user_{user}_{name}": f"{secret_key} .admin http://{HOST}/v1/{PROJECT}"}
    application = Application({**config, "account_autocreate": "true"})
    for middleware, options in (
        (copy, {}),
        (tempauth, users),
        (s3api, {"s3_acl": "false", "location": "us-east-1"}),
        (listing_formats, {}),
        (gatekeeper, {}),
        (catch_errors, {}),
    ):
        application = middleware.filter_factory(config, **options)(application)
    parts = {"account": AccountController, "container": ContainerController, "object": ObjectController}
    return {name: part(config) for name, part in parts.items()} | {"proxy": application}


if __name__ == "__main__":
    main(*sys.argv[1:])
