"""Settings with stand-ins for the two commands that the supervisor runs, so that its tests take seconds."""

from optimas_web.settings import *  # noqa: F403
from optimas_web.settings import INSTALLED_APPS, STORAGES

INSTALLED_APPS = ["tests.standin", *INSTALLED_APPS]
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
