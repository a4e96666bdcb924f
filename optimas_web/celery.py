"""The Celery application. Tasks import it by name: ``from optimas_web.celery import app``.

``optimas_web/__init__.py`` does not import it: pure code imports ``optimas_web.errors`` and shall not pay for Celery.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

from celery import Celery
from celery.signals import worker_process_init, worker_ready, worker_shutdown
from django.db import Error as DatabaseError
from django.db import connection
from django.utils.module_loading import import_string

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "optimas_web.settings")

logger = logging.getLogger("optimas.workers")

PR_SET_PDEATHSIG = 1
TELL_EVERY_S = 60
HERE = "evaluation.services.worker_is_here"
GONE = "evaluation.services.worker_is_gone"

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


shutting_down = threading.Event()


@worker_ready.connect
def tell_of_this_worker(sender: Any, **kwargs: Any) -> None:
    """Tell the hosts page, from a thread of its own: a slow database must not hold the worker up."""
    name, queues = sender.hostname, sorted(sender.app.amqp.queues.consume_from)

    def keep_telling() -> None:
        told(HERE, name, queues, True)
        while not shutting_down.wait(TELL_EVERY_S):
            told(HERE, name, queues)

    threading.Thread(target=keep_telling, name="tell-of-this-worker", daemon=True).start()


@worker_shutdown.connect
def say_goodbye(sender: Any, **kwargs: Any) -> None:
    shutting_down.set()
    told(GONE, sender.hostname)


def told(service: str, *arguments: Any) -> None:
    """No connection stays open: pool processes that are forked later would share it."""
    tell: Callable[..., None] = import_string(service)
    try:
        tell(*arguments)
    except DatabaseError:  # the worker works on, and tells again later
        logger.exception("the hosts page could not be told")
    finally:
        connection.close()
