-- Which files take the most time?
SELECT trace, path, calls, reads, writes, bytes_read, bytes_written, round(nanos / 1e9, 6) AS seconds
FROM files
WHERE calls > 0
ORDER BY nanos DESC, trace, path
LIMIT 20;
