"""Settings for the tests: stores in a folder of their own, started by the first test that needs them (conftest.py).

Every test process takes a free number N, holds it for as long as it lives, and uses the database ``test_N`` and
Valkey's database N. So pytest's parallel workers and several runs at once do not meet.
"""

import atexit
import os
from pathlib import Path

from optimas_web.state import BASE_DIR, private_folder, try_lock

TEST_STATE = private_folder(Path(os.environ.get("OPTIMAS_STATE") or BASE_DIR / "var").resolve() / "test")
os.environ["OPTIMAS_STATE"] = str(TEST_STATE)

from optimas_web.embedded import VALKEY_DATABASES, has_valkey  # noqa: E402
from optimas_web.settings import *  # noqa: E402, F403
from optimas_web.settings import CACHES, DATABASES, REDIS_URL, STORAGES, broker_url  # noqa: E402


def take_slot() -> int:
    for number in range(1, VALKEY_DATABASES if has_valkey() else 16):
        lock = try_lock(TEST_STATE / "slots" / str(number))
        if lock is not None:
            atexit.register(lock.close)
            return number
    raise RuntimeError(f"All test databases are taken; see {TEST_STATE / 'slots'}.")


SLOT = take_slot()
DATABASES["default"]["CONN_MAX_AGE"] = 0
DATABASES["default"]["TEST"] = {"NAME": f"test_{SLOT}"}
REDIS_URL = f"{REDIS_URL.partition('?')[0]}?db={SLOT}"
CELERY_BROKER_URL = broker_url(REDIS_URL)
CACHES["default"]["LOCATION"] = REDIS_URL
MEDIA_ROOT = TEST_STATE / "media" / str(SLOT)
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
WHITENOISE_AUTOREFRESH = True  # static files straight from the source, nothing collected
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # slow hashing is no use here
