"""The Celery application. Tasks import it by name: ``from optimas_web.celery import app``.

``optimas_web/__init__.py`` does not import it: pure code imports ``optimas_web.errors`` and shall not pay for Celery.
"""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Any

from celery import Celery
from celery.signals import worker_process_init

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "optimas_web.settings")

PR_SET_PDEATHSIG = 1

app = Celery("optimas")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_process_init.connect
def die_with_the_worker(**kwargs: Any) -> None:
    """A pool process survives a kill -9 of the worker that forked it, and would go on with its job beside the worker
    that takes the job over. The kernel ends it instead; asked for here, as fork does not hand the wish down."""
    parent = os.getppid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent:  # it died before we had asked
        os.kill(os.getpid(), signal.SIGKILL)
