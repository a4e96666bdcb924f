"""Small programs for tests that go through real builds and runs."""

from __future__ import annotations

import json

from django.contrib.auth import get_user_model

from evaluation.services import live_jobs, paste_answer, start_run
from optimas_web.jobs import run_job
from optimizer.models import Attempt, Run
from projects.models import Project, Snapshot
from projects.services import add_snapshot, create_team
from projects.snapshot import from_files

COLUMNS = """#include <cstdio>
#include <cstdlib>
#include <vector>

__attribute__((noinline))
void fill(std::vector<double>& cells, int rows, int cols) {
    for (int col = 0; col < cols; ++col) {
        for (int row = 0; row < rows; ++row) {
            cells[(size_t)row * cols + col] += row * 0.5 + col;
        }
    }
}

int main(int argc, char** argv) {
    int rows = argc > 1 ? std::atoi(argv[1]) : 700;
    int cols = argc > 2 ? std::atoi(argv[2]) : 700;
    std::vector<double> cells((size_t)rows * cols, 1.0);
    for (int step = 0; step < 4; ++step) fill(cells, rows, cols);
    double sum = 0.0;
    for (double cell : cells) sum += cell;
    std::printf("%.6f\\n", sum);
    FILE* out = std::fopen("cells.bin", "wb");
    std::fwrite(cells.data(), sizeof(double), cells.size(), out);
    std::fclose(out);
    return 0;
}
"""
"""A program that walks its array across the rows: lines 7 and 8 are to be swapped."""

MANIFEST = """[project]
name = "columns"
toolchain = "cpu"

[build]
command = "g++ -O1 {flags} -o columns columns.cpp"
binary = "columns"

[[workload]]
name = "default"
command = "./columns 700 700"
outputs = ["cells.bin"]
timeout_s = 20

[[workload]]
name = "odd"
command = "./columns 31 77"
outputs = ["cells.bin"]

[profile]
command = "./columns 200 200"
"""

ROWS_FIRST = """    for (int row = 0; row < rows; ++row) {
        for (int col = 0; col < cols; ++col) {
"""


def files(**changes: str) -> dict[str, bytes]:
    """The program's files; a keyword replaces a file's text (``columns_cpp``, ``optimas_toml``)."""
    texts = {"columns.cpp": COLUMNS, "optimas.toml": MANIFEST}
    texts.update({name.replace("_", "."): text for name, text in changes.items()})
    return {path: text.encode() for path, text in texts.items()}


def swap_loops(label: str = "", **changes: object) -> str:
    """An answer that swaps the loops; ``changes`` replace fields of its edit."""
    lines = COLUMNS.split("\n")
    edit = {
        "file": "columns.cpp",
        "start_line": 7,
        "end_line": 8,
        "original_text": "\n".join(lines[6:8]),
        "new_text": ROWS_FIRST.rstrip("\n"),
        "evidence": [label] if label else [],
        "rationale": "walk the array in the order in which it lies in memory",
        "expect": [{"evidence": label, "direction": "down", "by_percent": 50}] if label else [],
        **changes,
    }
    return json.dumps({"summary": "Swap the loops.", "edits": [edit], "not_applied": []})


def snapshot(user: object = None, **changes: str) -> Snapshot:
    user = user or get_user_model().objects.create_user("ada")
    team = create_team("Tests", user)
    project = Project.objects.create(team=team, name="columns", created_by=user)
    return add_snapshot(project, from_files(files(**changes)), user)


def work_off(run: Run, leave: str = "") -> Run:
    """Do the run's queued jobs in this process until there is none, but those of the kind ``leave``."""
    while job := live_jobs(run).exclude(kind=leave).first():
        run_job(job.pk)
        job.refresh_from_db()
        assert not job.is_live, job.log
        run.refresh_from_db()
    return run


def answered_run(answer: str | None = None, sources: tuple[str, ...] = ("stalls",), **changes: str) -> Attempt:
    """A run whose pasted answer went through gates 1-3: profiled, asked, answered; its judgement is still queued.

    Without ``sources`` no evidence is offered and none is measured again, which is quicker.
    """
    program = snapshot(**changes)
    run = start_run(Run(snapshot=program, backend="paste", sources=list(sources), repairs=0))
    work_off(run)
    cited = run.profile.evidence.filter(file="columns.cpp").first().label if sources else ""
    attempt = paste_answer(run, answer or swap_loops(cited))
    work_off(run, leave="evaluation.evaluate")
    attempt.refresh_from_db()
    return attempt
