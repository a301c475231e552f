"""A server of a model, from its start to its end."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from types import FrameType

from chromatic._extras import optional
from chromatic.errors import InputError

NEEDED = ("starlette", "uvicorn", "prometheus_client")
MOST_CONNECTIONS = 1000  # at once; others are told to come again
LAST_SECONDS = 30  # for requests under way, when the server is asked to stop
LARGEST_PORT = 65535


def serve(
    model: str,
    learner: str | None,
    address: tuple[str, int],
    bounds: tuple[int, int],
    say: Callable[[str], None],
) -> None:
    """Serve a model until SIGTERM, or Ctrl-C (KeyboardInterrupt); requests under way are answered.

    `bounds` are the most bytes, and the most rows, of a request.
    """
    for package in NEEDED:
        optional(package)
    import uvicorn

    from chromatic.serve.app import Bounds, Service
    from chromatic.serve.models import Models

    models = Models(model, learner)
    with _listening(*address) as listener:
        config = uvicorn.Config(
            Service(models, Bounds(*bounds)).app(),
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=LAST_SECONDS,
        )
        host, port = listener.getsockname()[:2]
        told = f"[{host}]" if ":" in host else host
        say(f"serving {model}, {models.current.n_columns:,} columns, at http://{told}:{port}")
        server, asked = uvicorn.Server(config), list[int]()

        def stop(number: int, frame: FrameType | None) -> None:
            """Let requests under way end; a second Ctrl-C does not wait for them."""
            server.force_exit = bool(asked) and number == signal.SIGINT
            server.should_exit = True
            asked.append(number)

        # uvicorn's own raises the signal again at the end, where tasks that still run would log tracebacks.
        server.handle_exit = stop  # type: ignore[assignment,method-assign]
        server.run(sockets=[listener])
        if signal.SIGINT in asked:
            raise KeyboardInterrupt


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 is any free one."""
    if not 0 <= port <= LARGEST_PORT:
        raise InputError(f"the port is {port}; expected one from 0 (any free one) to {LARGEST_PORT}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        is_name = isinstance(error, socket.gaierror)  # that leads to no address; its numbers are its own
        problem = error.strerror if is_name or error.errno is None else os.strerror(error.errno)
        raise InputError(
            f"{host}, port {port}, cannot be listened on ({problem}); expected an address of this machine "
            "and a free port, such as --port 0"
        ) from error
    # asyncio does not set it for such a socket, and the second part of an answer would wait for 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
