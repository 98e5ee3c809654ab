-- How much time do the threads spend in reads, writes, syncs and other calls?
SELECT trace, class, count(*) AS calls, count(error) AS errors, sum(bytes) AS bytes,
       round(sum(duration_nanos) / 1e9, 6) AS seconds,
       round(100.0 * sum(duration_nanos) / sum(sum(duration_nanos)) OVER (PARTITION BY trace), 1) AS percent
FROM events
WHERE ring IS NULL
GROUP BY trace, class
ORDER BY trace, seconds DESC, class;
