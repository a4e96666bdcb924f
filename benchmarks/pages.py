"""How long does the server take for each page, and how often does it ask the database?

    python benchmarks/pages.py                    # 2,000 runs in one project, a profile of 5,000 launches
    python benchmarks/pages.py --runs 200 --times 10
    python benchmarks/pages.py --only projects

Starts stores of its own in a temporary folder, with the product's own settings, makes a team with real rows (those of
tests/test_permissions.py) and many more around them, and asks for every address that the resolver knows as a lead of
the team (what is personal: as its owner), besides some that are slow if any are. Prints one line a page: queries,
processor time of the server (median), and wall time (median and 95th percentile), in milliseconds. On a machine that
does other things the wall time tells of those; the processor time leaves out what Postgres does. Ends with 1 when a
95th percentile is above the target.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, process_time
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "analysis")]

TARGET_MS = 100.0
WARM_UP = 2


@dataclass(frozen=True, slots=True)
class Line:
    """One page: what it is, how it was answered, queries, and milliseconds."""

    page: str
    status: int
    queries: int
    processor_ms: float
    median_ms: float
    p95_ms: float

    def __str__(self) -> str:
        late = "  above the target" if self.p95_ms > TARGET_MS else ""
        times = f"{self.processor_ms:>8.1f} {self.median_ms:>8.1f} {self.p95_ms:>8.1f}"
        return f"{self.page:<52} {self.status:>4} {self.queries:>8} {times}{late}"


def main() -> int:
    options = arguments()
    with tempfile.TemporaryDirectory(prefix="optimas-pages-") as folder:
        os.environ |= {"OPTIMAS_STATE": folder, "OPTIMAS_ALLOWED_HOSTS": "testserver", "OPTIMAS_LOG_LEVEL": "ERROR"}
        os.environ["DJANGO_SETTINGS_MODULE"] = "optimas_web.settings"
        import logging

        import django

        from optimas_web import embedded

        django.setup()
        logging.getLogger("django.request").setLevel(logging.ERROR)  # addresses that take no GET are asked for too
        with embedded.stores(Path(folder), throwaway=True):
            return measure(options)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--times", type=int, default=20, help="how often each page is asked for")
    parser.add_argument("--only", default="", help="pages whose name in the table has this in it")
    return parser.parse_args()


def measure(options: argparse.Namespace) -> int:
    from django.core.management import call_command

    call_command("prepare", verbosity=0, stdout=io.StringIO())
    print(f"{'page':<52} {'':>4} {'queries':>8} {'cpu':>8} {'p50':>8} {'p95':>8}")
    found = []
    for page, user, url in seed(options.runs):
        if options.only in page and (line := timed(user, page, url, options.times)) is not None:
            found.append(line)
            print(line, flush=True)
    late = [line for line in found if line.p95_ms > TARGET_MS]
    print(f"{len(found)} pages, {len(late)} above {TARGET_MS:.0f} ms at the 95th percentile")
    return 1 if late else 0


def timed(user: Any, page: str, url: str, times: int) -> Line | None:
    """None for an address that answers nothing to a GET."""
    from django.test import Client

    client = Client()
    client.force_login(user)
    for _ in range(WARM_UP):
        status = client.get(url).status_code
    if status in (404, 405):
        return None
    queries = count_queries(client, url)
    taken = [one(client, url) for _ in range(times)]
    cuts = quantiles((wall for wall, _ in taken), n=20, method="inclusive")
    return Line(page, status, queries, median(processor for _, processor in taken), cuts[9], cuts[18])


def count_queries(client: Any, url: str) -> int:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as seen:
        client.get(url)
    return len(seen)


def one(client: Any, url: str) -> tuple[float, float]:
    """Wall time and processor time of one request, in ms."""
    wall, processor = perf_counter(), process_time()
    client.get(url)
    return (perf_counter() - wall) * 1e3, (process_time() - processor) * 1e3


# --- what is measured -------------------------------------------------------------------------


def seed(count: int) -> list[tuple[str, Any, str]]:
    """Each page: its name, who looks, its address."""
    from django.db import connection

    site = import_module("tests.test_permissions")
    world = site.make_world()
    add_runs(world, count)
    large = large_profile(world)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # the database learns by itself that tables have grown, but later
    pages = [
        (
            address.route or "home",
            world.ada if address.name in site.PERSONAL else world.lea,
            site.filled(address, world),
        )
        for address in site.PAGES
        if address.name not in site.PUBLIC
    ]
    return [*pages, *((name, world.lea, url) for name, url in more(world, large))]


def more(world: Any, large: Any) -> Iterator[tuple[str, str]]:
    from django.urls import reverse

    project = reverse("projects:project", args=[world.attempt.run.snapshot.project_id])
    for query in ("sort=-speedup", "sort=result&page=40", "result=faster", "search=spread"):
        yield f"project, {query}", f"{project}?{query}"
    for name in ("profile", "source"):
        yield f"{name} of 5,000 launches", reverse(f"analysis:{name}", args=[large.pk])


def add_runs(world: Any, count: int) -> None:
    """Finished runs of one project, of every verdict, each with an attempt, nine gates, two timings and a job."""
    from django.utils import timezone

    from optimas_web.jobs import Job
    from optimizer.models import Attempt, Gate, Run
    from optimizer.types import GATES

    seeded = import_module("tests.seeded")
    made = [run.pk for run in seeded.runs(world.attempt.run.snapshot, count, world.ada)]
    Run.objects.filter(pk__in=made).update(ended=timezone.now())
    attempts = list(Attempt.objects.filter(run__in=made).values_list("pk", flat=True))
    Gate.objects.bulk_create(
        Gate(attempt_id=attempt, position=at, name=name, status="passed", seconds=1.0, log="a line of a log\n" * 20)
        for attempt in attempts
        for at, name in enumerate(GATES)
    )
    Job.objects.bulk_create(
        Job(
            team=world.team,
            kind="evaluation.evaluate",
            target_id=attempt,
            queue="cpu",
            status="done",
            log="a line of a log\n" * 100,
            idempotency_key=f"seeded {attempt}",
        )
        for attempt in attempts
    )


def large_profile(world: Any) -> Any:
    """A profile of 5,000 launches, in the project of the team."""
    profile = import_module("profile_rows").large(world.zoe)
    profile.snapshot.project.team.memberships.update(user=world.lea)
    return profile


if __name__ == "__main__":
    sys.exit(main())
