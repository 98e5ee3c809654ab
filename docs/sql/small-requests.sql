-- Which files are read or written in small pieces? Fewer, larger requests may be faster.
SELECT trace, path, class, count(*) AS calls, sum(bytes) AS bytes, round(avg(bytes)) AS mean_bytes,
       round(sum(duration_nanos) / 1e9, 6) AS seconds
FROM events
WHERE class IN ('read', 'write') AND path IS NOT NULL AND bytes > 0
GROUP BY trace, path, class
HAVING avg(bytes) < 16384
ORDER BY calls DESC, trace, path, class
LIMIT 20;
