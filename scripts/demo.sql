-- A database of about 100 MB: created, filled, indexed, read, changed and
-- packed again, with the journal and the syncs that sqlite3 does by default.
.output /dev/null
CREATE TABLE event (id INTEGER PRIMARY KEY, who INTEGER, at REAL, what TEXT, data BLOB);
BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150000)
INSERT INTO event SELECT i, i * 7919 % 10007, i / 3.0, 'event number ' || i, zeroblob(500) FROM n;
COMMIT;
CREATE INDEX event_who ON event (who);
CREATE INDEX event_what ON event (what);
SELECT who, count(*), max(at) FROM event GROUP BY who;
UPDATE event SET at = at + 1, data = randomblob(520) WHERE who % 10 = 3;
DELETE FROM event WHERE who % 7 = 5;
-- Single changes, each a transaction of its own with its own syncs.
UPDATE event SET what = 'change 1' WHERE id = 5000;
UPDATE event SET what = 'change 2' WHERE id = 9999;
UPDATE event SET what = 'change 3' WHERE id = 14998;
UPDATE event SET what = 'change 4' WHERE id = 19997;
UPDATE event SET what = 'change 5' WHERE id = 24996;
UPDATE event SET what = 'change 6' WHERE id = 29995;
UPDATE event SET what = 'change 7' WHERE id = 34994;
UPDATE event SET what = 'change 8' WHERE id = 39993;
UPDATE event SET what = 'change 9' WHERE id = 44992;
UPDATE event SET what = 'change 10' WHERE id = 49991;
UPDATE event SET what = 'change 11' WHERE id = 54990;
UPDATE event SET what = 'change 12' WHERE id = 59989;
UPDATE event SET what = 'change 13' WHERE id = 64988;
UPDATE event SET what = 'change 14' WHERE id = 69987;
UPDATE event SET what = 'change 15' WHERE id = 74986;
UPDATE event SET what = 'change 16' WHERE id = 79985;
UPDATE event SET what = 'change 17' WHERE id = 84984;
UPDATE event SET what = 'change 18' WHERE id = 89983;
UPDATE event SET what = 'change 19' WHERE id = 94982;
UPDATE event SET what = 'change 20' WHERE id = 99981;
UPDATE event SET what = 'change 21' WHERE id = 104980;
UPDATE event SET what = 'change 22' WHERE id = 109979;
UPDATE event SET what = 'change 23' WHERE id = 114978;
UPDATE event SET what = 'change 24' WHERE id = 119977;
UPDATE event SET what = 'change 25' WHERE id = 124976;
UPDATE event SET what = 'change 26' WHERE id = 129975;
UPDATE event SET what = 'change 27' WHERE id = 134974;
UPDATE event SET what = 'change 28' WHERE id = 139973;
UPDATE event SET what = 'change 29' WHERE id = 144972;
UPDATE event SET what = 'change 30' WHERE id = 149971;
UPDATE event SET what = 'change 31' WHERE id = 4970;
UPDATE event SET what = 'change 32' WHERE id = 9969;
UPDATE event SET what = 'change 33' WHERE id = 14968;
UPDATE event SET what = 'change 34' WHERE id = 19967;
UPDATE event SET what = 'change 35' WHERE id = 24966;
UPDATE event SET what = 'change 36' WHERE id = 29965;
UPDATE event SET what = 'change 37' WHERE id = 34964;
UPDATE event SET what = 'change 38' WHERE id = 39963;
UPDATE event SET what = 'change 39' WHERE id = 44962;
UPDATE event SET what = 'change 40' WHERE id = 49961;
INSERT INTO event SELECT id + 1000000, who, at, what || ' again', data FROM event WHERE who < 500;
SELECT count(*), sum(length(data)), avg(at) FROM event WHERE what LIKE '%9%';
VACUUM;
PRAGMA integrity_check;
