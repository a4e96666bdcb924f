"""The system calls that a sandboxed program may not make, as a classic BPF program.

Only bytes are made here; bubblewrap loads them (``--seccomp FD``). The list names what reaches around the sandbox:
other processes' memory, kernel modules, mounts and namespaces, kernel facilities with a long record of holes
(bpf, io_uring, userfaultfd), clocks and keys. Everything else is allowed, because compilers and valgrind need much.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Mapping
from dataclasses import dataclass

# name: (number on x86-64, number on arm64 = the generic table); None where the call does not exist.
REFUSED: Mapping[str, tuple[int | None, int | None]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}
SOCKET = (41, 198)
CLONE = (56, 220)
CLONE3 = (435, 435)

MACHINES = ("x86_64", "aarch64")
_AUDIT_ARCH = (0xC000003E, 0xC00000B7)
_X32_CALLS = 0x40000000  # x86-64 kernels answer the x32 table from this number on: the same calls by another door
_NEW_NAMESPACES = 0x7E020000  # CLONE_NEWNS | NEWCGROUP | NEWUTS | NEWIPC | NEWUSER | NEWPID | NEWNET

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data, little endian
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000


@dataclass(frozen=True, slots=True)
class _Step:
    """One instruction. ``then`` and ``otherwise`` name labels; empty goes on with the next instruction."""

    code: int
    value: int
    then: str = ""
    otherwise: str = ""
    label: str = ""


def filter_bytes(machine: str, *, sockets: bool) -> bytes:
    """The filter for ``machine`` (as ``platform.machine()`` says it). ``sockets``: whether socket(2) is allowed.

    A refused call fails with EPERM; clone3 with ENOSYS, because its flags lie in memory that a filter cannot read
    and every C library then falls back to clone. A call in a foreign calling convention ends the process.
    Raises KeyError for a machine that is not in ``MACHINES``.
    """
    if machine not in MACHINES:
        raise KeyError(machine)
    return _assemble(_program(MACHINES.index(machine), sockets))


def _program(column: int, sockets: bool) -> list[_Step]:
    refused = [numbers[column] for numbers in REFUSED.values()] + ([] if sockets else [SOCKET[column]])
    return [
        _Step(_LOAD, _ARCH),
        _Step(_EQUAL, _AUDIT_ARCH[column], otherwise="kill"),
        _Step(_LOAD, _NUMBER),
        _Step(_AT_LEAST, _X32_CALLS, then="refuse"),
        *(_Step(_EQUAL, number, then="refuse") for number in refused if number is not None),
        _Step(_EQUAL, CLONE3[column], then="absent"),
        _Step(_EQUAL, CLONE[column], otherwise="allow"),
        _Step(_LOAD, _FIRST_ARGUMENT),
        _Step(_ANY_BIT, _NEW_NAMESPACES, then="refuse"),
        _Step(_RETURN, _ALLOW, label="allow"),
        _Step(_RETURN, _ERRNO | errno.EPERM, label="refuse"),
        _Step(_RETURN, _ERRNO | errno.ENOSYS, label="absent"),
        _Step(_RETURN, _KILL, label="kill"),
    ]


def _assemble(steps: list[_Step]) -> bytes:
    """struct sock_filter {u16 code; u8 jump_true; u8 jump_false; u32 k}: jumps count from the next instruction."""
    places = {step.label: index for index, step in enumerate(steps) if step.label}

    def jump(label: str, index: int) -> int:
        return places[label] - index - 1 if label else 0

    return b"".join(
        struct.pack("<HBBI", step.code, jump(step.then, index), jump(step.otherwise, index), step.value)
        for index, step in enumerate(steps)
    )
