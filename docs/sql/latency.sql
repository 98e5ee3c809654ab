-- How long do calls take: the median, and the slow ones?
SELECT trace, op, count(*) AS calls,
       round(percentile_cont(0.5) WITHIN GROUP (ORDER BY duration_nanos) / 1e3, 1) AS p50_micros,
       round(percentile_cont(0.9) WITHIN GROUP (ORDER BY duration_nanos) / 1e3, 1) AS p90_micros,
       round(percentile_cont(0.99) WITHIN GROUP (ORDER BY duration_nanos) / 1e3, 1) AS p99_micros,
       round(max(duration_nanos) / 1e3, 1) AS max_micros
FROM events
WHERE duration_nanos IS NOT NULL
GROUP BY trace, op
ORDER BY trace, sum(duration_nanos) DESC, op;
