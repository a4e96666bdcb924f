"""What a report says about the session: the tool, the device and the command. Nothing else of it is kept.

The session's messages also hold computer names, network addresses, process names and the environment: those fields
are not read at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from analysis.formats.ncu_rep.wire import Raw, fields, integer, metric_value, part, text
from analysis.types import Device, Value

_COMPUTE_CAPABILITY = (
    "device__attribute_compute_capability_major",
    "device__attribute_compute_capability_minor",
)
_NCU = "Nsight Compute Target"


@dataclass(slots=True)
class Session:
    """``versions``: what provided the data -> its version. ``devices``: device number -> device."""

    versions: dict[str, str] = field(default_factory=dict)
    devices: dict[int, Device] = field(default_factory=dict)
    command: str | None = None

    @property
    def tool(self) -> str:
        version = self.versions.get(_NCU, "").partition(" ")[0]
        return f"Nsight Compute {version}".strip()


def read_session(fragments: Iterable[memoryview]) -> Session:
    """Merge the fragments that are spread over the blocks. Raises Damaged."""
    session = Session()
    for fragment in fragments:
        for number, raw in fields(fragment):
            if number == 6:
                device_id, device = _device(part(raw))
                session.devices[device_id] = device
            elif number == 8:
                provider, version = _texts(part(raw), 1, 2)
                session.versions[provider] = version
            elif number == 9 and session.command is None:
                session.command = " ".join(_texts(part(raw), 1, 3)).strip() or None
            elif number == 11:
                session.command = text(raw).strip() or None
    return session


def _texts(message: memoryview, *numbers: int) -> list[str]:
    found: dict[int, Raw] = {number: raw for number, raw in fields(message) if number in numbers}
    return [text(found[number]) if number in found else "" for number in numbers]


def _device(message: memoryview) -> tuple[int, Device]:
    number_of_device, name = 0, None
    attributes: dict[str, Value] = {}
    for number, raw in fields(message):
        if number == 1:
            number_of_device = integer(raw)
        elif number == 2:
            name = text(raw)
        elif number == 3:
            key, value = _attribute(part(raw))
            attributes[key] = value
    return number_of_device, Device(name, _capability(attributes), attributes)


def _attribute(message: memoryview) -> tuple[str, Value]:
    name, value = "", None
    for number, raw in fields(message):
        if number == 1:
            name = text(raw)
        elif number == 2:
            value = metric_value(part(raw))
    return name, value


def _capability(attributes: dict[str, Value]) -> tuple[int, int] | None:
    major, minor = (attributes.get(name) for name in _COMPUTE_CAPABILITY)
    return (major, minor) if isinstance(major, int) and isinstance(minor, int) else None
