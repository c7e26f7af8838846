"""Mixed numbers and categories as in alibi's CFRL example on Adult, without its autoencoder, training and data.

The people are made up here: what they earn follows from education, hours, age and occupation.
"""

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from ntdcfe_plugins.alibi import NTDCFE

FEATURES = ["Age", "Education", "Marital Status", "Occupation", "Sex", "Hours per week"]
CATEGORIES = {
    1: ["Dropout", "High school", "Bachelors", "Masters", "Doctorate"],
    2: ["Single", "Married", "Separated"],
    3: ["Service", "Sales", "Clerk", "Technician", "Manager"],
    4: ["Female", "Male"],
}


def people(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, 6), categories as codes, and whether they earn more than 50K."""
    rng = np.random.default_rng(seed)
    codes = {column: rng.integers(len(names), size=n) for column, names in CATEGORIES.items()}
    X = np.column_stack(
        [rng.integers(18, 70, n), codes[1], codes[2], codes[3], codes[4], rng.normal(40, 8, n).round().clip(10, 80)]
    ).astype(float)
    worth = 0.05 * (X[:, 0] - 40) + 0.9 * (X[:, 1] - 2) + 1.2 * (X[:, 3] == 4) + 0.07 * (X[:, 5] - 40)
    return X, (worth + rng.normal(0, 0.5, n) > 1).astype(int)


X_train, y_train = people(4000, seed=0)
X_test, y_test = people(200, seed=1)
model = make_pipeline(
    make_column_transformer((OneHotEncoder(), list(CATEGORIES)), remainder="passthrough"),
    RandomForestClassifier(50, random_state=0),
).fit(X_train, y_train)
print(f"accuracy on unseen people: {model.score(X_test, y_test):.2f}")

explainer = NTDCFE(
    model.predict_proba,
    feature_names=FEATURES,
    category_map=CATEGORIES,
    immutable_features=["Marital Status", "Sex"],
    feature_range={"Age": (18, 70), "Hours per week": (10, 80)},
    directions={"Age": "rise"},
    max_rows=1500,
)
X = X_test[model.predict(X_test) == 0][:5]
explanation = explainer.explain(X, Y_t=np.array([1]), num_samples=3)


def readable(row: np.ndarray) -> str:
    """A row as a person reads it."""
    return ", ".join(
        CATEGORIES[i][int(value)] if i in CATEGORIES else f"{name} {value:.4g}"
        for i, (name, value) in enumerate(zip(FEATURES, row, strict=True))
    )


for i, several in enumerate(explanation.all):
    print(f"\nfrom  {readable(X[i])}")
    for entry in several:
        print(f"  to  {readable(entry['X'][0])}  (distance {entry['distance']:.3g}, p {entry['proba'][0, 1]:.2f})")

cf = explanation.cf["X"]
print(f"\nsuccess: {explanation.success}")
print(f"marital status and sex untouched: {np.array_equal(cf[:, [2, 4]], X[:, [2, 4]])}")
print(f"nobody gets younger: {(cf[:, 0] >= X[:, 0]).all()}")
print(f"codes are codes: {all(np.isin(cf[:, i], range(len(names))).all() for i, names in CATEGORIES.items())}")
print(f"rows and calls: {explanation.rows}, {explanation.calls}")
