"""Print mean scores per distortion of a database: python examples/open_a_database.py DB."""

import sys

import embodied_iqa

if len(sys.argv) != 2:
    sys.exit("usage: python examples/open_a_database.py DB")
database = embodied_iqa.open_database(sys.argv[1])
print(f"subjects: {', '.join(database.subjects)}")
means = database.sql(
    "SELECT distortion_id, level, avg(decision_mean) AS mean FROM opinions GROUP BY ALL ORDER BY mean LIMIT 5"
)
for row in means.to_pylist():
    print(f"distortion {row['distortion_id']} level {row['level']}: {row['mean']:.2f} of 5")
