"""The one Celery task. Which service a job needs stands in the job's row."""

from __future__ import annotations

from optimas_web.celery import app
from optimas_web.jobs import run_job


@app.task(name="optimas.work")
def work(job_id: int) -> None:
    run_job(job_id)
