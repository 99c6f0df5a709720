"""What one would write by hand: pandas pivots, scikit-learn's K-means makes strata, a tenth of each is drawn.

Run as: python by_hand.py POOL STRATA TO
"""

import sys

import pandas as pd
from sklearn.cluster import KMeans

pool, strata, to = sys.argv[1:]
rows = pd.read_parquet(pool)
matrix = rows.pivot(index=["benchmark", "question_id"], columns="model", values="score")
labels = KMeans(int(strata), random_state=0).fit_predict(matrix.to_numpy())
matrix.groupby(labels).sample(frac=0.1, random_state=0).index.to_frame().to_csv(to, index=False)
