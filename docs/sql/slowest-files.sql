-- Which files take the most time?
SELECT trace, path, sum(calls) AS calls, sum(reads) AS reads, sum(writes) AS writes,
       sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written, round(sum(nanos) / 1e9, 6) AS seconds
FROM files
WHERE calls > 0
GROUP BY trace, path
ORDER BY sum(nanos) DESC, trace, path
LIMIT 20;
