"""Addresses of model servers: which are taken, and which stay inside the private network."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

from optimas_web.errors import UserError


def checked(address: str) -> str:
    """The address without a slash at its end. Raises UserError when no request may go there."""
    address = address.strip().rstrip("/")
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError as error:
        raise UserError(f"{address} is no address: {error}.") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserError(f"{address} is no address.", "It looks like https://models.example.com/v1.")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UserError("The address holds more than a host and a path.", "A key has a field of its own.")
    if any(each.is_link_local for each in _resolved(parts.hostname)):
        raise UserError(f"{parts.hostname} is where machines keep their own secrets.", "Give another address.")
    return address


def is_local(address: str) -> bool:
    """Whether every address behind the name belongs to this machine or to a private network."""
    found = _resolved(urlsplit(address).hostname or "")
    return bool(found) and all((each.is_loopback or each.is_private) and not each.is_link_local for each in found)


def _resolved(host: str) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
