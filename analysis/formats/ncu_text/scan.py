"""The first pass over a file: which tables it has, and where each launch lies in it."""

from __future__ import annotations

import re

from analysis.formats.ncu_text.console import Console, launch_line
from analysis.formats.ncu_text.launches import ID, NAME, Columns, Page, Scan
from analysis.formats.ncu_text.lines import Row, Rows, Text, cells
from analysis.formats.ncu_text.source import FILES, KERNEL, Layout, Source
from analysis.formats.ncu_text.tables import VALUES, Long, Wide
from optimas_web.errors import UserError

DELIMITERS = ",;\t"
MOST_MESSAGES = 200
SETTINGS = "settings"
_HEADER_WORDS = (NAME, *FILES, "Address", "Line No", "Metric Name")
_SETTINGS = re.compile(r'"?(Session|Launch|Device) Attribute"?,')
_PROCESS = re.compile(r"\[\d+\] .+@\S+\s*")
MESSAGE = re.compile(r"==(PROF|ERROR|WARNING)==\s*(.*)")


def scan(text: Text) -> Scan:
    """All launches of the file; lines that are of no table are counted and passed over. Raises OSError, UserError."""
    found = Scan(text.path.name)
    rows = Rows(text.lines())
    page: Page | None = None
    for row in rows:
        if row.text.startswith("==") and (message := MESSAGE.match(row.text)):
            _note_message(found, message)
        elif page is not None and page.take(row):
            continue
        elif opened := open_page(found, row):
            if page is not None:
                page.finish()
            page = opened
            rows.delimiter = page.delimiter
        elif row.text.strip() and not _PROCESS.fullmatch(row.text):
            found.foreign += 1
    if page is not None:
        page.finish()
    return found


def _note_message(found: Scan, message: re.Match[str]) -> None:
    found.foreign += 1
    if len(found.messages) < MOST_MESSAGES:
        found.messages.append(f"{message[1]}: {message[2][:300]}")


def open_page(found: Scan, row: Row) -> Page | None:
    """The table whose first line ``row`` is."""
    if launch_line(row.text):
        return _begun(Console(found), row)
    if _SETTINGS.match(row.text):
        found.pages.add(SETTINGS)
    if not any(word in row.text for word in _HEADER_WORDS):
        return None
    for delimiter in DELIMITERS:
        header = [name.strip() for name in cells(row.text, delimiter)]
        if page := _table(found, header, row, delimiter):
            found.pages.add(page.kind)
            return page
    return None


def _table(found: Scan, header: list[str], row: Row, delimiter: str) -> Page | None:
    if header[0] in (KERNEL, *FILES) and 2 <= len(header) <= 3 and "Metric Name" not in header:
        return _begun(Source(found, delimiter), row._replace(cells=header))
    if Layout.of(header):
        return _begun(Source(found, delimiter), row._replace(cells=header))
    if NAME not in header:
        return None
    columns = Columns.of(header, row.text)
    if "Metric Name" in header and any(name in header for name in VALUES):
        if ID not in header and "Invocations" not in header:
            raise UserError(
                f"{found.file}, line {row.number}: the table has no column ID, so launches cannot be told apart.",
                "Upload the table as ncu printed it: ncu --import report.ncu-rep --csv --page raw > raw.csv",
            )
        return Long(found, columns, delimiter)
    return Wide(found, columns, delimiter) if ID in header or any("__" in name for name in header) else None


def _begun(page: Page, row: Row) -> Page:
    page.take(row)
    return page
