"""The door of the page: without the token, for another host, from another origin, nothing is answered."""

import asyncio
import contextlib
import http.client
import re
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

from ntdcfe import InvalidInputError

pytest.importorskip("bokeh")

from ntdcfe_plugins.app import serve

TOKEN = "a-token-of-the-tests_1"
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("letters")
    (folder / "secret.html").write_text("not a letter of this server")
    page = serve(lambda X: X[:, -1, 0] > 0, np.zeros((2, 6, 1)), token=TOKEN, folder=folder)
    yield page
    page.stop()


def ask(served, path, method="GET", body=None, **headers):
    """Status, headers and text of a request; a header may be left out by None."""
    address = urlsplit(served.url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    sent = {"Host": address.netloc, **{name.replace("_", "-"): value for name, value in headers.items()}}
    if body is not None:
        sent["Content-Length"] = str(len(body))
    for name, value in sent.items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    text = answer.read().decode("utf-8", "replace")
    connection.close()
    return answer.status, answer.headers, text


def test_who_knows_the_token_gets_the_page_and_all_of_it_from_here(served):
    status, headers, text = ask(served, f"/{TOKEN}/")
    assert status == 200
    assert "What would change the decision?" in text
    assert not re.findall(r"(?:src|href)=[\"']?(?:https?:)?//(?!127\.0\.0\.1)", text)
    for script in re.findall(r"src=\"([^\"]*)\"", text):
        assert ask(served, script)[0] == 200
        assert script.startswith(f"/{TOKEN}/static/")
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'self'" in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "path",
    [
        "/", "/favicon.ico", "/ws", "/static/js/bokeh.min.js", "/autoload.js", "/metadata", "//",
        f"/{TOKEN[:-1]}/", f"/{TOKEN}x/", f"/{TOKEN.upper()}/", f"/x/{TOKEN}/", f"/?token={TOKEN}", f"/%2e/{TOKEN}/",
        "/letters/secret.html", "/%C3%A9/",
    ],
)  # fmt: skip
def test_without_the_token_nothing_is_answered(served, path):
    status, _, text = ask(served, path)
    assert status == 403
    assert TOKEN not in text
    assert text.count("\n") == 1


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost", "", None, "127.0.0.1:{port}.evil"]
)
def test_another_host_is_refused(served, host):
    port = urlsplit(served.url).port
    status, _, _ = ask(served, f"/{TOKEN}/", Host=host and host.format(port=port))
    assert status in (400, 403)
    assert ask(served, f"/{TOKEN}/", Host=f"localhost:{port}")[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "file://"])
def test_another_origin_is_refused_also_by_the_websocket(served, origin):
    for path in (f"/{TOKEN}/", f"/{TOKEN}/ws"):
        assert ask(served, path, Origin=origin)[0] == 403


def websocket(served, path, **headers):
    """The status of a websocket's handshake: 101 if it is opened."""
    port = urlsplit(served.url).port
    sent = {
        "Host": f"127.0.0.1:{port}", "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol": "bokeh, x", **headers,
    }  # fmt: skip
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items()), "", ""]
        connection.sendall("\r\n".join(lines).encode())
        return int(connection.recv(4096).split()[1])


def test_the_websocket_opens_for_the_page_only(served):
    port = urlsplit(served.url).port
    ours = f"http://127.0.0.1:{port}"
    assert websocket(served, f"/{TOKEN}/ws", Origin=ours) == 101
    assert websocket(served, "/ws", Origin=ours) == 403
    assert websocket(served, f"/{TOKEN}/ws", Origin="http://evil.example") == 403
    assert websocket(served, f"/{TOKEN}/ws", Origin=ours, Host="evil.example") == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_uploads_are_refused(served, method):
    for path in (f"/{TOKEN}/", f"/{TOKEN}/ws", f"/{TOKEN}/letters/new.html"):
        assert ask(served, path, method, b"x" * 100)[0] == 405
    assert ask(served, "/", method, b"x")[0] == 403


def test_large_uploads_are_not_even_read(served):
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the door is shut while we are still talking
        assert ask(served, f"/{TOKEN}/", "POST", b"x" * 50_000_000)[0] in (400, 405, 413)
    assert ask(served, f"/{TOKEN}/", body=b"x")[0] == 413
    assert ask(served, f"/{TOKEN}/")[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "letters/secret.html", "letters/../secret.html", "letters/%2e%2e%2fsecret.html", "letters//etc/passwd",
        "static/../../../__init__.py", "static/%2e%2e/%2e%2e/core/__init__.py", "static//etc/passwd", "../etc/passwd",
        "static/extensions/../../../../../etc/passwd",
    ],
)  # fmt: skip
def test_a_path_outside_is_refused(served, path):
    assert ask(served, f"/{TOKEN}/{path}")[0] in (403, 404)


def test_it_is_bound_to_this_machine(served):
    assert urlsplit(served.url).hostname == "127.0.0.1"
    port = urlsplit(served.url).port
    for address in {entry[4][0] for entry in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}:
        if not address.startswith("127."):
            with pytest.raises(OSError, match=r"refused|timed out|unreachable"):
                socket.create_connection((address, port), timeout=2)


def test_each_page_has_another_token():
    pages = [serve(lambda X: X[:, 0] > 0, np.zeros((1, 2))) for _ in range(2)]
    try:
        tokens = [urlsplit(page.url).path.strip("/") for page in pages]
        assert tokens[0] != tokens[1]
        assert min(map(len, tokens)) >= 32
        assert ask(pages[0], f"/{tokens[1]}/")[0] == 403
    finally:
        for page in pages:
            page.stop()
    with pytest.raises(ConnectionRefusedError):
        ask(pages[0], f"/{tokens[0]}/")


@pytest.mark.parametrize(
    "token", ["short", "with/slash-and-more-letters", "a b c d e f g h i j k", "ü" * 20, "..............."]
)
def test_a_weak_token_is_refused(token):
    with pytest.raises(InvalidInputError, match="token"):
        serve(lambda X: X[:, 0] > 0, np.zeros((1, 2)), token=token)


def test_the_folder_of_letters_has_to_exist(tmp_path):
    with pytest.raises(InvalidInputError, match="folder"):
        serve(lambda X: X[:, 0] > 0, np.zeros((1, 2)), folder=tmp_path / "nowhere")


def test_a_notebook_may_show_it_in_a_frame_if_that_is_wanted():
    page = serve(lambda X: X[:, 0] > 0, np.zeros((1, 2)), token=TOKEN, notebook=True)
    try:
        _, headers, _ = ask(page, f"/{TOKEN}/")
        assert "frame-ancestors http://localhost:*" in headers["Content-Security-Policy"]
        assert page.url in page._repr_html_()
    finally:
        page.stop()


def test_it_works_beside_a_running_event_loop():
    async def inside():
        page = serve(lambda X: X[:, 0] > 0, np.zeros((1, 2)), token=TOKEN)
        try:
            return await asyncio.to_thread(lambda: ask(page, f"/{TOKEN}/")[0])
        finally:
            page.stop()

    assert asyncio.run(inside()) == 200


@pytest.mark.slow
def test_a_file_is_served_from_the_command_line(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("import numpy as np\nX = np.zeros((2, 5, 1))\nnames = ['p', 'q']\ntitle = 'Mine & yours'\n"
                    "predict = lambda X: X[:, -1, 0] > 0\nassert __name__ != '__main__'\n")  # fmt: skip
    command = [sys.executable, "-m", "ntdcfe_plugins.app", str(file)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    try:
        url = re.search(r"http\S+", process.stdout.readline())[0]

        class Page:
            pass

        page = Page()
        page.url = url
        status, _, text = ask(page, urlsplit(url).path)
        assert status == 200
        assert "Mine &amp; yours" in text
    finally:
        process.terminate()
        process.wait(10)
    wrong = subprocess.run([*command[:-1], str(tmp_path / "none.py")], capture_output=True, text=True, check=False)
    assert "there is no file" in wrong.stderr
