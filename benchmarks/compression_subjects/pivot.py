"""What reading a pool takes at least: DuckDB's own pivot of the file to columns in memory, and nothing else.

Run as: python pivot.py POOL
"""

import sys

import duckdb

PIVOT = "PIVOT read_parquet($pool) ON model USING any_value(score) GROUP BY benchmark, question_id"

columns = duckdb.sql(PIVOT.replace("$pool", "'" + sys.argv[1].replace("'", "''") + "'")).fetchnumpy()
print(len(columns["question_id"]))
