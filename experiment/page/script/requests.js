// What a server did for clients that were not recorded.

const requestColumns = [
  {key: 'name', label: 'operations', kind: 'words'}, {key: 'requests', label: 'requests', kind: 'number'}, {key: 'seconds', label: 'time', kind: 'seconds'},
  {key: 'p50_seconds', label: 'p50', kind: 'seconds'}, {key: 'p90_seconds', label: 'p90', kind: 'seconds', extra: true}, {key: 'p99_seconds', label: 'p99', kind: 'seconds'},
  {key: 'p999_seconds', label: 'p99.9', kind: 'seconds', extra: true}, {key: 'max_seconds', label: 'max', kind: 'seconds'},
  ...['read', 'write', 'sync', 'metadata', 'wait', 'ready', 'timer', 'storage', 'other', 'compute'].map(part => ({key: part + '_seconds', label: part, kind: 'seconds', extra: part !== 'sync' && part !== 'wait'})),
  {key: 'bytes', label: 'bytes', kind: 'bytes', extra: true}, {key: 'reply_bytes', label: 'replied', kind: 'bytes', extra: true},
];

// requestTable shows the kinds of requests of a run.
function requestTable(run) {
  const {requests, per_second: each, clients, kinds: rows} = run.requests;
  const note = `${count(requests)} ${requests === 1 ? 'request' : 'requests'} of ${count(clients)} ${clients === 1 ? 'client' : 'clients'}, ${amount(each)} a second. Requests with the same operations on files are of one kind.`;
  return newTable({
    id: 'request', title: 'Requests of clients', all: rows.length, by: 'requests', note,
    choose: now => nothing(now) ? null : {rows, columns: requestColumns, note: wholeOnly},
  }, requestColumns, rows);
}
