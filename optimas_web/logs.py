"""How a log line looks."""

from __future__ import annotations

import logging
import time


class UtcFormatter(logging.Formatter):
    """Times in UTC with milliseconds, the same on every machine of a site: 2026-12-01T10:43:48.120Z."""

    converter = time.gmtime  # type: ignore[assignment]  # typeshed knows the default's signature only
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"
