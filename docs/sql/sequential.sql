-- Are files read in sequence? Random reads gain nothing from reading ahead.
WITH reads AS (
  SELECT trace, rank, path, bytes, "offset",
         lag("offset" + bytes) OVER (PARTITION BY trace, rank, process, path ORDER BY start_nanos, thread, "index") AS expected
  FROM events
  WHERE class = 'read' AND "offset" IS NOT NULL AND bytes > 0)
SELECT trace, path, count(*) AS reads, sum(bytes) AS bytes,
       round(100.0 * count(*) FILTER (WHERE "offset" = expected) / count(*), 1) AS sequential_percent
FROM reads
GROUP BY trace, path
ORDER BY reads DESC, trace, path
LIMIT 20;
