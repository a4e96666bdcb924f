"""What a program's files say about building and running it, when optimas.toml does not.

Pure and modest: every guess is listed in ``Manifest.detected``, shown, and corrected by a line of optimas.toml.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import PurePosixPath

from optimas_web.errors import UserError
from projects.types import ToolchainName

C_SUFFIXES = (".c", ".cc", ".cpp", ".cxx", ".c++", ".C")
HEADER_SUFFIXES = (".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl")
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
INCLUDE_FOLDERS = ("include", "inc")
LOOKED_AT_BYTES = 4 * 1024**2

_KERNEL = re.compile(r"\b__global__\b")
# Patterns run over files of strangers: none of them may look again and again at the same long text.
_MAIN = re.compile(r"^[ \t]*(?:extern \"C\" )?(?:(?:int|auto|void)\s{1,80})?main\s{0,80}\(", re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_ASSIGNMENT = re.compile(
    r"^[ \t]*(?:export[ \t]+)?([\w.]+)[ \t]*(?:\?|:{0,3})=[ \t]*(.*?)[ \t]*(?:#.*)?$", re.MULTILINE
)
_REFERENCE = re.compile(r"\$[({]([\w.]+)[)}]")
_BINARY_VARIABLES = ("target", "bin", "binary", "exe", "exec", "executable", "program", "prog")
_CMAKE_TARGET = re.compile(r"\badd_executable\s{0,80}\(\s{0,80}([\w.+${}-]+)", re.IGNORECASE)
_CMAKE_PROJECT = re.compile(r"\bproject\s{0,80}\(\s{0,80}([\w.+-]+)", re.IGNORECASE)
_OPEN_ARGUMENT = re.compile(r"[<>\[\]|…]|\.\.\.|(?<![\w./-])[A-Z][A-Z_0-9]*(?![\w./-])")


def toolchain(files: Mapping[str, bytes]) -> ToolchainName:
    """``cuda`` when a file is CUDA by name or holds a kernel, else ``cpu``. Raises UserError without any source."""
    code = [path for path in files if path.endswith((".cu", *C_SUFFIXES, *HEADER_SUFFIXES))]
    if not code:
        raise UserError("There is no C, C++ or CUDA source among the files.", "Upload the program's sources.")
    if any(path.endswith((".cu", ".cuh")) or _KERNEL.search(_code(files[path])) for path in code):
        return "cuda"
    return "cpu"


def build_command(files: Mapping[str, bytes], chain: ToolchainName, binary: str) -> str:
    """The command of a Makefile or CMakeLists.txt in the root, else one compiler line over all sources."""
    makefile = _makefile(files)
    if makefile is not None:
        return _make_command(makefile)
    if "CMakeLists.txt" in files:
        return _cmake_command(chain)
    return _compiler_line(files, chain, binary)


def binary(files: Mapping[str, bytes], command: str | None) -> str:
    """Path of the program that is built: from the build command, the Makefile, CMake, or the file with ``main``."""
    found = _output_of(command or "")
    makefile = _makefile(files)
    if not found and makefile is not None:
        found = _binary_of_makefile(makefile)
    elif not found and "CMakeLists.txt" in files:
        found = _binary_of_cmake(_text(files["CMakeLists.txt"]))
    return found or PurePosixPath(_main_source(files)).stem


def run_command(files: Mapping[str, bytes], binary: str) -> str:
    """How the Makefile's ``run`` target or the README starts the program, else the program without arguments."""
    program = f"./{binary}"
    lines = [*_run_recipe(_makefile(files) or ""), *_readme_lines(files)]
    starts = [line for line in lines if line == program or line.startswith(program + " ")]
    return next((line for line in starts if not _OPEN_ARGUMENT.search(line)), program)


# --- make -------------------------------------------------------------------------------------


def _makefile(files: Mapping[str, bytes]) -> str | None:
    return next((_text(files[name]).replace("\\\n", " ") for name in MAKEFILES if name in files), None)


def _make_command(makefile: str) -> str:
    """``make``, with ARCH and FLAGS where the Makefile asks for them and would lose nothing by it."""
    asked = set(_REFERENCE.findall(makefile))
    values = _assignments(makefile)
    command = ["make"]
    if "ARCH" in asked and all(re.fullmatch(r"(sm_\w+)?", value) for name, value in values if name == "ARCH"):
        command.append("ARCH={arch}")
    if "FLAGS" in asked and not any(value for name, value in values if name == "FLAGS"):
        command.append("FLAGS='{flags}'")
    return " ".join(command)


def _binary_of_makefile(makefile: str) -> str:
    variables = dict(_assignments(makefile))
    named = [value for name, value in variables.items() if name.lower() in _BINARY_VARIABLES and value]
    linked = re.findall(r"^([\w./-]+)[ \t]*:(?!=).*\n(?:\t.*\n)*?\t.*-o[ \t]+\$@", makefile, re.MULTILINE)
    written = re.findall(r"-o[ \t]+([\w./-]+)", makefile)
    candidates = [_expanded(name, variables) for name in (*named, *linked, *written)]
    return next((name for name in map(_inside, candidates) if name and not name.endswith(".o")), "")


def _assignments(makefile: str) -> list[tuple[str, str]]:
    """Names and values without comments, in the order of the file."""
    return [(name, value.partition("#")[0].strip()) for name, value in _ASSIGNMENT.findall(makefile)]


def _run_recipe(makefile: str) -> list[str]:
    recipe = re.search(r"^run[ \t]*:(?!=).*\n((?:\t.*(?:\n|\Z))*)", makefile, re.MULTILINE)
    variables = dict(_assignments(makefile))
    lines = recipe[1].splitlines() if recipe else []
    return [_expanded(line, variables).strip().lstrip("@-").strip() for line in lines]


def _expanded(text: str, variables: Mapping[str, str]) -> str:
    """``$(NAME)`` replaced, a few levels deep; an unknown name is empty, as in make."""
    for _ in range(4):
        text = _REFERENCE.sub(lambda found: variables.get(found[1], "")[:1000], text)[:4000]
    return text


# --- cmake and bare compilers -----------------------------------------------------------------


def _cmake_command(chain: ToolchainName) -> str:
    """CMake wants ``90`` where {arch} is ``sm_90``."""
    language = "CUDA" if chain == "cuda" else "CXX"
    arch = " -DCMAKE_CUDA_ARCHITECTURES=$(echo {arch} | cut -c4-)" if chain == "cuda" else ""
    configure = f"cmake -S . -B build -DCMAKE_BUILD_TYPE=Release{arch} -DCMAKE_{language}_FLAGS='{{flags}}'"
    return f"{configure} && cmake --build build"


def _binary_of_cmake(lists: str) -> str:
    """The first executable, which may be called after the project; empty when its name is computed otherwise."""
    target, project = _CMAKE_TARGET.search(lists), _CMAKE_PROJECT.search(lists)
    name = target[1].replace("${PROJECT_NAME}", project[1] if project else "") if target else ""
    return f"build/{name}" if _inside(name) else ""


def _compiler_line(files: Mapping[str, bytes], chain: ToolchainName, binary: str) -> str:
    sources = [path for path in sorted(files) if path.endswith((".cu", *C_SUFFIXES))]
    _main_source(files)
    folders = [f"-I{name}" for name in INCLUDE_FOLDERS if any(path.startswith(name + "/") for path in files)]
    if chain == "cuda":
        compiler = "nvcc -O3 -arch={arch} {flags}"
    elif all(path.endswith(".c") for path in sources):
        compiler = "gcc -O2 {flags}"
    else:
        compiler = "g++ -O2 {flags}"
    words = [compiler, *folders, "-o", shlex.quote(binary), *map(shlex.quote, sources)]
    return " ".join([*words, "-lm"] if compiler.startswith("gcc") else words)


def _main_source(files: Mapping[str, bytes]) -> str:
    """The source with ``main``, or the first one. Raises UserError when several have it or there is none at all."""
    sources = [path for path in sorted(files) if path.endswith((".cu", *C_SUFFIXES))]
    if not sources:
        raise UserError("There are headers but no source to compile.", "Upload the file with the function main.")
    mains = [path for path in sources if _MAIN.search(_code(files[path]))]
    if len(mains) > 1:
        raise UserError(
            f"More than one file has a function main: {', '.join(mains[:5])}.",
            "Say in optimas.toml which one is meant: [build] command = ... and binary = ...",
        )
    return (mains or sources)[0]


def _output_of(command: str) -> str:
    """The argument of the last ``-o`` that is no object file."""
    outputs = re.findall(r"(?<!\S)-o[ \t]*([\w./-]+)", command)
    return next((_inside(name) for name in reversed(outputs) if not name.endswith(".o")), "")


# --- text -------------------------------------------------------------------------------------


def _readme_lines(files: Mapping[str, bytes]) -> list[str]:
    readmes = [path for path in sorted(files) if re.fullmatch(r"readme(\.\w+)?", path, re.IGNORECASE)]
    text = "\n".join(_text(files[path])[:100_000] for path in readmes)
    return [found.strip() for found in re.findall(r"(?:^[ \t]*(?:\$ )?|`)(\./[^`\n#;&|]+)", text, re.MULTILINE)]


def _inside(name: str) -> str:
    """A relative path without a leading ``./``; empty when it is none."""
    plain = name.strip().removeprefix("./")
    return plain if re.fullmatch(r"[\w+-][\w./+-]*", plain) and ".." not in plain.split("/") else ""


def _code(content: bytes) -> str:
    return _COMMENT.sub(" ", _text(content))


def _text(content: bytes) -> str:
    return content[:LOOKED_AT_BYTES].decode("utf-8", errors="replace").replace("\r\n", "\n")
