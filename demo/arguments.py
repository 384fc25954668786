"""The arguments that both demos take: the port, by itself or as `--port`."""

from __future__ import annotations

import argparse
import errno
import socket

HOST = "127.0.0.1"


def add_port(parser: argparse.ArgumentParser, default: int) -> None:
    parser.add_argument("port", nargs="?", type=int, default=default, help=f"{default} if none is given")
    parser.add_argument("--port", dest="port_option", type=int, metavar="PORT", help="the same")


def free_port(parser: argparse.ArgumentParser, arguments: argparse.Namespace, command: str) -> int:
    """The port that was named. Ends the program with one line if something else listens there."""
    port: int = arguments.port if arguments.port_option is None else arguments.port_option
    try:
        with socket.create_server((HOST, port)):
            return port
    except (OSError, OverflowError) as error:
        other = f"Choose another: make {command} ARGS=8461"
        parser.exit(1, f"Port {port} of {HOST} cannot be used: {_reason(error)}. {other}\n")


def _reason(error: OSError | OverflowError) -> str:
    if isinstance(error, OverflowError):
        return "ports go from 1 to 65535"
    if error.errno == errno.EADDRINUSE:
        return "another program listens there"
    return error.strerror or str(error)
