-- How do throughput and latency change over the run, second by second?
SELECT trace, floor(start_nanos / 1e9) AS second, min(time) AS time,
       sum(bytes) FILTER (WHERE class = 'read') AS bytes_read,
       sum(bytes) FILTER (WHERE class = 'write') AS bytes_written,
       round(max(duration_nanos) FILTER (WHERE class IN ('read', 'write', 'sync')) / 1e3, 1) AS slowest_micros
FROM events
GROUP BY trace, second
ORDER BY trace, second;
