"""A project's files at one moment: what belongs to a snapshot, and one hash over all of it.

Edge: reads folders and archives, writes nothing. Contents are kept byte for byte, whatever they hold.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from optimas_web.errors import UserError
from projects import archive, names, unpacking
from projects.types import SnapshotLimits, Tree
from projects.unpacking import LINK, NOT_A_FILE, SOURCES_ONLY, too_large, too_many

SOURCE_SUFFIXES = frozenset({".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hh", ".hpp", ".hxx", ".inc", ".inl"})
VERSION_CONTROL = frozenset({".git", ".hg", ".svn", ".bzr", "_darcs", "CVS"})
BOOKKEEPING = frozenset({"__MACOSX", ".DS_Store", "Thumbs.db"})
BUILD_FOLDERS = frozenset({"CMakeFiles", "__pycache__"})
BUILD_FILES = re.compile(
    r"\.(o|obj|lo|la|a|lib|so(\.\d+)*|dylib|dll|exe|pdb|gch|pch|pyc|cubin|fatbin)$|^CMakeCache\.txt$|^\.ninja_(log|deps)$"
)
PROFILES = re.compile(r"\.(ncu-rep|ncu-proj|nsys-rep|qdrep|qdstrm)$|^callgrind\.out(\.|$)")
# All of these as one pattern for a part of a path, in a spelling that browsers read too: what they need not send.
NAMES_LEFT_OUT = "|".join(
    [
        *(f"^{re.escape(name)}$" for name in sorted(VERSION_CONTROL | BOOKKEEPING | BUILD_FOLDERS)),
        BUILD_FILES.pattern,
        PROFILES.pattern,
    ]
)
# The first bytes of object files, archives and programs: ELF, ar, Mach-O (either byte order, fat).
BUILT = (b"\x7fELF", b"!<arch>\n", b"\xfe\xed\xfa\xce", b"\xfe\xed\xfa\xcf", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe",
         b"\xca\xfe\xba\xbe")  # fmt: skip
# A stale product would be taken for a fresh one by make, so that the old program is judged.
PRODUCT = "a build product, made again from the sources"


def from_files(files: Mapping[str, bytes], limits: SnapshotLimits | None = None) -> Tree:
    """The snapshot of files that are in memory already, by name. Raises UserError: a bad name, too many, too large."""
    intake = _Intake(limits or SnapshotLimits())
    for name, content in files.items():
        path = names.clean(name)
        if not intake.leaves_out(path):
            intake.add(path, content)
    return intake.tree()


def from_folder(folder: Path, limits: SnapshotLimits | None = None) -> Tree:
    """The snapshot of a folder; links are not followed.

    Raises UserError: no folder, unreadable, a bad name, too many or too large files.
    """
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder.", "Give the folder that holds the program.")
    intake = _Intake(limits or SnapshotLimits())
    try:
        for path, entry in _walk(folder, "", intake):
            intake.add(path, _read(entry, intake.limits.file_bytes + 1))
    except OSError as error:
        raise UserError(f"{error.filename} cannot be read: {error.strerror}.", "Check its permissions.") from error
    return intake.tree()


def from_archive(path: Path, limits: SnapshotLimits | None = None) -> Tree:
    """The snapshot of a zip or tar file, whatever its name. A single folder around everything is taken off, and noted.

    Raises UserError: not an archive, damaged, encrypted, a bomb, a bad name, too many or too large files.
    """
    intake = _Intake(limits or SnapshotLimits())
    try:
        with path.open("rb") as stream:
            for member in archive.members(stream, intake.limits):
                if intake.leaves_out(member.path):
                    continue
                if member.left_out:
                    intake.skipped[member.path] = member.left_out
                else:
                    intake.add(member.path, member.read())
    except OSError as error:
        raise UserError(f"{path.name} cannot be read: {error.strerror}.") from error
    intake.take_off_folder()
    return intake.tree()


def source_texts(files: Mapping[str, bytes]) -> dict[str, str]:
    """The C, C++ and CUDA files of a snapshot as text; bytes that are no UTF-8 survive as surrogates."""
    return {
        path: content.decode("utf-8", "surrogateescape")
        for path, content in files.items()
        if PurePosixPath(path).suffix.lower() in SOURCE_SUFFIXES
    }


def from_upload(path: Path, name: str, limits: SnapshotLimits | None = None) -> Tree:
    """The snapshot of a file that somebody brought: an archive of any name, or one loose file called ``name``.

    Raises UserError as ``from_archive`` and ``from_files`` do.
    """
    limits = limits or SnapshotLimits()
    with path.open("rb") as stream:
        head = stream.read(512)
        if archive.is_one(head):
            return from_archive(path, limits)
        return from_files({name: head + stream.read(limits.file_bytes)}, limits)


def with_file(tree: Tree, path: str, content: bytes) -> Tree:
    """The tree with one file added or replaced."""
    files = dict(sorted({**tree.files, path: content}.items()))
    return replace(tree, files=files, sha256=digest(files))


def digest(files: Mapping[str, bytes]) -> str:
    """SHA-256 over all files, sorted by the UTF-8 bytes of their paths: path NUL length-in-decimal NUL content."""
    total = hashlib.sha256()
    for path in sorted(files, key=str.encode):
        total.update(f"{path}\0{len(files[path])}\0".encode())
        total.update(files[path])
    return total.hexdigest()


@dataclass
class _Intake:
    """Files on their way in: counts against the limits, remembers what is left out."""

    limits: SnapshotLimits
    files: dict[str, bytes] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    total: int = 0

    def leaves_out(self, path: str) -> bool:
        """Whether the path alone says that this does not belong to a snapshot; remembers the outermost such part."""
        parts = path.split("/")
        for depth, part in enumerate(parts, start=1):
            why = _why_left_out(part)
            if why:
                self.skipped["/".join(parts[:depth])] = why
                return True
        return False

    def add(self, path: str, content: bytes) -> None:
        if content.startswith(BUILT):
            self.skipped[path] = PRODUCT
            return
        if path in self.files:
            raise UserError(f"Two files are called {names.shown(path)}.", "Remove one of them.")
        self.total += len(content)
        self._check(path, len(content))
        self.files[path] = content

    def take_off_folder(self) -> None:
        folders = {path.partition("/")[0] for path in self.files if "/" in path}
        if len(folders) != 1 or any("/" not in path for path in self.files):
            return
        (folder,) = folders
        self.files = {path[len(folder) + 1 :]: content for path, content in self.files.items()}
        self.notes.append(f"Everything lay in the folder {names.shown(folder)}, which was taken off.")

    def tree(self) -> Tree:
        if not self.files:
            raise UserError("There are no files to keep.", "Upload the sources of the program.")
        names.refuse_file_as_folder(self.files)
        alike = [f"{names.shown(a)} and {names.shown(b)} look the same to some systems." for a, b in
                 names.look_alikes(self.files)]  # fmt: skip
        files = dict(sorted(self.files.items()))
        skipped = tuple(f"{path}: {why}" for path, why in sorted(self.skipped.items()))
        return Tree(files=files, sha256=digest(files), skipped=skipped, notes=(*self.notes, *alike))

    def _check(self, path: str, size: int) -> None:
        if size > self.limits.file_bytes:
            raise too_large(path, self.limits)
        if len(self.files) >= self.limits.files:
            raise too_many(self.limits.files, "files", path)
        if self.total > self.limits.total_bytes:
            most = unpacking.size(self.limits.total_bytes)
            raise UserError(f"With {names.shown(path)} the files add up to more than {most}.", SOURCES_ONLY)


def _why_left_out(part: str) -> str:
    if part in VERSION_CONTROL:
        return "version control"
    if part in BOOKKEEPING:
        return "written by a file manager"
    if PROFILES.search(part):
        return "a profile, uploaded on its own"
    return PRODUCT if part in BUILD_FOLDERS or BUILD_FILES.search(part) else ""


def _walk(folder: Path, above: str, intake: _Intake) -> Iterator[tuple[str, Path]]:
    """Relative path and place of every file, in order; remembers what it passes over."""
    with os.scandir(folder) as listing:
        entries = sorted(listing, key=lambda entry: os.fsencode(entry.name))
    for entry in entries:
        path = names.clean(above + entry.name)
        if intake.leaves_out(path):
            continue
        if entry.is_symlink():
            intake.skipped[path] = LINK
        elif entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path), path + "/", intake)
        elif entry.is_file(follow_symlinks=False):
            yield path, Path(entry.path)
        else:
            intake.skipped[path] = NOT_A_FILE


def _read(path: Path, most: int) -> bytes:
    """At most ``most`` bytes. Neither waits for a pipe nor follows a link that took the file's place just now."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream:
        return stream.read(most)
