"""The style page: every part of the pages once, in all its states, from the very source that it shows.

A specimen is a file in templates/style/. Its figures are made up, for looks only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template import engines
from django.utils import timezone
from django.utils.safestring import SafeString
from django.views.decorators.http import require_http_methods, require_safe

from analysis import align, charts, source_page
from analysis.charts import document
from analysis.types import Analysis, Kernel, KernelAnalysis, Profile, Roofline, RooflinePoint, StallLine, Stalls
from evaluation.run_page import AttemptLine
from optimas_web.difference import Cited, Difference, Versions, difference
from optimas_web.drawing import Bar
from optimas_web.history import Result, history
from optimas_web.listing import code_lines
from optimas_web.words import LOOKS
from optimizer.types import GATES, Gate, GateStatus

FOLDER = Path(settings.BASE_DIR) / "templates" / "style"
SPRITE = Path(settings.BASE_DIR) / "static" / "icons.svg"
GROUPS = {
    "Foundations": ("colours", "type", "icons", "figures"),
    "Status": ("badges", "chips", "gates", "where-from"),
    "Moving about": ("crumbs", "tabs", "filter", "table", "pager"),
    "Acting": ("buttons", "form", "drop", "transfer", "dialog", "copy"),
    "Showing": (
        "tiles",
        "card",
        "facts",
        "code",
        "heat",
        "difference",
        "bars",
        "chart",
        "interval",
        "history",
        "level",
        "slices",
        "timeline",
    ),
    "Waiting and failing": ("stages", "polling", "log", "notices", "empty", "loading", "error", "toasts"),
}
TONES = ("ok", "bad", "warn", "busy", "idle")
POLLS = 3

BEFORE = """__global__ void settle(const float* rows, float* out, int n) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= n) return;
    float sum = 0.0f;
    for (int row = 0; row < n; ++row) {
        sum += rows[col * n + row];  // one row a thread: 32 cache lines a load
    }
    out[col] = sum;
}
"""
AFTER = """__global__ void settle(const float* __restrict__ rows, float* out, int n) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= n) return;
    float sum = 0.0f;
    #pragma unroll 4
    for (int row = 0; row < n; ++row) {
        sum += rows[row * n + col];  // neighbours read neighbours
    }
    out[col] = sum;
}
"""


@dataclass(frozen=True, slots=True)
class Specimen:
    name: str
    source: str
    shown: SafeString

    @property
    def title(self) -> str:
        return self.name.replace("-", " ").capitalize()


class SpecimenFilter(forms.Form):
    search = forms.CharField(required=False)
    outcome = forms.ChoiceField(
        required=False, choices=[("", "Any outcome"), ("faster", "Faster"), ("failed", "Failed")]
    )


class SpecimenForm(forms.Form):
    name = forms.CharField(max_length=40, help_text="As your team calls it.")
    toolchain = forms.ChoiceField(choices=[("cuda", "CUDA"), ("cpu", "CPU")])
    build = forms.CharField(
        label="Build command", required=False, widget=forms.Textarea(attrs={"class": "code", "rows": 2})
    )
    profile = forms.BooleanField(label="Profile it on this host", required=False, help_text="Takes about a minute.")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def style(request: HttpRequest) -> HttpResponse:
    """All specimens; a POST shows one message of each level."""
    if request.method == "POST":
        messages.success(request, "The run has started.")
        messages.warning(request, "The clocks of this GPU are not locked.")
        messages.error(request, "ponds.cu does not build: line 24 expects a semicolon.")
        return redirect("style")
    values = examples()
    groups = [(group, [specimen(name, values, request) for name in names]) for group, names in GROUPS.items()]
    return render(request, "style.html", {"groups": groups})


@login_required
@require_safe
def style_poll(request: HttpRequest) -> HttpResponse:
    """What a polled part does: it changes, and the last answer (status 286) ends the asking."""
    step = min(POLLS, int(request.GET["step"]) + 1) if request.GET.get("step", "").isdecimal() else 0
    done = step == POLLS
    context = {"step": step, "progress": step / POLLS, "done": done}
    return render(request, "parts/polling_example.html", context, status=286 if done else 200)


def specimen(name: str, values: dict[str, Any], request: HttpRequest) -> Specimen:
    source = (FOLDER / f"{name}.html").read_text()
    shown = engines["django"].from_string("{% load optimas %}" + source).render(values, request)
    return Specimen(name, source.strip(), SafeString(shown))


def examples() -> dict[str, Any]:
    """What the specimens show."""
    return {
        "now": timezone.now(),
        "tones": TONES,
        "icons": re.findall(r'<symbol id="([\w-]+)"', SPRITE.read_text()),
        "statuses": LOOKS,
        "gates": example_gates(),
        "page": Paginator(range(1, 2001), 25).get_page(7),
        "filter_form": SpecimenFilter({"search": "settle"}),
        "form": SpecimenForm({"toolchain": "cpu", "build": "make FLAGS='{flags}'"}),
        "rows": example_rows(),
        "lines": code_lines(BEFORE, "ponds.cu", {5: 0.031, 6: 0.647, 8: 0.012}, marked=(6,)),
        "difference": example_difference(),
        "seconds": {"Profile": 48.2, "Propose": 12.6, "Build": 9.31, "Check and time": 74.0},
        "bars": example_bars(),
        "chart": example_chart(),
        "drawing": document(example_chart()),
        "heat": source_page.page(example_kernel("settle", 3.1, 4e11), "ponds.cu", BEFORE, ["ponds.cu"]),
        "timings": example_timings(),
        "results": history(example_results()),
        "stages": example_stages(),
        "attempts": example_attempts(),
        "trail": [("Home", "/"), ("ponds", "#crumbs"), ("Run 12", None)],
        "tabs": [
            ("Runs", "#tabs", 12, True),
            ("Profiles", "#tabs", 2, False),
            ("Workloads", "#tabs", 3, False),
            ("Settings", "#tabs", None, False),
        ],
        "log": "\n".join(f"[{n:4}] nvcc -arch=sm_90 -lineinfo -c part{n:02}.cu" for n in range(1, 41)),
    }


def thing(**fields: Any) -> SimpleNamespace:
    return SimpleNamespace(**fields)


def example_gates() -> list[Gate]:
    states: list[GateStatus] = [*["passed"] * 5, "failed", "not_run", "not_run", "not_applicable"]  # type: ignore[list-item]
    return [Gate(name, state, "", 1.0) for name, state in zip(GATES, states, strict=True)]


def example_rows() -> list[SimpleNamespace]:
    return [
        thing(number=12, kernel="settle", status="evaluating", speedup=None, ns=None, gates=example_gates()[:4]),
        thing(number=11, kernel="settle", status="faster", speedup=1.84, ns=812_400.0, gates=example_gates()[:5]),
        thing(
            number=10,
            kernel="levelWater",
            status="no_difference",
            speedup=1.003,
            ns=1_204_000.0,
            gates=example_gates()[:5],
        ),
        thing(number=9, kernel="levelWater", status="failed", speedup=None, ns=None, gates=example_gates()),
    ]


def example_difference() -> Difference:
    hunks = align.hunks(BEFORE, AFTER)
    cited = [Cited(("R1",)), Cited(("S1",)), Cited(("S1", "H1"))]
    heat = {5: 0.031, 6: 0.647, 8: 0.012}
    return difference(Versions("ponds.cu", BEFORE, AFTER, hunks, cited, heat, {6: ["S1"]}, "ponds-"))


def example_bars() -> list[Bar]:
    return [
        Bar("settle", 0.52, "41.2 ms", "84 launches", chosen=True, key="1"),
        Bar("levelWater", 0.24, "19.1 ms", "84 launches", chosen=True, key="2"),
        Bar("rain", 0.13, "10.4 ms", "12 launches", key="3"),
        Bar("copyRim", 0.08, "6.31 ms", "84 launches", key="4"),
        Bar("void reduce<float, 256>", 0.03, "2.40 ms", "1 launch", key="5"),
    ]


def example_kernel(name: str, flop_per_byte: float, flop_per_s: float) -> KernelAnalysis:
    kernel = Kernel(name, f"void {name}<float>(const float*, float*, int)", name, 84, 41.2e6, 4.9e5, 0.52, 1, True, ())
    point = RooflinePoint("fp32", "dram", flop_per_byte, flop_per_s, 66.7e12, 1.3e11, 4.8e12)
    load, wait = {"long_scoreboard": 0.71, "mio_throttle": 0.21, "wait": 0.08}, {"barrier": 0.6, "wait": 0.4}
    lines = (
        StallLine("ponds.cu", 6, "", 1294, 0.647, load),
        StallLine("ponds.cu", 5, "", 462, 0.231, wait),
        StallLine("ponds.cu", 8, "", 244, 0.122, {"drain": 0.9, "wait": 0.1}),
    )
    return KernelAnalysis(kernel, Roofline("latency", "", 0.9, (point,)), Stalls("stalled samples", 2000, lines), ())


def example_chart() -> charts.Chart:
    found = (example_kernel("settle", 3.1, 4e11), example_kernel("levelWater", 0.4, 1.6e12))
    profile = Profile("ncu_rep", "Nsight Compute", None, None, "ns", False, ())
    return charts.make("roofline", Analysis(profile, found, (), {}))


def example_timings() -> list[SimpleNamespace]:
    return [
        thing(scope="settle", speedup=1.84, low=1.79, high=1.9, verdict="faster"),
        thing(scope="all kernels", speedup=1.31, low=1.27, high=1.36, verdict="faster"),
        thing(scope="whole program", speedup=1.02, low=0.97, high=1.08, verdict="cannot_tell"),
        thing(scope="levelWater", speedup=0.88, low=0.86, high=0.9, verdict="slower"),
        thing(scope="rain", speedup=None, low=None, high=None, verdict="same_machine_code"),
    ]


def example_results() -> list[Result]:
    verdicts = ("no_difference", "faster", "faster", "cannot_tell", "slower", "faster", "faster", "same_machine_code")
    ratios = (1.0, 1.31, 1.22, 1.04, 0.91, 1.84, 1.79, 1.0)
    return [
        Result(f"Run {n}", "#history", timezone.now(), ratio, ratio * 0.97, ratio * 1.03, word, word == "faster")
        for n, (ratio, word) in enumerate(zip(ratios, verdicts, strict=True), 3)
    ]


def example_stages() -> list[SimpleNamespace]:
    return [
        thing(name="Profile", status="done", seconds=48.2, note="", progress=None),
        thing(name="Propose", status="done", seconds=12.6, note="Recorded answer, 2 edits", progress=None),
        thing(name="Build", status="done", seconds=9.31, note="", progress=None),
        thing(name="Time", status="running", seconds=74.0, note="Pair 13 of at most 30", progress=0.43),
        thing(name="Profile again", status="queued", seconds=None, note="", progress=None),
    ]


def example_attempts() -> list[AttemptLine]:
    gates, said = example_gates(), "Recorded on 2026-12-01: a language model. It was recorded for another prompt."
    failed = Gate("outputs", "failed", "out/rows.bin differs on the workload odd: 12 of 4,096 bytes.", 1.0)
    passed = [Gate(name, "passed", "", 1.0) for name in GATES]
    proved = {"verdict": "faster", "speedup": 1.84, "repairs": 1, "recorded": said, "best": True}
    return [
        AttemptLine(1, "#timeline", "A model", "edits", "2 edits.", gates, "failed", failed=failed),
        AttemptLine(2, "#timeline", "Recorded answer", "edits", "1 edit.", passed, **proved),  # type: ignore[arg-type]
        AttemptLine(3, "#timeline", "A person", "waiting_for_answer", "", ()),
    ]
