-- What became faster or slower between traces of the same program, such as a recording and
-- the log of a replay?
WITH totals AS (
  SELECT trace, op, count(*) AS calls, sum(duration_nanos) / 1e9 AS seconds
  FROM events
  WHERE class IN ('open', 'close', 'read', 'write', 'sync', 'metadata')
  GROUP BY trace, op)
SELECT a.op, a.trace, b.trace AS other, a.calls, b.calls AS other_calls,
       round(a.seconds, 6) AS seconds, round(b.seconds, 6) AS other_seconds, round(b.seconds / nullif(a.seconds, 0), 2) AS ratio
FROM totals a JOIN totals b ON a.op = b.op AND a.trace < b.trace
ORDER BY abs(b.seconds - a.seconds) DESC, a.op, a.trace, b.trace;
