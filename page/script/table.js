// Tables that sort and filter.

// kinds say how a value is shown, and whether it is a number.
const kinds = {
  words: {show: v => v},
  number: {show: count, numeric: true},
  bytes: {show: bytes, numeric: true},
  seconds: {show: seconds, numeric: true},
  signed: {show: v => (v > 0 ? '+' : v < 0 ? '−' : '') + seconds(Math.abs(v)), numeric: true},
  share: {show: percent, numeric: true},
  ratio: {show: v => digits(v, 4), numeric: true},
  sizes: {show: list => size(list[0].value) + (list.length > 1 ? ' …' : ''), numeric: true, of: list => list[0].value},
};

const firstRows = 12;

// newTable makes a table. columns: [{key, label, kind, extra}]; rows: objects; what:
// {title, all, by}: all rows that there were, and the key by which rows are sorted.
function newTable(what, columns, rows) {
  let sortKey = what.by;
  let down = true;
  let words = [];
  let limit = firstRows;
  let extras = false;

  const title = newID();
  const head = element('tr', {});
  const body = element('tbody', {});
  const status = element('p', {class: 'note', role: 'status'});
  const more = element('button', {type: 'button', class: 'more', onclick: () => { limit = limit === firstRows ? Infinity : firstRows; fill(); }});
  const filter = element('input', {
    type: 'search', autocomplete: 'off', spellcheck: 'false',
    oninput: () => { words = filter.value.toLowerCase().split(/\s+/).filter(w => w); fill(); },
  });
  const all = columns.some(c => c.extra) ? element('label', {class: 'choice'},
    element('input', {type: 'checkbox', onchange: event => { extras = event.target.checked; fillHead(); fill(); }}), ' all columns') : null;
  const textKeys = columns.filter(c => !kinds[c.kind].numeric).map(c => c.key);
  const lower = rows.map(row => textKeys.map(k => row[k] ?? '').join(' ').toLowerCase());

  function shownColumns() {
    return columns.filter(c => extras || !c.extra);
  }

  function fillHead() {
    head.replaceChildren(...shownColumns().map(c => {
      const button = element('button', {type: 'button', onclick: () => sort(c)}, c.label);
      return element('th', {scope: 'col', 'data-key': c.key, class: kinds[c.kind].numeric ? 'number' : null}, button);
    }));
    markHead();
  }

  function markHead() {
    for (const th of head.children) {
      if (th.dataset.key === sortKey) th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      else th.removeAttribute('aria-sort');
    }
  }

  function sort(column) {
    down = sortKey === column.key ? !down : Boolean(kinds[column.kind].numeric);
    sortKey = column.key;
    markHead();
    fill();
  }

  // sorted returns the places of the rows that the filter lets through, in
  // order; what is not known comes last.
  function sorted() {
    const column = columns.find(c => c.key === sortKey);
    const of = kinds[column.kind].of || (v => v);
    const places = rows.map((_, i) => i).filter(i => words.every(w => lower[i].includes(w)));
    return places.sort((i, k) => {
      const a = rows[i][sortKey];
      const b = rows[k][sortKey];
      if (a === undefined || b === undefined) return (a === undefined) - (b === undefined) || i - k;
      const order = kinds[column.kind].numeric ? of(a) - of(b) : a < b ? -1 : a > b ? 1 : 0;
      return (down ? -order : order) || i - k;
    });
  }

  function fill() {
    const places = sorted();
    const shown = shownColumns();
    body.replaceChildren(...places.slice(0, limit).map(i => element('tr', {}, ...shown.map((c, k) => {
      const v = rows[i][c.key];
      const text = v === undefined || v === null ? unknown : kinds[c.kind].show(v);
      if (k === 0) return element('th', {scope: 'row', class: kinds[c.kind].numeric ? 'number' : 'name'}, text);
      return element('td', {class: kinds[c.kind].numeric ? 'number' : 'name'}, text);
    }))));
    const left = what.all > rows.length ? `; of ${count(what.all)} rows the page holds those that took the most time` : '';
    const hidden = places.length - Math.min(places.length, limit);
    status.textContent = `${count(Math.min(places.length, limit))} of ${count(rows.length)} rows${words.length ? ` (${count(places.length)} match)` : ''}${left}`;
    more.hidden = places.length <= firstRows;
    more.textContent = hidden > 0 ? `Show all ${count(places.length)}` : 'Show fewer';
  }

  fillHead();
  fill();
  return element('section', {id: what.id, class: 'rows', 'aria-labelledby': title},
    element('h2', {id: title}, what.title),
    element('div', {class: 'controls'}, element('label', {class: 'choice'}, 'Filter ', filter), all),
    element('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-labelledby': title},
      element('table', {}, element('caption', {class: 'hidden'}, what.title + ', sortable by the buttons in the column heads'), element('thead', {}, head), body)),
    element('div', {class: 'below'}, status, more));
}

const usageColumns = [
  {key: 'seconds', label: 'time', kind: 'seconds'},
  {key: 'calls', label: 'calls', kind: 'number'},
  {key: 'errors', label: 'errors', kind: 'number', extra: true},
  {key: 'reads', label: 'reads', kind: 'number'},
  {key: 'writes', label: 'writes', kind: 'number'},
  {key: 'bytes_read', label: 'read', kind: 'bytes'},
  {key: 'bytes_written', label: 'written', kind: 'bytes'},
  {key: 'read_seconds', label: 'reading', kind: 'seconds', extra: true},
  {key: 'write_seconds', label: 'writing', kind: 'seconds', extra: true},
  {key: 'sync_seconds', label: 'syncing', kind: 'seconds', extra: true},
  {key: 'metadata_seconds', label: 'metadata', kind: 'seconds', extra: true},
  {key: 'mapped_reads', label: 'mapped reads', kind: 'number', extra: true},
  {key: 'mapped_writes', label: 'mapped writes', kind: 'number', extra: true},
  {key: 'bytes_mapped_read', label: 'mapped read', kind: 'bytes', extra: true},
  {key: 'bytes_mapped_written', label: 'mapped written', kind: 'bytes', extra: true},
  {key: 'mapped_read_seconds', label: 'reading mapped files', kind: 'seconds', extra: true},
  {key: 'mapped_write_seconds', label: 'writing mapped files', kind: 'seconds', extra: true},
  {key: 'communication_seconds', label: 'communication', kind: 'seconds'},
  {key: 'communication_calls', label: 'communication calls', kind: 'number', extra: true},
  {key: 'communication_bytes', label: 'communicated', kind: 'bytes', extra: true},
];

const accessColumns = [
  {key: 'sequential_reads', label: 'sequential reads', kind: 'share'},
  {key: 'sequential_writes', label: 'sequential writes', kind: 'share'},
];

const spanColumns = [
  {key: 'first_seconds', label: 'first use', kind: 'seconds', extra: true},
  {key: 'last_seconds', label: 'last use', kind: 'seconds', extra: true},
];

const timesColumns = [
  {key: 'compute_seconds', label: 'compute', kind: 'seconds'},
  {key: 'ready_seconds', label: 'ready', kind: 'seconds', extra: true},
  {key: 'own_seconds', label: 'ready, behind own threads', kind: 'seconds', extra: true},
  {key: 'waiting_seconds', label: 'waiting', kind: 'seconds'},
  {key: 'timer_seconds', label: 'timer', kind: 'seconds', extra: true},
  {key: 'storage_seconds', label: 'storage outside calls', kind: 'seconds', extra: true},
  {key: 'other_seconds', label: 'other calls', kind: 'seconds', extra: true},
];

// tables are those of a run, by the names that the command line knows them by.
const tables = [
  {view: 'file', title: 'Files', columns: [
    {key: 'name', label: 'file', kind: 'words'}, ...usageColumns, ...accessColumns,
    {key: 'read_sizes', label: 'usual read', kind: 'sizes'},
    {key: 'write_sizes', label: 'usual write', kind: 'sizes'}, ...spanColumns,
  ]},
  {view: 'operation', title: 'Operations', columns: [
    {key: 'name', label: 'operation', kind: 'words'},
    {key: 'class', label: 'class', kind: 'words'},
    ...usageColumns.filter(c => ['seconds', 'calls', 'communication_seconds', 'communication_calls'].includes(c.key)),
    {key: 'errors', label: 'errors', kind: 'number'},
    {key: 'bytes', label: 'bytes', kind: 'bytes'},
    {key: 'min_seconds', label: 'min', kind: 'seconds', extra: true},
    {key: 'p50_seconds', label: 'p50', kind: 'seconds'},
    {key: 'p90_seconds', label: 'p90', kind: 'seconds', extra: true},
    {key: 'p99_seconds', label: 'p99', kind: 'seconds'},
    {key: 'p999_seconds', label: 'p99.9', kind: 'seconds'},
    {key: 'max_seconds', label: 'max', kind: 'seconds'},
  ]},
  {view: 'directory', title: 'Directories', columns: [
    {key: 'name', label: 'directory', kind: 'words'}, {key: 'files', label: 'files', kind: 'number'},
    ...usageColumns, ...accessColumns, ...spanColumns,
  ]},
  {view: 'process', title: 'Processes', columns: [
    {key: 'process', label: 'process', kind: 'words'}, {key: 'command', label: 'command', kind: 'words'},
    {key: 'threads', label: 'threads', kind: 'number'}, ...usageColumns, ...timesColumns, ...spanColumns,
  ]},
  {view: 'thread', title: 'Threads', columns: [
    {key: 'thread', label: 'thread', kind: 'words'}, {key: 'process', label: 'process', kind: 'number'},
    ...usageColumns, ...timesColumns, ...spanColumns,
  ]},
];
