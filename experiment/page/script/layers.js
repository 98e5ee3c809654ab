// The libraries whose calls were recorded, and their functions.

// spentParts are what a function's own time consists of: the column, what it is called,
// and its colour. What is left of system_seconds is other calls.
const spentParts = [
  ['read_seconds', 'read', 'read'], ['write_seconds', 'write', 'write'], ['sync_seconds', 'sync', 'sync'], ['metadata_seconds', 'metadata', 'metadata'],
  ['mapped_read_seconds', 'mapped read', 'mapped-read'], ['mapped_write_seconds', 'mapped write', 'mapped-write'],
  ['communication_seconds', 'communication', 'communication'], ['other_seconds', 'other calls', 'other'],
  ['waiting_seconds', 'waiting', 'waiting'], ['ready_seconds', 'ready', 'ready'], ['compute_seconds', 'own compute', 'compute'],
];

// partsOfSpent returns what a row's own time was spent with: {label, name, seconds}.
function partsOfSpent(row) {
  const inCalls = sum(spentParts.slice(0, 7), ([key]) => row[key]);
  const of = {...row, other_seconds: Math.max(row.system_seconds - inCalls, 0)};
  return spentParts.map(([key, label, name]) => ({label, name, seconds: of[key]})).filter(p => p.seconds > 0);
}

// callList says which calls were caused, the first few operations.
function callList(list, some) {
  const words = list.slice(0, some).map(c => `${count(c.calls)} ${c.name}`);
  if (list.length > some) words.push(`${list.length - some} more`);
  return words.length > 0 ? words.join(', ') : 'none';
}

// spentBar draws the parts of a row's own time, as long as its part of the most.
function spentBar(row, most) {
  const bar = stackBar(partsOfSpent(row));
  bar.style.width = 100 * row.self_seconds / Math.max(most, 1e-9) + '%';
  return bar;
}

// layersFigure shows what the time of each layer consists of, and of the functions that
// took the most time themselves.
function layersFigure(run) {
  const title = 'Libraries';
  const layers = run.layers;
  const box = element('div', {}, element('h2', {}, title), element('p', {class: 'note'},
    'Calls of libraries that were recorded. A system call counts for the innermost function of a library that was under way. A function’s time here is without that of inner functions of its library.'));
  for (const layer of layers) {
    const functions = run.spans.filter(f => f.name.startsWith(layer.name + ':') && f.self_seconds > 0).sort((a, b) => b.self_seconds - a.self_seconds).slice(0, 8);
    const most = functions[0]?.self_seconds;
    box.append(element('h3', {}, `${layer.name}: ${seconds(layer.seconds)} in ${count(layer.calls)} calls, which caused ${count(layer.system_calls)} system calls`),
      ...stack(partsOfSpent(layer)),
      element('ul', {class: 'spent'}, ...functions.map(f => element('li', {},
        element('span', {class: 'what'}, f.name.slice(layer.name.length + 1)), spentBar(f, most), element('span', {class: 'value'}, seconds(f.self_seconds)),
        element('span', {class: 'small'}, callList(f.caused, 3))))));
  }
  return box;
}

const functionColumns = [
  {key: 'name', label: 'function', kind: 'words'}, {key: 'kind', label: 'for', kind: 'words', extra: true},
  {key: 'calls', label: 'calls', kind: 'number'}, {key: 'failed', label: 'failed', kind: 'number', extra: true},
  {key: 'seconds', label: 'time', kind: 'seconds'}, {key: 'self_seconds', label: 'own time', kind: 'seconds'},
  {key: 'system_seconds', label: 'in calls', kind: 'seconds'}, {key: 'waiting_seconds', label: 'waiting', kind: 'seconds'},
  {key: 'ready_seconds', label: 'ready', kind: 'seconds', extra: true}, {key: 'compute_seconds', label: 'compute', kind: 'seconds'},
  {key: 'bytes_asked', label: 'asked for', kind: 'bytes'}, {key: 'bytes_read', label: 'read', kind: 'bytes'}, {key: 'bytes_written', label: 'written', kind: 'bytes'},
  {key: 'system_calls', label: 'system calls', kind: 'number', extra: true}, {key: 'caused', label: 'caused', kind: 'calls'},
  ...spentParts.slice(0, 7).map(([key, label]) => ({key, label, kind: 'seconds', extra: true})),
  {key: 'p50_seconds', label: 'p50', kind: 'seconds', extra: true}, {key: 'p99_seconds', label: 'p99', kind: 'seconds', extra: true}, {key: 'max_seconds', label: 'max', kind: 'seconds', extra: true},
];

// functionTable is the table of all functions.
function functionTable(run) {
  const rows = run.spans;
  return newTable({
    id: 'span', title: 'Functions of libraries', all: run.rows.spans ?? rows.length, by: 'seconds', note: 'Own time is without inner functions of the library. Caused calls are those within it.',
    choose: now => nothing(now) ? null : {rows, columns: functionColumns, note: wholeOnly},
  }, functionColumns, rows);
}
