"""A torch LSTM explained through alibi's interface: series in, ``Explanation`` out, no fit and no data.

The LSTM tells four motions apart from a smart watch's sensors (BasicMotions, 100 steps x 6 channels).
"""

from pathlib import Path

import matplotlib
import numpy as np
import torch
from sktime.datasets import load_basic_motions

from ntdcfe_plugins.alibi import NTDCFE

matplotlib.use("Agg")  # draws into a file, also where there is no screen
CHANNELS = ["accel x", "accel y", "accel z", "gyro x", "gyro y", "gyro z"]


class Classifier(torch.nn.Module):
    """Logits of series (N, steps, channels)."""

    def __init__(self, n_channels: int, n_classes: int) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(n_channels, 16, batch_first=True)
        self.head = torch.nn.Linear(16, n_classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits from the mean of the hidden states."""
        return self.head(self.lstm(x)[0].mean(1))


def series(split: str) -> tuple[np.ndarray, np.ndarray]:
    """Series (n, steps, channels) and their labels."""
    X, y = load_basic_motions(split=split, return_type="numpy3D")
    return X.transpose(0, 2, 1).astype(np.float32), y


X_train, y_train = series("train")
X_test, y_test = series("test")
MOTIONS, codes = np.unique(y_train, return_inverse=True)

torch.manual_seed(0)
model = Classifier(X_train.shape[2], len(MOTIONS))
optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
for _ in range(60):
    optimiser.zero_grad()
    torch.nn.functional.cross_entropy(model(torch.tensor(X_train)), torch.tensor(codes)).backward()
    optimiser.step()
model.eval()


@torch.no_grad()
def predictor(X: np.ndarray) -> np.ndarray:
    """Probabilities (N, C), as alibi wants them."""
    return model(torch.tensor(X, dtype=torch.float32)).softmax(1).cpu().numpy()


said = MOTIONS[predictor(X_test).argmax(1)]
print(f"accuracy on unseen series: {(said == y_test).mean():.2f}")

# Four series that the model takes for walking: what would make it say standing?
X = X_test[said == "walking"][:4]
wanted = np.array(["standing"])

explainer = NTDCFE(
    predictor,
    classes=MOTIONS,  # labels of the columns; 0, 1, ... without
    feature_names=CHANNELS,
    immutable_features=["gyro x", "gyro y", "gyro z"],  # only the accelerometer may change
    actionable_steps=slice(20, None),  # and not the first 20 steps
    max_rows=4000,
)
explanation = explainer.explain(X, Y_t=wanted, verbose=True)

cf = explanation.cf["X"]
print(f"success: {explanation.success}")
print(f"the model says of them: {explanation.cf['class'].ravel().tolist()}")
print(f"gyroscope untouched: {np.array_equal(cf[..., 3:], X[..., 3:])}")
print(f"first 20 steps untouched: {np.array_equal(cf[:, :20], X[:, :20])}")
print(f"changed cells: {explanation.sparsity} of {X[0].size}, L1 {np.round(explanation.proximity, 1).tolist()}")
print(f"rows sent to the model: {explanation.rows}")
print(f"\n{explanation.text[0]}\n")

explainer.save("explainer")  # alibi's own save and load, the predictor left out
again = NTDCFE.load("explainer", predictor).explain(X, Y_t=wanted)
print(f"the same after loading: {np.array_equal(again.cf['X'], cf)}")

picture = Path("alibi_timeseries.png")
explanation.plot(0, title="What would make a walk a stand?").savefig(picture, dpi=130)
letter = explanation.report("alibi_timeseries.html", 0, model="LSTM of 16 units")
print(f"picture saved to {picture}, a page to hand on to {letter}")
