"""Our Adam takes the steps of torch's, without what torch loads for its own."""

import subprocess
import sys

import pytest
import torch
from torch import nn

from ntdcfe.search.adam import Adam


@pytest.mark.parametrize("weight_decay", [0.0, 0.01])
def test_it_moves_parameters_as_torchs_own_does_bit_for_bit(weight_decay):
    ours, theirs = nn.Linear(5, 7), nn.Linear(5, 7)
    theirs.load_state_dict(ours.state_dict())
    adam = Adam([(ours.weight, 0.03), (ours.bias, 0.003)], weight_decay)
    groups = [{"params": [theirs.weight]}, {"params": [theirs.bias], "lr": 0.003}]
    torchs = torch.optim.Adam(groups, lr=0.03, weight_decay=weight_decay)
    for step in range(20):
        x = torch.randn(4, 5)
        for optimizer, layer in ((adam, ours), (torchs, theirs)):
            optimizer.zero_grad()
            layer(x).square().mean().backward()
            if step % 3 == 1:
                layer.bias.grad = None  # what has no gradient stays, and its averages with it
            optimizer.step()
    assert all(torch.equal(*pair) for pair in zip(ours.parameters(), theirs.parameters(), strict=True))


@pytest.mark.parametrize("settings", ["SearchSettings()", "PAPER"])
def test_a_search_does_not_wait_for_torchs_compiler_to_load(settings):
    code = (
        "import sys, numpy as np\n"
        "from ntdcfe import NTDCFE, PAPER, SearchSettings\n"
        f"explainer = NTDCFE(lambda X: (X[:, -3:, 0].min(1) > 0).astype(int), settings={settings})\n"
        "cf = explainer.explain(np.full((8, 2), -0.5), 1, max_rows=300)\n"
        "assert cf.rows > 1 and 'torch' in sys.modules and 'torch._dynamo' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
