-- Which single calls took longest, and when?
SELECT trace, start_nanos / 1e9 AS start_seconds, thread, op, path, "offset", bytes, round(duration_nanos / 1e9, 6) AS seconds
FROM events
WHERE class IN ('open', 'read', 'write', 'sync', 'metadata') AND duration_nanos IS NOT NULL
ORDER BY duration_nanos DESC, trace, thread, "index"
LIMIT 20;
