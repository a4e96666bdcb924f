"""The original program on this host, before anybody is asked for edits: does it build, do its runs prove anything?"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from evaluation import workspace
from evaluation.steps import Bench, Case, Found, Progress, build, compare
from evaluation.toolchains.base import Toolchain
from evaluation.types import Built
from optimas_web.errors import UserError
from projects.types import Manifest


def prove(
    files: Mapping[str, bytes],
    manifest: Manifest,
    toolchain: Toolchain,
    progress: Progress,
    cancelled: Callable[[], bool],
) -> Built:
    """Build the original and, when it builds, run each of its workloads as gate 6 will.

    Raises UserError when a run is no proof, and Cancelled. Without a GPU a CUDA program is only built.
    """
    case = Case(files, files, manifest, toolchain, None, seed=0)
    with workspace.opened(files) as folder:
        bench = Bench(case, {"original": folder}, progress, cancelled)
        built = build.build_side(bench, "original")
        try:
            for workload in manifest.workloads if built.ok else ():
                known = compare.baseline(bench, Found(built={"original": built}), workload)
                if known.outputs.ran.ended == "not_started":
                    break
        except UserError:
            bench.check()  # an original that was stopped looks like one that failed
            raise
        bench.check()
    return built
