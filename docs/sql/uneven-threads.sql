-- Do some threads or ranks do much more I/O than others?
SELECT trace, rank, thread, calls, bytes_read + bytes_written AS bytes, round(nanos / 1e9, 6) AS seconds,
       round(nanos / nullif(avg(nanos) OVER (PARTITION BY trace), 0), 2) AS of_the_mean
FROM threads
WHERE ring IS NULL AND calls > 0
ORDER BY nanos DESC, trace, rank, thread
LIMIT 20;
