-- The tables of a dataset, for DuckDB, in the directory of the dataset:
--   cd dataset && duckdb -init ../docs/sql/views.sql -f ../docs/sql/where-time-goes.sql
-- rank is a number, and trace a text even if it looks like a number or a date.
CREATE OR REPLACE TEMP VIEW events AS SELECT * FROM read_parquet('events/*/*/*.parquet', hive_partitioning = true, hive_types = {'trace': VARCHAR, 'rank': INTEGER});
CREATE OR REPLACE TEMP VIEW waits AS SELECT * FROM read_parquet('waits/*/*/*.parquet', hive_partitioning = true, hive_types = {'trace': VARCHAR, 'rank': INTEGER});
CREATE OR REPLACE TEMP VIEW spans AS SELECT * FROM read_parquet('spans/*/*/*.parquet', hive_partitioning = true, hive_types = {'trace': VARCHAR, 'rank': INTEGER});
CREATE OR REPLACE TEMP VIEW files AS SELECT * FROM read_parquet('files/*/*/*.parquet', hive_partitioning = true, hive_types = {'trace': VARCHAR, 'rank': INTEGER});
CREATE OR REPLACE TEMP VIEW threads AS SELECT * FROM read_parquet('threads/*/*/*.parquet', hive_partitioning = true, hive_types = {'trace': VARCHAR, 'rank': INTEGER});
