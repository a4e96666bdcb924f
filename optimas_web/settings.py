"""Django's settings. Every environment variable that is read here is told in docs/settings.md.

Values that cannot be read stop the start with a sentence; nothing falls back silently.
"""

from __future__ import annotations

import os
from urllib.parse import unquote

import environ
from django.core.exceptions import ImproperlyConfigured

from optimas_web import embedded, state
from optimas_web.errors import UserError


def boolean(value: str) -> bool:
    """Stricter than the library's own, which takes a misspelt word for no."""
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    return words[value.strip().lower()]


def log_level(value: str) -> str:
    level = value.strip().upper()
    if level not in ("DEBUG", "INFO", "WARNING", "ERROR"):
        raise ValueError(level)
    return level


ENVIRONMENT = environ.Env(
    DATABASE_URL=(str, ""),
    REDIS_URL=(str, ""),
    OPTIMAS_SECRET_KEY=(str, ""),
    OPTIMAS_DEBUG=(boolean, False),
    OPTIMAS_ALLOWED_HOSTS=(list, ["127.0.0.1", "localhost", "[::1]"]),
    OPTIMAS_TRUSTED_ORIGINS=(list, []),
    OPTIMAS_SECURE_COOKIES=(boolean, False),
    OPTIMAS_BEHIND_PROXY=(boolean, False),
    OPTIMAS_VISIBILITY_TIMEOUT_S=(int, 12 * 3600),
    OPTIMAS_JOB_LEASE_S=(float, 20.0),
    OPTIMAS_UPLOAD_LIMIT_BYTES=(int, 8 * 1024**3),
    OPTIMAS_TEAM_QUOTA_BYTES=(int, 100 * 1024**3),
    OPTIMAS_LOG_LEVEL=(log_level, "INFO"),
)


def read(name: str):
    try:
        return ENVIRONMENT(name)
    except (ValueError, KeyError) as error:
        raise ImproperlyConfigured(
            f"{name}={os.environ[name]!r} is not a value that this setting takes; see docs/settings.md."
        ) from error


BASE_DIR = state.BASE_DIR
STATE_DIR = state.state_folder()
MEDIA_ROOT = STATE_DIR / "media"
UPLOAD_ROOT = MEDIA_ROOT / "uploads"
PROFILE_ROOT = MEDIA_ROOT / "profiles"
UPLOAD_LIMIT_BYTES = read("OPTIMAS_UPLOAD_LIMIT_BYTES")  # of one file
TEAM_QUOTA_BYTES = read("OPTIMAS_TEAM_QUOTA_BYTES")  # of all files of a team
UPLOAD_PIECE_BYTES = 16 * 1024**2  # the most that one request may bring; a request holds it in memory
RECORDINGS = (BASE_DIR / "samples" / "recorded",)  # answers that the replay backend knows

try:
    SECRET_KEY = read("OPTIMAS_SECRET_KEY") or state.secret_key(STATE_DIR)
except OSError as error:
    raise UserError(
        f"{STATE_DIR} cannot be written: {error.strerror}.", "Set OPTIMAS_STATE to a folder of yours."
    ) from error
DEBUG = read("OPTIMAS_DEBUG")
ALLOWED_HOSTS = read("OPTIMAS_ALLOWED_HOSTS")
CSRF_TRUSTED_ORIGINS = read("OPTIMAS_TRUSTED_ORIGINS")

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "optimas_web",
    "projects",
    "analysis",
    "optimizer",
    "evaluation",
    "reviews",
    "studies",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "optimas_web.csp.ContentSecurityPolicy",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
ROOT_URLCONF = "optimas_web.urls"
WSGI_APPLICATION = "optimas_web.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,  # for the admin
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# Stores: the embedded ones unless a URL names a server.
DATABASES = {
    "default": ENVIRONMENT.db("DATABASE_URL") if read("DATABASE_URL") else embedded.database_settings(STATE_DIR)
}
DATABASES["default"]["HOST"] = unquote(str(DATABASES["default"].get("HOST", "")))  # %2F: the folder of a Unix socket
DATABASES["default"]["CONN_MAX_AGE"] = 60
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
if DATABASES["default"]["ENGINE"] != "django.db.backends.postgresql":
    raise ImproperlyConfigured("DATABASE_URL has to name a Postgres server: postgres://user:password@host:5432/name")
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = read("REDIS_URL") or embedded.redis_url(STATE_DIR)
if not REDIS_URL.startswith(("redis://", "rediss://", "unix://")):
    raise ImproperlyConfigured("REDIS_URL has to start with redis://, rediss:// or unix://")
CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS_URL}}


def broker_url(url: str) -> str:
    """Celery's spelling of a Redis URL: it differs for Unix sockets."""
    if url.startswith("unix://"):
        return url.replace("unix://", "redis+socket://", 1).replace("?db=", "?virtual_host=")
    return url


# Jobs. The truth about a job is its row in Postgres (optimas_web.jobs); the broker only carries ids.
QUEUES = ("default", "llm", "gpu", "cpu")
JOB_LEASE_S = read("OPTIMAS_JOB_LEASE_S")  # a worker silent for so long has lost its job; it beats ten times in it
CELERY_BROKER_URL = broker_url(REDIS_URL)
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_SERIALIZER = "json"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_TASK_QUEUES = {name: {"exchange": name, "routing_key": name} for name in QUEUES}
CELERY_TASK_CREATE_MISSING_QUEUES = False  # a misspelt queue is an error, not a queue that nobody reads
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    # Longer than any job: a message that comes back while its job still runs is only refused by the job's lease.
    "visibility_timeout": read("OPTIMAS_VISIBILITY_TIMEOUT_S"),
    # kombu looks for messages to give back every interval x throttle seconds (100 s unless told).
    "unacked_restore_interval": 2,
    "unacked_restore_throttle": 1,
}
CELERY_TIMEZONE = "UTC"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = STATE_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "optimas_web.packaged.PackagedFinder",
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = LOGOUT_REDIRECT_URL = "home"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = read("OPTIMAS_SECURE_COOKIES")
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if read("OPTIMAS_BEHIND_PROXY") else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# What pages may load: our own files and nothing else. No inline script, no inline style, no eval.
# Named and shaped as in Django 6, whose middleware can take the place of optimas_web.csp.
SECURE_CSP = {
    "default-src": ["'none'"],
    "script-src": ["'self'"],
    "style-src": ["'self'"],
    "img-src": ["'self'", "data:"],
    "font-src": ["'self'"],
    "connect-src": ["'self'"],
    "form-action": ["'self'"],
    "base-uri": ["'none'"],
    "frame-ancestors": ["'none'"],
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "optimas_web.logs.UtcFormatter",
            "format": "{asctime} {levelname:<7} {name}: {message}",
            "style": "{",
        }
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": read("OPTIMAS_LOG_LEVEL")},
    # Django's own handlers are replaced by the root's, so that a line is not told twice.
    "loggers": {"django": {"handlers": [], "propagate": True}, "django.server": {"handlers": [], "propagate": True}},
}
