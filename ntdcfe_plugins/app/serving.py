"""Serve the page: on this machine only, behind a token."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import secrets
import threading
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ntdcfe import NTDCFE, InvalidInputError
from ntdcfe_plugins._shared.errors import extra
from ntdcfe_plugins.app.model import Subject

if TYPE_CHECKING:
    from bokeh.server.server import BaseServer

# A message of the page is a few numbers, and the points of one feature.
MOST_BYTES = 4_000_000
LOOPBACK = "127.0.0.1"


class Served:
    """A page that is being served, by a thread of its own.

    Attributes
    ----------
    url : str
        The address with the token: whoever knows it may ask the model.
    """

    def __init__(self, subject: Subject, folder: Path, port: int, token: str, framed: bool, title: str) -> None:
        self._stopped = threading.Event()
        self._failure: BaseException | None = None
        self._server: BaseServer | None = None
        ready = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(subject, folder, port, token, framed, title, ready), daemon=True
        )
        self._thread.start()
        ready.wait()
        if self._failure is not None:
            raise self._failure

    def _run(
        self, subject: Subject, folder: Path, port: int, token: str, framed: bool, title: str, ready: threading.Event
    ) -> None:
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        try:
            self._server, self.url = _server(subject, folder, port, token, framed, title)
            self._server.start()
        except BaseException as failure:
            self._failure = failure
            return
        finally:
            ready.set()
        self._loop = self._server.io_loop
        self._loop.start()
        self._stopped.set()
        loop.close()

    def wait(self) -> None:
        """Serve until Ctrl-C."""
        try:
            while not self._stopped.wait(0.5):
                pass
        except KeyboardInterrupt:
            self.stop()

    def stop(self) -> None:
        """End it."""
        if self._server is not None and not self._stopped.is_set():
            self._loop.add_callback(self._end)
            self._stopped.wait(5)

    def _end(self) -> None:
        assert self._server is not None
        self._server.unlisten()
        self._server.stop(wait=False)
        self._loop.stop()

    def _repr_html_(self) -> str:
        """What a notebook shows: the page in a frame."""
        style = "width:100%;height:900px;border:0"
        return f"<iframe src='{self.url}' title='ask the model again' style='{style}'></iframe>"


def serve(
    explainer: NTDCFE | Callable[..., Any],
    X: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    port: int = 0,
    token: str | None = None,
    folder: str | os.PathLike[str] = ".",
    title: str = "What would change the decision?",
    show: bool = False,
    wait: bool = False,
    notebook: bool = False,
) -> Served:
    """Serve a page on which a person asks what would change a model's decision, and asks again with other rules.

    It is bound to this machine (127.0.0.1). Every request needs the token, which is part of the address.

    Parameters
    ----------
    explainer : NTDCFE or callable
        The explainer, with its features and constraints; or the model's ``predict`` alone.
    X : array (N, K, D), or (N, D) for rows of a table
        The series to pick from.
    names : sequence of str, optional
        Their names.
    port : int
        0 for any that is free.
    token : str, optional
        A new random one if not given; at least 16 letters, digits, ``-`` or ``_``.
    folder : path
        Where letters are saved.
    title : str
    show : bool
        Whether to open a browser.
    wait : bool
        Whether to serve until Ctrl-C; else it returns at once and goes on in a thread.
    notebook : bool
        Whether a notebook of this machine may show it in a frame; the result shows itself there.

    Returns
    -------
    Served
        With its ``url``, and ``stop()``.

    Examples
    --------
    >>> import numpy as np
    >>> from ntdcfe_plugins.app import serve
    >>> page = serve(lambda X: X[:, -1, 0] > 0, np.zeros((3, 20, 2)))  # doctest: +SKIP
    >>> page.url  # doctest: +SKIP
    'http://127.0.0.1:40163/4m1hXq.../'
    """
    with extra("app", "bokeh"):
        import bokeh.server  # noqa: F401
    token = secrets.token_urlsafe(24) if token is None else token
    if len(token) < 16 or not token.replace("-", "").replace("_", "").isalnum() or not token.isascii():
        raise InvalidInputError("token must have at least 16 letters, digits, '-' or '_'.")
    target = Path(folder)
    if not target.is_dir():
        raise InvalidInputError(f"folder must be one that exists, got {str(folder)!r}.")
    subject = Subject(explainer, X, names)
    threading.Thread(target=_warm).start()  # no daemon: torch aborts a program that ends while it is being loaded
    served = Served(subject, target.resolve(), port, token, notebook, title)
    if show:
        webbrowser.open(served.url)
    if wait:
        print(f"The page is at {served.url}\nWhoever knows this address may ask the model. Ctrl-C ends it.", flush=True)
        served.wait()
    return served


def _server(subject: Subject, folder: Path, port: int, token: str, framed: bool, title: str) -> tuple[BaseServer, str]:
    from bokeh.application import Application
    from bokeh.application.handlers import FunctionHandler
    from bokeh.server.server import BaseServer
    from tornado.httpserver import HTTPServer
    from tornado.ioloop import IOLoop
    from tornado.netutil import bind_sockets

    from ntdcfe_plugins.app.guard import Guarded
    from ntdcfe_plugins.app.letters import Letters, ReadLetter
    from ntdcfe_plugins.app.page import Page

    assert ipaddress.ip_address(LOOPBACK).is_loopback
    letters = Letters(folder)
    application = Application(FunctionHandler(lambda document: Page(document, subject, letters, title).add()))
    sockets = bind_sockets(port, LOOPBACK)
    bound = sockets[0].getsockname()[1]
    hosts = [f"{LOOPBACK}:{bound}", f"localhost:{bound}"]
    tornado = Guarded(
        {"/": application},
        token,
        hosts,
        framed,
        extra_patterns=[(r"/letters/([^/]*)", ReadLetter, {"letters": letters})],
        websocket_max_message_size_bytes=MOST_BYTES,
        unused_session_lifetime_milliseconds=5_000,
        check_unused_sessions_milliseconds=1_000,
        include_headers=[],
        include_cookies=[],
    )
    http = HTTPServer(tornado, max_body_size=1024, max_buffer_size=8 * MOST_BYTES)
    http.add_sockets(sockets)
    return BaseServer(IOLoop.current(), tornado, http), f"http://{hosts[0]}/{token}/"


def _warm() -> None:
    """Load what the first search would wait for, by a small search of a made-up model."""
    NTDCFE(lambda X: X[:, -1, 0] > 0).explain(np.full((8, 2), -0.5), True, max_rows=600)
