"""Explainers side by side: the same instances, the same counted model, one table.

.. code-block:: python

    comparison = compare(
        {
            "NTD-CFE": lambda predict: NTDCFE(predict, features),
            "CFRL": lambda predict: Flat(fitted_cfrl(predict)),
            "nearest": lambda predict: lambda x: nearest_of_the_target_class(x),
        },
        X, model.predict_proba, target=1, reference=X_train,
    )
    print(comparison.to_markdown())
    comparison.to_html("comparison.html")

**How the model is counted.** An explainer asks the model that it was built with, so it has to be built
with one that counts. Give a *factory*, a class or a function whose first parameter is called ``predict``:
it is called once with a :class:`CountedModel` around `predict` and returns the explainer. The questions that
it asks while it is built or fitted are kept apart from the costs of each explanation. Or make the
:class:`CountedModel` yourself, build the explainers with it, and pass it as `predict`. An explainer
that was built before and does not ask through the counted model still gets its row, with rows and calls unknown
(NaN). An :class:`ntdcfe.NTDCFE` is the exception: the counter is put around its model.
"""

from ntdcfe_plugins.compare.calls import Flat
from ntdcfe_plugins.compare.comparison import COLUMNS, GLOSSARY, Comparison, Cost, Result
from ntdcfe_plugins.compare.counted import CountedModel, TimeLimitError
from ntdcfe_plugins.compare.of_cfts import OfCfts
from ntdcfe_plugins.compare.side_by_side import compare, results

__all__ = [
    "COLUMNS",
    "GLOSSARY",
    "Comparison",
    "Cost",
    "CountedModel",
    "Flat",
    "OfCfts",
    "Result",
    "TimeLimitError",
    "compare",
    "results",
]
