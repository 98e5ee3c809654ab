-- Which thread waits for which other, and for how long?
SELECT trace, thread, after_thread, kind, count(*) AS waits,
       round(sum(blocked_nanos) / 1e9, 6) AS blocked_seconds, round(max(blocked_nanos) / 1e3, 1) AS longest_micros
FROM waits
WHERE after_thread IS NOT NULL
GROUP BY trace, thread, after_thread, kind
ORDER BY blocked_seconds DESC NULLS LAST, waits DESC, trace, thread, after_thread, kind
LIMIT 20;
