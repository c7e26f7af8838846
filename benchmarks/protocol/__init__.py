"""The experimental protocol of the NTD-CFE paper: data, models, counts and yardsticks.

The paper explains those samples of each train split that a model puts in the undesired
class. How many there are is published, so a set-up can be checked before any figure is
set beside the paper's: :func:`assert_counts` does that, and where it raises the
comparison is void.

Everywhere, series are time-major arrays ``(n, K, D)`` and labels are 1 for the target
class and 0 for the undesired one.

Examples
--------
>>> dataset = load("ERing", data_dir)  # doctest: +SKIP
>>> model = fit_model(dataset, "knn")  # doctest: +SKIP
>>> indices = invalid_samples(dataset, model)  # doctest: +SKIP
>>> assert_counts("ERing", "knn", indices)  # doctest: +SKIP
>>> chosen = evenly_spaced(indices, 5)  # doctest: +SKIP
"""

from protocol.data import LAYOUTS, Dataset, Layout, add_arguments, data_folder, described, load
from protocol.models import Model, RuleModel, fit_model
from protocol.rules import Condition, Rule
from protocol.specs import DATASETS, LAYOUT_NOTES, MODELS, SPECS, DatasetSpec
from protocol.yardsticks import (
    CountMismatchError,
    assert_counts,
    evenly_spaced,
    invalid_samples,
    optimum,
    paper_figures,
    plausibility,
)

__all__ = [
    "DATASETS",
    "LAYOUTS",
    "LAYOUT_NOTES",
    "MODELS",
    "SPECS",
    "Condition",
    "CountMismatchError",
    "Dataset",
    "DatasetSpec",
    "Layout",
    "Model",
    "Rule",
    "RuleModel",
    "add_arguments",
    "assert_counts",
    "data_folder",
    "described",
    "evenly_spaced",
    "fit_model",
    "invalid_samples",
    "load",
    "optimum",
    "paper_figures",
    "plausibility",
]
