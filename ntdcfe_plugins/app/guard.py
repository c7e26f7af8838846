"""The door of the page: who may ask for what. Everything else is refused before it reaches a handler."""

from __future__ import annotations

import hmac
from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

from bokeh.server.tornado import BokehTornado
from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.web import OutputTransform, RequestHandler

# Scripts and styles come from this server; Bokeh writes some of them into the page. Nothing is loaded from elsewhere.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self' {sockets}; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors {framed}"
)


class Guarded(BokehTornado):  # type: ignore[misc]
    """Bokeh's server, which answers only those who know the token.

    The token is the first part of every path, so that no request works without it: neither of the page, nor of its
    scripts, nor of its websocket.

    Parameters
    ----------
    applications : dict
    token : str
    hosts : collection of str
        What the Host header may be, and the host of an Origin header: names with the port.
    framed : bool
        Whether another page of this machine, a notebook, may show it in a frame.
    options
        Further arguments of BokehTornado.
    """

    def __init__(
        self, applications: Any, token: str, hosts: Collection[str], framed: bool = False, **options: Any
    ) -> None:
        self.token = token
        self.hosts = frozenset(hosts)
        sockets = " ".join(sorted(f"ws://{host}" for host in self.hosts))
        ancestors = "http://localhost:* http://127.0.0.1:* vscode-webview:" if framed else "'none'"
        self.policy = POLICY.format(sockets=sockets, framed=ancestors)
        super().__init__(applications, prefix=f"/{token}", extra_websocket_origins=sorted(hosts), **options)
        self.add_transform(_headers(self.policy))

    def find_handler(self, request: HTTPServerRequest, **kwargs: Any) -> Any:
        """The handler of a request, or its refusal."""
        status, why = self.refusal(request)
        if status:
            return self.get_handler_delegate(request, Refused, {"status": status, "why": why})
        return super().find_handler(request, **kwargs)

    def refusal(self, request: HTTPServerRequest) -> tuple[int, str]:
        """Status and reason of a refusal; 0 if the request may pass."""
        if request.headers.get_list("Host") != [request.headers.get("Host", "")] or request.host not in self.hosts:
            return 403, "this host is not served"
        origin = request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc not in self.hosts:
            return 403, "this origin is not served"
        first = request.path.lstrip("/").split("/", 1)[0]
        if not hmac.compare_digest(first.encode("utf-8", "replace"), self.token.encode()):
            return 403, "the token is missing or wrong: open the address that was printed"
        if request.method not in ("GET", "HEAD"):
            return 405, "this server only answers GET"
        if request.headers.get("Content-Length", "0") != "0" or "Transfer-Encoding" in request.headers:
            return 413, "uploads are refused"
        return 0, ""


class Refused(RequestHandler):
    """Says no, and why, in one line of plain text."""

    def initialize(self, status: int, why: str) -> None:
        """Take status and reason."""
        self._refusal = status, why

    def prepare(self) -> None:
        """Answer before any method is looked at."""
        status, why = self._refusal
        self.set_status(status)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(f"{why}\n")

    def check_xsrf_cookie(self) -> None:
        """There is nothing to protect: it is refused anyway."""


def _headers(policy: str) -> type[OutputTransform]:
    """Puts the headers of a careful server on every answer."""
    careful = {
        "Content-Security-Policy": policy,
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Server": "ntdcfe",
    }

    class Careful(OutputTransform):
        def transform_first_chunk(
            self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
        ) -> tuple[int, HTTPHeaders, bytes]:
            for name, value in careful.items():
                headers[name] = value
            return status_code, headers, chunk

    return Careful
