-- Which files are opened often for little I/O?
SELECT trace, path, opens, reads + writes AS requests, round(1.0 * (reads + writes) / opens, 1) AS requests_per_open,
       round(nanos / 1e9, 6) AS seconds
FROM files
WHERE opens > 1 AND type IS DISTINCT FROM 'dir'
ORDER BY opens DESC, trace, path
LIMIT 20;
