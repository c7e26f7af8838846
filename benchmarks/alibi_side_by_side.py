"""alibi's CounterfactualRL, trained on the training data, beside ours, which sees none of it.

One dataset, one model, the same instances and targets, and one function that reads both explanations.

    python benchmarks/alibi_side_by_side.py     # writes benchmarks/results/alibi.md, about five minutes
"""

from __future__ import annotations

import time

import numpy as np
import report
import torch
from alibi.api.interfaces import Explanation
from alibi.explainers import CounterfactualRL
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

from ntdcfe import SearchSettings
from ntdcfe_plugins.alibi import NTDCFE

N_INSTANCES = 50
LATENT = 12
AUTOENCODER_EPOCHS = 300
TRAIN_STEPS = 10_000
# Less than this, in standard deviations, is not counted as a change in the second L0.
VISIBLE = 0.05


class Counted:
    """A predictor that counts what it is asked."""

    def __init__(self, predictor) -> None:
        self.predictor, self.rows, self.calls = predictor, 0, 0

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """What the predictor says of X."""
        self.rows += len(X)
        self.calls += 1
        return self.predictor(X)


def autoencoder(X: np.ndarray) -> tuple[torch.nn.Module, torch.nn.Module, float]:
    """Encoder (ending in tanh, as CounterfactualRL needs it) and decoder trained on X, and their mean absolute error."""
    n = X.shape[1]
    encoder = torch.nn.Sequential(torch.nn.Linear(n, 64), torch.nn.ReLU(), torch.nn.Linear(64, LATENT), torch.nn.Tanh())
    decoder = torch.nn.Sequential(torch.nn.Linear(LATENT, 64), torch.nn.ReLU(), torch.nn.Linear(64, n))
    optimiser = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=2e-3)
    data = torch.tensor(X)
    for _ in range(AUTOENCODER_EPOCHS):
        for rows in torch.randperm(len(data)).split(64):
            optimiser.zero_grad()
            torch.nn.functional.mse_loss(decoder(encoder(data[rows])), data[rows]).backward()
            optimiser.step()
    with torch.no_grad():
        error = (decoder(encoder(data)) - data).abs().mean().item()
    return encoder.eval(), decoder.eval(), error


def with_cfrl(
    predictor: Counted, X_train: np.ndarray, X: np.ndarray, Y_t: np.ndarray
) -> tuple[Explanation, float, str]:
    """Explanation, seconds of fitting (autoencoder and agent), and a remark."""
    started = time.process_time()
    encoder, decoder, error = autoencoder(X_train)
    explainer = CounterfactualRL(
        predictor, encoder, decoder, latent_dim=LATENT, coeff_sparsity=0.5, coeff_consistency=0.0,
        backend="pytorch", num_workers=0, batch_size=64, train_steps=TRAIN_STEPS, seed=0,
    )  # fmt: skip
    explainer.fit(X_train)
    fitting = time.process_time() - started
    return explainer.explain(X, Y_t=Y_t), fitting, f"autoencoder's mean absolute error {error:.3f}"


def with_ours(
    predictor: Counted, X_train: np.ndarray, X: np.ndarray, Y_t: np.ndarray
) -> tuple[Explanation, float, str]:
    """Explanation; nothing is fitted, and the training data is not looked at."""
    return NTDCFE(predictor).explain(X, Y_t=Y_t), 0.0, "defaults"


def read(explanation: Explanation, predictor) -> dict[str, float]:
    """What an explanation is worth, asking the predictor itself whether the counterfactuals hold."""
    target = explanation.target.ravel()
    claimed = np.ma.filled(explanation.cf["class"] == explanation.target, False).ravel()
    cf, original = np.asarray(explanation.cf["X"])[claimed], explanation.orig["X"][claimed]
    holds = predictor(cf).argmax(1) == target[claimed]
    change = np.abs(cf - original)[holds]
    return {
        "validity": 100 * holds.sum() / len(target),
        "L1": change.sum(1).mean(),
        "L0": (change > 0).sum(1).mean(),
        "visible": (change > VISIBLE).sum(1).mean(),
    }


def main() -> None:
    """Run both and write the table."""
    args = report.parser(__doc__).parse_args()
    header = report.made(
        f"CounterfactualRL: {LATENT} latent dimensions, {AUTOENCODER_EPOCHS} epochs, {TRAIN_STEPS} steps, seed 0",
        f"NTDCFE: {SearchSettings()!r}",
        packages=("alibi", "scikit-learn"),
    )
    torch.manual_seed(0)
    torch.set_num_threads(1)
    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    scaler = StandardScaler().fit(X_train)
    X_train, X_test = (scaler.transform(part).astype(np.float32) for part in (X_train, X_test))
    model = MLPClassifier((32,), max_iter=500, random_state=0).fit(X_train, y_train)
    some = X_test[:N_INSTANCES]
    Y_t = 1 - model.predict(some)

    number, rows = report.number, []
    for name, method in (("CounterfactualRL", with_cfrl), ("NTDCFE", with_ours)):
        predictor = Counted(model.predict_proba)
        started = time.process_time()
        explanation, fitting, remark = method(predictor, X_train, some, Y_t)
        seconds = time.process_time() - started
        worth = read(explanation, model.predict_proba)
        rows.append(
            [
                name, len(X_train) if fitting else 0, number(worth["validity"], 0), number(worth["L1"], 2),
                number(worth["L0"]), number(worth["visible"]), number(predictor.rows, 0, ","),
                number(predictor.calls, 0, ","), number(fitting), number(seconds - fitting), number(seconds), remark,
            ]
        )  # fmt: skip
        print(rows[-1], flush=True)

    report.write_markdown(
        args.out / "alibi.md",
        header,
        "# Beside alibi's CounterfactualRL",
        f"On one core. Wisconsin breast cancer ({X.shape[1]} features, standardised), a network of 32 hidden units with an "
        f"accuracy of {number(model.score(X_test, y_test), 3)}, the first {N_INSTANCES} test rows, each wanted in the other "
        "class. Both explanations are read by the same function; validity is asked of the model again; L1 and L0 are means "
        "over the counterfactuals that hold; seconds are of the processor.",
        report.table(
            [
                "explainer", "training rows seen", "validity %", "L1", "L0", f"L0 above {VISIBLE}", "rows asked", "calls",
                "s fitting", "s explaining", "s in all", "remark",
            ],
            rows,
        ),
        f"CounterfactualRL: torch backend, an autoencoder of {LATENT} latent dimensions ({AUTOENCODER_EPOCHS} epochs), "
        f"{TRAIN_STEPS:,} training steps, batches of 64, `coeff_sparsity=0.5`, `coeff_consistency=0`, and its defaults "
        "otherwise. Neither was tuned. Once fitted it asks two rows for a new instance, where ours searches anew; its "
        "counterfactuals come out of a decoder, so that every feature differs a little: hence the second L0.",
    )  # fmt: skip


if __name__ == "__main__":
    main()
