-- Which calls fail, how often, and for which names?
SELECT trace, op, error, count(*) AS calls, count(DISTINCT path) AS paths, min(path) AS for_example,
       round(sum(duration_nanos) / 1e9, 6) AS seconds
FROM events
WHERE error IS NOT NULL
GROUP BY trace, op, error
ORDER BY calls DESC, trace, op, error
LIMIT 20;
