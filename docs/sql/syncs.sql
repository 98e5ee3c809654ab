-- Which files are synced, how often, and how many bytes are written before each sync?
SELECT trace, path, count(*) FILTER (WHERE class = 'sync') AS syncs,
       round(sum(duration_nanos) FILTER (WHERE class = 'sync') / 1e9, 6) AS sync_seconds,
       round(max(duration_nanos) FILTER (WHERE class = 'sync') / 1e3, 1) AS slowest_micros,
       round(1.0 * sum(bytes) FILTER (WHERE class = 'write') / count(*) FILTER (WHERE class = 'sync')) AS bytes_per_sync
FROM events
WHERE class IN ('write', 'sync') AND path IS NOT NULL
GROUP BY trace, path
HAVING count(*) FILTER (WHERE class = 'sync') > 0
ORDER BY sync_seconds DESC, trace, path
LIMIT 20;
