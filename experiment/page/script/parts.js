// The calls of a run, cut by thread, file, operation and time, so that any
// selection of these can be added up.

const otherFiles = '(others)';
const noFile = '(no file)';
const otherThreads = -1; // stands for those that are not told apart

const decoded = new WeakMap();

// callsOf returns the parts of a run: {file, thread, operation, class, piece,
// calls, errors, bytes, seconds, first, counts}. counts are the calls by class of their
// durations, from the class first on.
function callsOf(run) {
  if (decoded.has(run)) return decoded.get(run);
  const from = run.parts;
  const before = ['', '', ''];
  const list = (from.records === '' ? [] : from.records.split(',')).map(record => {
    const fields = record.split('.');
    for (let i = 0; i < 3; i++) before[i] = fields[i] || before[i];
    const [file, thread, operation] = before.map(n => n === '-' ? -1 : parseInt(n, 36));
    const [kind, piece, calls, errors, bytes, nanos, first, ...counts] = fields.slice(3).map(n => parseInt(n, 36));
    return {
      file: file < 0 ? noFile : file === 0 ? otherFiles : from.files[file - 1],
      thread: thread === 0 ? otherThreads : from.threads[thread - 1],
      operation: from.operations[operation - 1],
      class: from.classes[kind], piece, calls, errors, bytes, seconds: nanos / 1e9, first, counts: counts.length > 0 ? counts : [calls],
    };
  });
  decoded.set(run, list);
  return list;
}

// piecesOf returns the first piece of time that a selection has, and the one
// behind its last.
function piecesOf(run, now) {
  if (now.from === undefined) return [0, Math.floor(run.run_time_seconds / run.parts.piece_seconds) + 1];
  const piece = run.parts.piece_seconds;
  return [Math.floor(now.from / piece + 1e-6), Math.ceil(now.to / piece - 1e-6)]; // as whole nanoseconds would be
}

// selected returns the parts that a selection has.
function selected(run, now) {
  const [from, to] = piecesOf(run, now);
  return callsOf(run).filter(p =>
    (now.thread === undefined || p.thread === now.thread) && (now.file === undefined || p.file === now.file) &&
    (now.operation === undefined || p.operation === now.operation) && p.piece >= from && p.piece < to);
}

// without returns a selection without some of its parts.
function without(now, ...keys) {
  const out = {...now};
  for (const key of keys) {
    delete out[key];
    if (key === 'from') delete out.to;
  }
  return out;
}

// nothing says whether a selection has no part.
function nothing(now) {
  return Object.keys(now).length === 0;
}

// lacking says why the page can't add up a selection, '' if it can.
function lacking(run, now) {
  const from = run.parts;
  const told = (what, all, few) => `The page tells the calls of ${few} apart, and ${what} is none of these ${all}.`;
  if (now.file !== undefined && now.file !== otherFiles && now.file !== noFile && !from.files.includes(now.file)) {
    return told(now.file, count(from.files.length), 'the busiest files');
  }
  if (now.thread !== undefined && now.thread !== otherThreads && !from.threads.includes(now.thread)) {
    return told('thread ' + now.thread, count(from.threads.length), 'the busiest threads');
  }
  if (now.operation !== undefined && !from.operations.includes(now.operation)) return `This run has no calls of ${now.operation}.`;
  return '';
}

// pieceNote says what a selection of time adds up, '' where there is none.
function pieceNote(run, now) {
  if (now.from === undefined) return '';
  const [from, to] = piecesOf(run, now);
  return `Calls that began from ${seconds(from * run.parts.piece_seconds)} to ${seconds(Math.min(to * run.parts.piece_seconds, run.run_time_seconds))}. `;
}

const usageOf = {
  read: ['reads', 'bytes_read', 'read_seconds'],
  write: ['writes', 'bytes_written', 'write_seconds'],
  sync: [null, null, 'sync_seconds'],
  metadata: [null, null, 'metadata_seconds'],
  'mapped read': ['mapped_reads', 'bytes_mapped_read', 'mapped_read_seconds'],
  'mapped write': ['mapped_writes', 'bytes_mapped_written', 'mapped_write_seconds'],
  communication: ['communication_calls', 'communication_bytes', 'communication_seconds'],
};

// addedUp returns a row for each key of some parts, with the columns of tables
// that follow from parts.
function addedUp(parts, keyOf) {
  const rows = new Map();
  for (const p of parts) {
    const key = keyOf(p);
    let row = rows.get(key);
    if (!row) {
      row = {calls: 0, errors: 0, bytes: 0, seconds: 0, all_seconds: 0};
      for (const keys of Object.values(usageOf)) for (const k of keys) if (k) row[k] = 0;
      rows.set(key, row);
    }
    row.calls += p.calls;
    row.errors += p.errors;
    row.bytes += p.bytes;
    row.all_seconds += p.seconds;
    const [calls, moved, time] = usageOf[p.class] || [];
    if (calls) row[calls] += p.calls;
    if (moved) row[moved] += p.bytes;
    if (time) row[time] += p.seconds;
    if (time && p.class !== 'communication') row.seconds += p.seconds;
  }
  return rows;
}

// addedKeys are the columns that addedUp knows.
const addedKeys = new Set(['calls', 'errors', 'bytes', 'seconds', ...Object.values(usageOf).flat().filter(k => k)]);
