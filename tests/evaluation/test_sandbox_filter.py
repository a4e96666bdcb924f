"""The system call filter, run by a small interpreter of the same language and compared with the system's headers."""

from __future__ import annotations

import errno
import re
import struct
from pathlib import Path

import pytest

from evaluation.sandbox.seccomp import CLONE, CLONE3, MACHINES, REFUSED, SOCKET, filter_bytes

ALLOW, EPERM, ENOSYS, KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS, 0x80000000
ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
COLUMN = {machine: number for number, machine in enumerate(MACHINES)}
FORK_FLAGS, THREAD_FLAGS, NEW_USER, NEW_NET = 0x01200011, 0x003D0F00, 0x10000011, 0x40000011


def verdict(machine: str, number: int, argument: int = 0, *, sockets: bool = False, arch: int | None = None) -> int:
    """What the filter returns for one call: the four instructions it is made of, by the kernel's rules."""
    program = list(struct.iter_unpack("<HBBI", filter_bytes(machine, sockets=sockets)))
    data = struct.pack("<IIQQ", number, ARCH[machine] if arch is None else arch, 0, argument)
    register, place = 0, 0
    while True:
        code, then, otherwise, value = program[place]
        place += 1
        if code == 0x20:
            register = struct.unpack_from("<I", data, value)[0]
        elif code == 0x06:
            return int(value)
        else:
            holds = {0x15: register == value, 0x35: register >= value, 0x45: bool(register & value)}[code]
            place += then if holds else otherwise


@pytest.mark.parametrize("machine", MACHINES)
def test_every_listed_call_is_refused(machine: str) -> None:
    numbers = {name: pair[COLUMN[machine]] for name, pair in REFUSED.items()}
    allowed = [name for name, number in numbers.items() if number is not None and verdict(machine, number) != EPERM]
    assert allowed == []


@pytest.mark.parametrize("machine", MACHINES)
def test_sockets_are_refused_unless_asked_for(machine: str) -> None:
    number = SOCKET[COLUMN[machine]]
    assert verdict(machine, number) == EPERM
    assert verdict(machine, number, sockets=True) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("flags", "expected"),
    [(FORK_FLAGS, ALLOW), (THREAD_FLAGS, ALLOW), (NEW_USER, EPERM), (NEW_NET, EPERM)],
)
def test_processes_and_threads_are_made_but_no_namespaces(machine: str, flags: int, expected: int) -> None:
    assert verdict(machine, CLONE[COLUMN[machine]], flags) == expected
    assert verdict(machine, CLONE3[COLUMN[machine]], flags) == ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_ordinary_calls_pass(machine: str) -> None:
    refused = {pair[COLUMN[machine]] for pair in (*REFUSED.values(), SOCKET, CLONE3)}
    assert {verdict(machine, number) for number in range(450) if number not in refused} == {ALLOW}


def test_a_foreign_calling_convention_ends_the_process() -> None:
    assert verdict("x86_64", 11, arch=0x40000003) == KILL  # 32-bit x86
    assert verdict("x86_64", 0x40000000 + 41) == EPERM  # x32
    assert verdict("aarch64", 11, arch=0x40000028) == KILL  # 32-bit ARM


def test_a_machine_without_a_table_is_refused() -> None:
    with pytest.raises(KeyError):
        filter_bytes("riscv64", sockets=False)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_numbers_are_the_kernels(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip(f"no {HEADERS[machine]} on this host")
    text = HEADERS[machine].read_text()
    kernel = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)\b", text)}
    ours = {**REFUSED, "socket": SOCKET, "clone": CLONE, "clone3": CLONE3}
    numbers = {name: pair[COLUMN[machine]] for name, pair in ours.items() if pair[COLUMN[machine]] is not None}
    assert {name: kernel.get(name) for name in numbers} == numbers
