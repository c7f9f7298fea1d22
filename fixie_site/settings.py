"""Every setting, read from the environment (or `.env`). `.env.example` lists and explains them all."""

import warnings
from pathlib import Path
from typing import Any

import environ
from django.conf import global_settings
from django.core.exceptions import ImproperlyConfigured

from fixie_site import local_secrets
from fixie_site.admin_settings import UNFOLD as UNFOLD

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()
env.read_env(BASE_DIR / ".env", overwrite=False)

# `manage.py` says local; anything that serves the ASGI application itself is production unless told otherwise.
FIXIE_ENV = env.str("FIXIE_ENV", "production")
if FIXIE_ENV not in ("local", "production"):
    raise ImproperlyConfigured(f"FIXIE_ENV must be local or production, not {FIXIE_ENV!r}.")
LOCAL = FIXIE_ENV == "local"
VAR = Path(env.str("VAR", "var")).resolve()
PORT = env.int("PORT", 8000)


def required(name: str, local: Any) -> Any:
    """The setting `name`: needed in production, `local` on a newcomer's machine."""
    if env.str(name, ""):
        return env.str(name)
    if not LOCAL:
        raise ImproperlyConfigured(f"{name} must be set (see .env.example).")
    return local() if callable(local) else local


DEBUG = env.bool("DEBUG", False)
SECRET_KEY = required("SECRET_KEY", lambda: local_secrets.secret_key(VAR))
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])
ALLOWED_HOSTS = required("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]").split(",")
SITE_URL = required("SITE_URL", f"http://127.0.0.1:{PORT}").rstrip("/")
DATABASE_URL = required("DATABASE_URL", "postgresql:///fixie")
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[SITE_URL])

# Applications and the way of a request
INSTALLED_APPS = [
    "daphne",
    "unfold",
    "unfold.contrib.filters",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "channels",
    "ninja",  # for the files of /api/docs, which come from a CDN otherwise
    "procrastinate.contrib.django",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.google",
    "allauth.socialaccount.providers.github",
    "oauth2_provider",
    "strawberry_django",  # for `manage.py export_schema`
    "accounts",
    "embeds",
    "registry",
    "storage_kv",
    "sessions_app",
    "fixie_site",
]
MIDDLEWARE = [
    "fixie_site.middleware.RequestContext",
    "fixie_site.content_policy.ContentPolicy",
    "fixie_site.middleware.BrowserMiddleware",
    "fixie_site.middleware.ApiErrors",
    "allauth.account.middleware.AccountMiddleware",
]
# What only a browser needs: `BrowserMiddleware` passes requests with a bearer key by.
BROWSER_MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "fixie_site.acting.ActingAs",
    "fixie_site.admin_addresses.NoNull",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
# Checks that look into MIDDLEWARE for what is in BROWSER_MIDDLEWARE.
SILENCED_SYSTEM_CHECKS = [
    "admin.E408",
    "admin.E409",
    "admin.E410",
    "security.W001",
    "security.W002",
    "security.W003",
]
ROOT_URLCONF = "fixie_site.urls"
ASGI_APPLICATION = "fixie_site.asgi.application"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "django.template.context_processors.i18n",
                "fixie_site.preferences.theme",
                "accounts.sign_in_as.shown",
            ]
        },
    }
]
_database = env.db_url_config(DATABASE_URL)
DATABASE_POOL_IDLE_SECONDS = env.float("DATABASE_POOL_IDLE_SECONDS", 60.0)
DATABASES = {
    "default": {
        **_database,
        # A connection that a restart of the server has broken costs no request an error.
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            **_database.get("OPTIONS", {}),
            "pool": {
                "min_size": 0,
                "max_size": env.int("DATABASE_ORM_POOL_SIZE", 20),
                "max_idle": DATABASE_POOL_IDLE_SECONDS,
            },
        },
    }
}
DATABASE_POOL_SIZE = env.int("DATABASE_POOL_SIZE", 20)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Live events and background work
REDIS_URL = env.str("REDIS_URL", "")
CHANNEL_LAYERS: dict[str, Any] = {
    "default": {
        "BACKEND": "channels_redis.core.RedisChannelLayer",
        # channels_redis waits 5 s for a message at a time, as long as redis-py waits for an answer unless told.
        "CONFIG": {"hosts": [{"address": REDIS_URL, "socket_timeout": None}], "capacity": 2000},
    }
    if REDIS_URL
    else {"BACKEND": "channels.layers.InMemoryChannelLayer", "CONFIG": {"capacity": 2000}}
}
WORKER_IN_PROCESS = env.bool("WORKER_IN_PROCESS", True)
WORKER_CONCURRENCY = env.int("WORKER_CONCURRENCY", 100)
PROCRASTINATE_AUTODISCOVER_MODULE_NAME = "tasks"
PROCRASTINATE_WORKER_DEFAULTS = {"concurrency": WORKER_CONCURRENCY, "delete_jobs": "successful"}

# People
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
PASSWORD_HASHERS = env.list("PASSWORD_HASHERS", default=global_settings.PASSWORD_HASHERS)
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LOGIN_REDIRECT_URL = "/"
ACCOUNT_LOGIN_METHODS = {"email", "username"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "username*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = env.str("EMAIL_VERIFICATION", "optional" if LOCAL else "mandatory")
ACCOUNT_USERNAME_VALIDATORS = "accounts.names.username_validators"
ACCOUNT_ADAPTER = "accounts.adapter.AccountAdapter"
SOCIALACCOUNT_ADAPTER = "accounts.adapter.SocialAccountAdapter"
SOCIALACCOUNT_PROVIDERS = {
    provider: {"APPS": [{"client_id": env.str(f"{name}_CLIENT_ID"), "secret": env.str(f"{name}_CLIENT_SECRET")}]}
    for provider, name in (("google", "GOOGLE"), ("github", "GITHUB"))
    if env.str(f"{name}_CLIENT_ID", "")
}
EMAIL_CONFIG = env.email_url("EMAIL_URL", default="consolemail://")
vars().update(EMAIL_CONFIG)
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", "fixie@localhost")

# Keys, and programs that get one through the browser (`accounts.oauth`)
API_KEYS_MAX = env.int("API_KEYS_MAX", 100)
OAUTH2_PROVIDER = {
    "SCOPES": {"api-access": "Everything that you can do over the API"},
    "OAUTH2_SERVER_CLASS": "accounts.oauth.CodeServer",
    "OAUTH2_VALIDATOR_CLASS": "accounts.oauth.CodeValidator",
    "OAUTH2_BACKEND_CLASS": "accounts.oauth.TolerantCore",
    "APPLICATION_ADMIN_CLASS": "accounts.application_admin.ApplicationAdmin",
    "ALLOW_LOCALHOST_LOOPBACK": True,  # any port of this computer, as RFC 8252 says of 127.0.0.1
}

# Language models. Without LLM_BASE_URL the few-shot follower does what it can.
LLM_BASE_URL = env.str("LLM_BASE_URL", "")
LLM_API_KEY = env.str("LLM_API_KEY", "")
LLM_MODEL = env.str("LLM_MODEL", "gpt-4o-mini")
LLM_TIMEOUT = env.float("LLM_TIMEOUT", 120.0)
SESSION_TITLES = env.bool("SESSION_TITLES", True)
LLM_PROXY_MODELS = env.list("LLM_PROXY_MODELS", default=[])
OPENAI_PROXY_MAX_BYTES = env.int("OPENAI_PROXY_MAX_BYTES", 4 * 1024 * 1024)

# The Agent API protocol (`/process`)
AGENT_API_MAX_BYTES = env.int("AGENT_API_MAX_BYTES", 8 * 1024 * 1024)
AGENT_API_HEARTBEAT_SECONDS = env.float("AGENT_API_HEARTBEAT_SECONDS", 15.0)

# Embeddings, for routing. Without EMBEDDINGS_BASE_URL a model in this process, or a stand-in that sees only words.
EMBEDDINGS_BASE_URL = env.str("EMBEDDINGS_BASE_URL", "")
EMBEDDINGS_API_KEY = env.str("EMBEDDINGS_API_KEY", "")
EMBEDDINGS_MODEL = env.str("EMBEDDINGS_MODEL", "text-embedding-3-small")
EMBEDDINGS_TIMEOUT = env.float("EMBEDDINGS_TIMEOUT", 20.0)
# Of all agents of one owner together: the Router's index is everybody's.
OWNER_MAX_SAMPLES = env.int("OWNER_MAX_SAMPLES", 20_000)

# Agents
AGENT_URL_ALLOW_PRIVATE = env.bool("AGENT_URL_ALLOW_PRIVATE", LOCAL)
AGENT_CALL_TIMEOUT = env.float("AGENT_CALL_TIMEOUT", 60.0)
AGENT_MAX_DEPTH = env.int("AGENT_MAX_DEPTH", 8)
FUNC_ANSWER_MAX_BYTES = env.int("FUNC_ANSWER_MAX_BYTES", 1024 * 1024)
DEFAULT_AGENT = env.str("DEFAULT_AGENT", "fixie/fixie")
LIVENESS_SECONDS = env.float("LIVENESS_SECONDS", 300.0)
LIVENESS_AT_ONCE = env.int("LIVENESS_AT_ONCE", 20)

# Agents that are programs on this machine, where their administrator says nothing else
COMMAND_PROCESSES = env.int("COMMAND_PROCESSES", 2)
COMMAND_START_SECONDS = env.float("COMMAND_START_SECONDS", 10.0)
COMMAND_CALL_SECONDS = env.float("COMMAND_CALL_SECONDS", 60.0)
COMMAND_IDLE_SECONDS = env.float("COMMAND_IDLE_SECONDS", 600.0)
COMMAND_MEMORY_MB = env.int("COMMAND_MEMORY_MB", 1024)
COMMAND_OPEN_FILES = env.int("COMMAND_OPEN_FILES", 256)

# Corpora: how far the reading of one may go
CORPUS_MAX_DOCUMENTS = env.int("CORPUS_MAX_DOCUMENTS", 500)
CORPUS_DOCUMENT_MAX_BYTES = env.int("CORPUS_DOCUMENT_MAX_BYTES", 10 * 1024 * 1024)
CORPUS_MAX_BYTES = env.int("CORPUS_MAX_BYTES", 100 * 1024 * 1024)
CORPUS_MAX_SECONDS = env.float("CORPUS_MAX_SECONDS", 1800.0)
CORPUS_MAX_DEPTH = env.int("CORPUS_MAX_DEPTH", 8)
CORPUS_DELAY_SECONDS = env.float("CORPUS_DELAY_SECONDS", 0.25)
CORPUS_MAX_CHUNKS = env.int("CORPUS_MAX_CHUNKS", 5000)
CORPUS_READERS = env.int("CORPUS_READERS", 2)
CORPUS_LEASE_SECONDS = env.float("CORPUS_LEASE_SECONDS", 60.0)

# User Storage
STORAGE_VALUE_MAX_BYTES = env.int("STORAGE_VALUE_MAX_BYTES", 1024 * 1024)
STORAGE_MAX_KEYS = env.int("STORAGE_MAX_KEYS", 1000)
STORAGE_MAX_BYTES = env.int("STORAGE_MAX_BYTES", 50 * 1024 * 1024)
STORAGE_CALLS_PER_MINUTE = env.int("STORAGE_CALLS_PER_MINUTE", 60)

# Sessions and runs
MESSAGE_MAX_BYTES = env.int("MESSAGE_MAX_BYTES", 64 * 1024)
MESSAGE_MAX_EMBEDS = env.int("MESSAGE_MAX_EMBEDS", 16)
RUN_MAX_STEPS = env.int("RUN_MAX_STEPS", 20)
RUN_MAX_AGENT_CALLS = env.int("RUN_MAX_AGENT_CALLS", 32)
RUN_MAX_SECONDS = env.float("RUN_MAX_SECONDS", 600.0)
SESSION_MAX_WAITING = env.int("SESSION_MAX_WAITING", 100)
RUN_HEARTBEAT_SECONDS = env.float("RUN_HEARTBEAT_SECONDS", 3.0)
RUN_LEASE_SECONDS = env.float("RUN_LEASE_SECONDS", 15.0)
SHUTDOWN_GRACE_SECONDS = env.float("SHUTDOWN_GRACE_SECONDS", 10.0)

# Embeds: files under VAR, or S3 where a bucket is named
EMBED_MAX_BYTES = env.int("EMBED_MAX_BYTES", 25 * 1024 * 1024)
EMBED_MAX_BYTES_PER_USER = env.int("EMBED_MAX_BYTES_PER_USER", 2 * 1024 * 1024 * 1024)
EMBED_URL_SECONDS = env.float("EMBED_URL_SECONDS", 3600.0)
AWS_STORAGE_BUCKET_NAME = env.str("AWS_STORAGE_BUCKET_NAME", "")
AWS_S3_ENDPOINT_URL = env.str("AWS_S3_ENDPOINT_URL", "") or None
AWS_S3_REGION_NAME = env.str("AWS_S3_REGION_NAME", "us-east-1")
AWS_ACCESS_KEY_ID = env.str("AWS_ACCESS_KEY_ID", "") or None
AWS_SECRET_ACCESS_KEY = env.str("AWS_SECRET_ACCESS_KEY", "") or None
STORAGES: dict[str, Any] = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    "embeds": {"BACKEND": "embeds.s3.S3Files"}
    if AWS_STORAGE_BUCKET_NAME
    else {"BACKEND": "embeds.files.LocalFiles", "OPTIONS": {"location": VAR / "embeds"}},
}
# Where bodies larger than DATA_UPLOAD_MAX_MEMORY_SIZE may be sent: files, which nobody holds in memory.
LARGE_BODIES = {
    "/api/embeds": EMBED_MAX_BYTES,
    "/attachment/uploads/": EMBED_MAX_BYTES,
    "/graphql": EMBED_MAX_BYTES,
    # JSON may write every byte of a value as \u00XX.
    "/api/userstorage/": 6 * STORAGE_VALUE_MAX_BYTES + 1024,
    "/api/openai-proxy/": OPENAI_PROXY_MAX_BYTES,
    "/process": AGENT_API_MAX_BYTES,
    "/process/": AGENT_API_MAX_BYTES,
    "/agents/": AGENT_API_MAX_BYTES,
}

# GraphQL: what one document may ask
GRAPHQL_MAX_DEPTH = env.int("GRAPHQL_MAX_DEPTH", 12)
GRAPHQL_MAX_ALIASES = env.int("GRAPHQL_MAX_ALIASES", 30)
GRAPHQL_MAX_TOKENS = env.int("GRAPHQL_MAX_TOKENS", 2000)
GRAPHQL_MAX_FIELDS = env.int("GRAPHQL_MAX_FIELDS", 100)
GRAPHQL_MAX_COST = env.int("GRAPHQL_MAX_COST", 20_000)

# Files of the site itself
STATIC_URL = "/static/"
STATIC_ROOT = None if LOCAL else BASE_DIR / "staticfiles"  # of `manage.py collectstatic`
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = LOCAL
# WhiteNoise hands Django sync iterators; files of this size may be read whole.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators")

# Language and time
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
# The first wins. In `packages` is what installed packages say, in the words of this site.
LOCALE_PATHS = [BASE_DIR / "locale", BASE_DIR / "locale" / "packages"]
TIME_ZONE = "UTC"
USE_TZ = True

# Safety
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SITE_URL.startswith("https://")
SESSION_COOKIE_SAMESITE = "Lax"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_SSL_REDIRECT = env.bool("SECURE_SSL_REDIRECT", False)
SECURE_HSTS_SECONDS = env.int("SECURE_HSTS_SECONDS", 0)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if env.bool("BEHIND_PROXY", False) else None
X_FRAME_OPTIONS = "DENY"

LOG_LEVEL = env.str("LOG_LEVEL", "WARNING" if LOCAL else "INFO")
LOG_FORMAT = env.str("LOG_FORMAT", "console" if LOCAL else "json")
LOGGING_CONFIG = "fixie_site.logs.configure"
LOGGING = {"level": LOG_LEVEL, "format": LOG_FORMAT}
