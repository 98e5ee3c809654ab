-- Which calls of libraries cause the I/O, and how much of their time is it?
SELECT s.trace, s.layer, s.function, count(DISTINCT (s.rank, s.thread, s.start_nanos, s."index")) AS calls, count(e.op) AS events,
       sum(e.bytes) AS bytes, round(sum(e.duration_nanos) / 1e9, 6) AS io_seconds
FROM spans s LEFT JOIN events e
  ON e.trace = s.trace AND e.rank = s.rank AND e.thread = s.thread AND e."index" < s."index"
 AND e.start_nanos >= s.start_nanos AND e.start_nanos < s.start_nanos + s.duration_nanos
GROUP BY s.trace, s.layer, s.function
ORDER BY io_seconds DESC NULLS LAST, calls DESC, s.trace, s.layer, s.function
LIMIT 20;
