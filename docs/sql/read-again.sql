-- Which bytes are read again and again from the same place? They could be kept in memory.
WITH places AS (
  SELECT trace, path, "offset", max(bytes) AS bytes, sum(bytes) AS all_bytes, count(*) AS reads
  FROM events
  WHERE class = 'read' AND "offset" IS NOT NULL AND bytes > 0
  GROUP BY trace, path, "offset")
SELECT trace, path, sum(reads) AS reads, sum(all_bytes) AS bytes_read, sum(all_bytes - bytes) AS bytes_read_again
FROM places
GROUP BY trace, path
HAVING sum(all_bytes - bytes) > 0
ORDER BY bytes_read_again DESC, trace, path
LIMIT 20;
