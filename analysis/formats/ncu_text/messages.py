"""Why a file of ncu holds no launch: one plain sentence, and what to do."""

from __future__ import annotations

from analysis.formats.ncu_text.launches import SOURCE, Scan
from analysis.formats.ncu_text.scan import SETTINGS
from optimas_web.errors import UserError

PROFILE_AGAIN = "Profile again: ncu --set full --import-source yes -o report ./program"
_KNOWN = (
    (
        "ERR_NVGPUCTRPERM",
        "ncu had no permission to read the performance counters of the GPU",
        "Let an administrator allow it (NVreg_RestrictProfilingToAdminUsers=0 for the nvidia kernel module) or run ncu"
        f" as root. {PROFILE_AGAIN}",
    ),
    (
        "Could not open report file",
        "ncu could not open the report that it was to print",
        "Give the path of a report that is there: ncu --import report.ncu-rep --csv --page raw",
    ),
    (
        "No lineinfo available",
        "ncu found no line information for its page of source lines",
        f"Compile with -lineinfo (nvcc -O3 -lineinfo ...). {PROFILE_AGAIN}",
    ),
    (
        "did not match any section",
        "ncu knows no section of the name that it was given",
        f"See the names with: ncu --list-sections. {PROFILE_AGAIN}",
    ),
    (
        "No kernels were profiled",
        "ncu profiled no kernel",
        f"See that the program launches one, and that -k and -c leave it in. {PROFILE_AGAIN}",
    ),
)


def without_launches(scan: Scan) -> UserError:
    told = "\n".join(scan.messages)
    for sign, sentence, remedy in _KNOWN:
        if sign in told:
            return UserError(f"{scan.file} holds messages and no launch: {sentence}.", remedy)
    if left_out := next(iter(scan.warnings), ""):
        return UserError(f"{scan.file} holds no launch that can be read. {left_out}", PROFILE_AGAIN)
    if scan.pages == {SOURCE}:
        return UserError(
            f"{scan.file} holds the text of sources and no counts.",
            "Print the counts: ncu --import report.ncu-rep --csv --page source --print-source cuda,sass > source.csv",
        )
    pages = sorted(scan.pages - {SETTINGS})
    if pages:
        sentence = f"{scan.file} holds the head of ncu's {pages[0]} page and nothing below it: no kernel was profiled."
        return UserError(
            sentence, f"See that the program launches a kernel, and that -k and -c leave it in. {PROFILE_AGAIN}"
        )
    if scan.pages:
        return UserError(
            f"{scan.file} holds only ncu's session page: settings of the device, and no launch.",
            "Print the metrics: ncu --import report.ncu-rep --csv --page raw > raw.csv",
        )
    if not scan.messages:
        return UserError(
            f"{scan.file} holds the beginning of a table of ncu and no launch: it may have been cut off.", PROFILE_AGAIN
        )
    errors = [message.partition(": ")[2] for message in scan.messages if message.startswith("ERROR")]
    said = f' It says: "{errors[0][:200]}"' if errors else ""
    return UserError(f"{scan.file} holds messages of ncu and no launch.{said}", PROFILE_AGAIN)
