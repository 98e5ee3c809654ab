-- What do threads wait for between their calls?
SELECT trace, thread, round(sum(compute_nanos - off_cpu_nanos) / 1e9, 6) AS computing,
       round(sum(wait_nanos) / 1e9, 6) AS waiting, round(sum(timer_nanos) / 1e9, 6) AS sleeping,
       round(sum(storage_nanos) / 1e9, 6) AS storage, round(sum(ready_nanos) / 1e9, 6) AS others_running,
       round(sum(own_nanos) / 1e9, 6) AS own_threads_running
FROM events
GROUP BY trace, thread
ORDER BY sum(off_cpu_nanos) DESC, trace, thread
LIMIT 20;
