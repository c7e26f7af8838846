"""A model that MLflow keeps, explained through `pyfunc`: nothing is known of it but that it takes a table.

Needs mlflow or mlflow-skinny, which bring many packages along: install it into an environment of its own.
"""

from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from ntdcfe import NTDCFE, Category, Continuous, Features

HOMES = ["rent", "mortgage", "own"]
folder = Path("mlflow_model")

# Somebody fits a pipeline and hands it to MLflow.
rng = np.random.default_rng(0)
people = pd.DataFrame(
    {
        "income": rng.normal(45, 15, 600).clip(10, 120).round(),
        "debt": rng.exponential(12, 600).clip(0, 80).round(),
        "home": rng.choice(HOMES, 600),
    }
)
worth = people["income"] / 10 - people["debt"] / 6 + 2 * (people["home"] == "own")
encode = make_column_transformer((OneHotEncoder(), ["home"]), remainder="passthrough")
pipeline = make_pipeline(encode, RandomForestClassifier(30, random_state=0))
pipeline.fit(people, np.where(worth > 3, "grant", "refuse"))
if not folder.exists():
    mlflow.sklearn.save_model(pipeline, folder, serialization_format="cloudpickle")

# Somebody else loads it, whatever it is made of.
loaded = mlflow.pyfunc.load_model(str(folder))


def table(X: np.ndarray) -> pd.DataFrame:
    """The table that the model knows, of rows (n, 3) with a code for the home."""
    return pd.DataFrame({"income": X[:, 0], "debt": X[:, 1], "home": np.array(HOMES)[X[:, 2].astype(int)]})


features = Features(
    [
        Continuous(name="income", bounds=(0, 150), precision=0),
        Continuous(name="debt", bounds=(0, 100), precision=0),
        Category(HOMES, name="home"),
    ]
)
explainer = NTDCFE(lambda X: loaded.predict(table(X)), features)
applicant = np.array([31.0, 20.0, 0.0])
cf = explainer.explain(applicant, target="grant", max_rows=1000)
print(cf)
print(f"\nMLflow's model says of it: {loaded.predict(table(cf.x[None]))[0]}")
