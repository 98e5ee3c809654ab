// sql.mjs FILE…: runs SQL files in DuckDB, in the working directory. It prints a line of
// JSON for each: the name of the file, the names of the columns, the rows, and the seconds.
// The package is @duckdb/node-api in $DUCKDB/node_modules (make deps-sql).
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const require = createRequire(`${process.env.DUCKDB}/`);
const { DuckDBInstance } = require('@duckdb/node-api');
const options = process.env.THREADS ? { threads: process.env.THREADS } : {};
const connection = await (await DuckDBInstance.create(':memory:', options)).connect();
for (const file of process.argv.slice(2)) {
  const start = process.hrtime.bigint();
  const result = await connection.runAndReadAll(readFileSync(file, 'utf8'));
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  console.log(JSON.stringify({ file, columns: result.columnNames(), rows: result.getRowsJson(), seconds }));
}
