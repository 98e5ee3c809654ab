-- Which files are opened often for little I/O?
SELECT trace, path, sum(opens) AS opens, sum(reads + writes) AS requests,
       round(1.0 * sum(reads + writes) / sum(opens), 1) AS requests_per_open, round(sum(nanos) / 1e9, 6) AS seconds
FROM files
WHERE opens > 0 AND type IS DISTINCT FROM 'dir'
GROUP BY trace, path
HAVING sum(opens) > 1
ORDER BY opens DESC, trace, path
LIMIT 20;
