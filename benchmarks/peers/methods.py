"""The peers: how each is built for a case, with its own defaults unless its line says otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from cases import Case
from engine import NEAREST

from ntdcfe import NTDCFE, SearchSettings
from ntdcfe_plugins.compare import CountedModel, Flat

SEED = 0


@dataclass(frozen=True)
class Method:
    """One system.

    Parameters
    ----------
    build : callable
        ``(case, predict, max_seconds) -> explainer``.
    data : {"no", "ranges", "yes"}
        Whether it needs training data.
    system : str
        Where the code is from.
    packages : tuple of str
        Whose versions decide its answers, beside numpy and torch.
    series_only : bool
        Whether static rows are nothing for it.
    settings : SearchSettings, optional
        Of our own search.
    remark : str
        Where it is not run with its own defaults: what a reader has to know.
    """

    build: Callable[[Case, CountedModel, float], Any]
    data: Literal["no", "ranges", "yes"]
    system: str
    packages: tuple[str, ...] = ()
    series_only: bool = False
    settings: SearchSettings | None = None
    remark: str = ""


def simplest(case: Case, predict: CountedModel, max_seconds: float) -> Any:
    """What the default search says: the simplest answer, labels only."""
    return NTDCFE(predict.predict, case.features, seed=SEED)


def ours(case: Case, predict: CountedModel, max_seconds: float) -> Any:
    """The nearest answer, labels only."""
    return NTDCFE(predict.predict, case.features, settings=NEAREST, seed=SEED)


def ours_with_probabilities(case: Case, predict: CountedModel, max_seconds: float) -> Any:
    """The nearest answer, with probabilities."""
    return NTDCFE(predict, case.features, settings=NEAREST, seed=SEED)


def _tscf(name: str) -> Callable[[Case, CountedModel, float], Any]:
    def build(case: Case, predict: CountedModel, max_seconds: float) -> Any:
        from tscf_eval import counterfactuals

        return getattr(counterfactuals, name)(
            model=predict.channels_first, data=(case.X.transpose(0, 2, 1), case.labels), random_state=SEED
        )

    return build


def cfwot(case: Case, predict: CountedModel, max_seconds: float) -> Any:
    """The other implementation of the paper: the paper's hyperparameters are its defaults."""
    import torch
    from cfts.cf_cfwot.cfwot import cfwot as search

    def model(rows: Any) -> Any:
        return torch.as_tensor(predict.channels_first.predict_proba(rows.numpy()))

    def static_model(rows: Any) -> Any:
        return torch.as_tensor(predict.predict_proba(rows.numpy()))

    options: dict[str, Any] = {}
    if case.discrete:
        options = {"D_dis": list(case.discrete), "N_dis": {i: len(v) for i, v in case.discrete.items()}}

    def explain(x: Any) -> Any:
        if case.static:  # one step of D features; a bare row would be read as D steps of one
            return search(x[None], static_model, target_class=case.target, **options)[0]
        return search(x, model, target_class=case.target, **options)[0]

    return explain


def cfnow(case: Case, predict: CountedModel, max_seconds: float) -> Any:
    """Flat rows; no targets but "another class", which is the same for two classes."""
    import pandas as pd
    from cfnow import find_tabular

    columns = [f"c{i}" for i in range(case.X[0].size)]
    kinds = {c: "num" for c in columns}

    def explain(x: Any) -> Any:
        found = find_tabular(
            pd.Series(x.ravel(), index=columns), lambda rows: predict.predict_proba(rows)[:, 1:], feat_types=kinds,
            limit_seconds=int(max_seconds / 2),
        )  # fmt: skip
        return np.asarray(found.cfs[0], dtype=float) if len(found.cfs) else None

    return explain


def cfrl(case: Case, predict: CountedModel, max_seconds: float) -> Any:
    """alibi's, with an autoencoder trained on the training data; 1,000 training steps in place of 100,000."""
    import torch
    from alibi.explainers import CounterfactualRL

    torch.manual_seed(SEED)
    flat = case.X.reshape(len(case.X), -1).astype(np.float32)
    cells, latent = flat.shape[1], 32
    encoder = torch.nn.Sequential(
        torch.nn.Linear(cells, 128), torch.nn.ReLU(), torch.nn.Linear(128, latent), torch.nn.Tanh()
    )
    decoder = torch.nn.Sequential(torch.nn.Linear(latent, 128), torch.nn.ReLU(), torch.nn.Linear(128, cells))
    optimiser = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)
    rows = torch.tensor(flat)
    for _ in range(500):
        optimiser.zero_grad()
        loss = (decoder(encoder(rows)) - rows).pow(2).mean()
        loss.backward()
        optimiser.step()
    explainer = CounterfactualRL(
        predict.predict_proba, encoder, decoder, latent_dim=latent, coeff_sparsity=0.5, coeff_consistency=0.0,
        backend="pytorch", num_workers=0, batch_size=min(64, len(flat)), train_steps=1000, seed=SEED,
    )  # fmt: skip
    return Flat(_Float32(explainer.fit(flat)))


class _Float32:
    """CFRL's networks take single precision only."""

    meta: Any = None

    def __init__(self, explainer: Any) -> None:
        self.explainer = explainer

    def explain(self, X: Any, Y_t: Any) -> Any:
        """As alibi's."""
        return self.explainer.explain(X.astype(np.float32), Y_t=Y_t)


def _dice(method: str) -> Callable[[Case, CountedModel, float], Any]:
    def build(case: Case, predict: CountedModel, max_seconds: float) -> Any:
        import dice_ml
        import pandas as pd

        flat = case.X.reshape(len(case.X), -1)
        columns = [f"c{i}" for i in range(flat.shape[1])]
        listed = [c for i, c in enumerate(columns) if i % case.X.shape[-1] in case.discrete]
        frame = pd.DataFrame(flat, columns=columns)
        frame[listed] = frame[listed].map(lambda value: f"{value:g}")
        data = dice_ml.Data(
            dataframe=frame.assign(y=case.y), continuous_features=[c for c in columns if c not in listed],
            outcome_name="y",
        )  # fmt: skip
        return _BinarySearch(dice_ml.Dice(data, dice_ml.Model(model=predict, backend="sklearn"), method=method))

    return build


class _BinarySearch:
    """DiCE with its quicker way to make answers sparse: the default, linear, takes minutes for hundreds of columns."""

    def __init__(self, explainer: Any) -> None:
        self.explainer, self.data_interface = explainer, explainer.data_interface

    def generate_counterfactuals(self, *args: Any, **options: Any) -> Any:
        """As DiCE's."""
        return self.explainer.generate_counterfactuals(*args, posthoc_sparsity_algorithm="binary", **options)


def fastar(case: Case, predict: CountedModel, max_seconds: float) -> Any:
    """Our own small baseline after the paper of FastAR."""
    from fastar import FastAR

    return Flat(FastAR(predict.predict_proba, case.X.reshape(len(case.X), -1), SEED, case.target))


SHORT = "CFRL is trained for 1,000 steps; its default is 100,000."
OWN, TSCF, DICE = ("ntdcfe-plugins",), ("tscf-eval", "aeon"), ("dice-ml",)
METHODS: dict[str, Method] = {
    "NTD-CFE (simplest)": Method(simplest, "no", "this project, labels only", OWN, settings=SearchSettings()),
    "NTD-CFE": Method(ours, "no", "this project, labels only", OWN, settings=NEAREST),
    "NTD-CFE (prob.)": Method(ours_with_probabilities, "no", "this project, with probabilities", OWN, settings=NEAREST),
    "CFWoT": Method(cfwot, "no", "counterfactuals-for-time-series 0.1.7", ("counterfactuals-for-time-series",)),
    "CFNOW": Method(cfnow, "no", "cfnow 0.0.6", ("cfnow",)),
    "DiCE random": Method(_dice("random"), "ranges", "dice-ml 0.12", DICE),
    "CoMTE": Method(_tscf("COMTE"), "yes", "tscf-eval 1.2.0", TSCF, series_only=True),
    "Native-Guide": Method(_tscf("NativeGuide"), "yes", "tscf-eval 1.2.0", TSCF, series_only=True),
    "TSEvo": Method(_tscf("TSEvo"), "yes", "tscf-eval 1.2.0", TSCF, series_only=True),
    "CFRL": Method(cfrl, "yes", "alibi 0.9.6", ("alibi",), remark=SHORT),
    "FastAR": Method(fastar, "yes", "our reading of its paper and its public code"),
    "DiCE genetic": Method(_dice("genetic"), "yes", "dice-ml 0.12", DICE),
    "DiCE kdtree": Method(_dice("kdtree"), "yes", "dice-ml 0.12", DICE),
}
