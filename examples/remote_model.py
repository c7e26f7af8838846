"""Explain a model behind HTTP, over a line that fails now and then.

The server stands for somebody's prediction service: it takes a batch of series as JSON and returns their labels. One
request in ten fails. The explainer sends batches, asks again after a while, and writes every finished instance to a
file: if this script is stopped and started again, it goes on from there.
"""

import json
import random
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np

from ntdcfe import NTDCFE, Features, SearchSettings


class Service(BaseHTTPRequestHandler):
    """POST {"series": (n, steps, features)} -> {"labels": (n,)}; an alarm if the load stays high at the end."""

    unreliable = random.Random(0)
    requests = failures = 0

    def do_POST(self) -> None:
        """Answer a batch, or fail."""
        Service.requests += 1
        series = np.array(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["series"])
        if self.unreliable.random() < 0.1:
            Service.failures += 1
            self.send_error(503, "overloaded")
            return
        alarm = (series[:, -5:, 0].mean(1) > 0.8) & (series[:, -1, 1] > 0)
        body = json.dumps({"labels": np.where(alarm, "alarm", "normal").tolist()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the terminal for the results."""


server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/predict"


def predict(X: np.ndarray) -> list[str]:
    """Labels of series (n, steps, features): one request a batch."""
    request = urllib.request.Request(url, json.dumps({"series": X.tolist()}).encode())
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)["labels"]


X = np.random.default_rng(0).normal(0.3, 0.3, (6, 24, 2))
X[:, -5:, 0] += 1.0  # the load rises
X[:, -1, 1] = 0.5
explainer = NTDCFE(
    predict,
    Features.continuous(2, names=["load", "wind"]),
    settings=SearchSettings(max_rows=2000, batch_rows=80, max_batch_size=256, retries=5, retry_wait=0.05),
)
checkpoint = Path("remote_model.jsonl")
cfs = explainer.explain_batch(X, target="normal", checkpoint=checkpoint, progress=True)

for i, cf in enumerate(cfs):
    print(f"\nSeries {i}: {cf}")
print(f"\nfound {sum(cf.found for cf in cfs)} of {len(cfs)}")
print(f"requests to the service: {Service.requests}, failed and made again: {Service.failures}")
print(f"answers are kept in {checkpoint}")
server.shutdown()
