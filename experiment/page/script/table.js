// Tables that sort and filter.

// breakable returns the parts of a text, with places where a line may end after each slash.
function breakable(text) {
  return String(text).split(/(?<=\/)/).flatMap((part, i) => i > 0 ? [element('wbr'), part] : [part]);
}

// kinds say how a value is shown, and whether it is a number.
const kinds = {
  words: {show: breakable},
  number: {show: count, numeric: true},
  bytes: {show: bytes, numeric: true},
  seconds: {show: seconds, numeric: true, decimals: 9},
  signed: {show: v => (v > 0 ? '+' : v < 0 ? '−' : '') + seconds(Math.abs(v)), numeric: true, decimals: 9},
  share: {show: percent, numeric: true, decimals: 6},
  ratio: {show: v => digits(v, 4), numeric: true, decimals: 6},
  sizes: {show: list => size(list[0].value) + (list.length > 1 ? ' …' : ''), numeric: true, of: list => list[0].value},
  calls: {show: list => callList(list, 3), of: list => list.map(c => c.name).join(' ')},
};

const firstRows = 12;
const printedRows = 30;

// newTable makes a table. columns: [{key, label, kind, extra}]; rows: objects; what:
// {title, note, all, by, pick, choose}: all rows that there were, and the key by which
// rows are sorted. pick returns what a click on a row selects, and choose what the
// table shows under a selection: {rows, columns, note}, or null for all.
function newTable(what, columns, rows) {
  const own = {rows, columns, note: ''};
  let view = own;
  let lower = [];
  let sortKey = what.by;
  let down = true;
  let words = [];
  let limit = firstRows;
  let extras = false;

  const title = newID();
  const head = element('tr', {});
  const body = element('tbody', {});
  const status = element('p', {class: 'note', role: 'status'});
  const chosen = element('p', {class: 'note chosen'});
  const more = element('button', {type: 'button', class: 'more', onclick: () => { limit = limit === firstRows ? Infinity : firstRows; fill(); }});
  const filter = element('input', {
    type: 'search', autocomplete: 'off', spellcheck: 'false',
    oninput: () => { words = filter.value.toLowerCase().split(/\s+/).filter(w => w); fill(); },
  });
  const all = columns.some(c => c.extra) ? element('label', {class: 'choice'},
    element('input', {type: 'checkbox', onchange: event => { extras = event.target.checked; fillHead(); fill(); }}), ' all columns') : null;

  function shownColumns() {
    return view.columns.filter(c => extras || !c.extra);
  }

  function use(next) {
    view = next;
    if (!view.columns.some(c => c.key === sortKey)) [sortKey, down] = [what.by, true];
    const textKeys = view.columns.filter(c => !kinds[c.kind].numeric).map(c => c.key);
    lower = view.rows.map(row => textKeys.map(k => row[k] ?? '').join(' ').toLowerCase());
    chosen.textContent = view.note;
    fillHead();
    fill();
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
    const column = view.columns.find(c => c.key === sortKey);
    const of = kinds[column.kind].of || (v => v);
    const places = view.rows.map((_, i) => i).filter(i => words.every(w => lower[i].includes(w)));
    return places.sort((i, k) => {
      const a = view.rows[i][sortKey];
      const b = view.rows[k][sortKey];
      if (a === undefined || b === undefined) return (a === undefined) - (b === undefined) || i - k;
      const order = kinds[column.kind].numeric ? of(a) - of(b) : a < b ? -1 : a > b ? 1 : 0;
      return (down ? -order : order) || i - k;
    });
  }

  function picked(row) {
    const wanted = what.pick?.(row);
    return Boolean(wanted) && Object.entries(wanted).every(([key, value]) => selection.now[key] === value);
  }

  function fill() {
    const places = sorted();
    const shown = shownColumns();
    const most = isPrinting() ? Math.max(limit, printedRows) : limit;
    const first = places.slice(0, most);
    // The selected row stays in sight.
    first.push(...places.slice(most).filter(i => picked(view.rows[i])));
    const focused = body.contains(document.activeElement) ? document.activeElement.textContent : null;
    box.classList.toggle('short', first.length <= 15);
    body.replaceChildren(...first.map(i => rowOf(view.rows[i], shown)));
    if (focused !== null) [...body.querySelectorAll('button')].find(b => b.textContent === focused)?.focus({preventScroll: true});
    const left = view === own && what.all > rows.length ? `; of ${count(what.all)} rows the page holds those that took the most time` : '';
    const hidden = places.length - Math.min(places.length, most);
    status.textContent = `${count(Math.min(places.length, most))} of ${count(view.rows.length)} rows${words.length ? ` (${count(places.length)} match)` : ''}${left}`;
    more.hidden = places.length <= firstRows;
    more.textContent = hidden > 0 ? `Show all ${count(places.length)}` : 'Show fewer';
  }

  function rowOf(row, shown) {
    const wanted = what.pick?.(row);
    const is = picked(row);
    return element('tr', {
      class: (wanted ? 'pick' : '') + (is ? ' picked' : ''),
      // Text in a row can be marked without selecting the row.
      onclick: wanted ? event => { if (!event.target.closest('button') && getSelection().isCollapsed) selection.toggle(wanted); } : () => {},
    }, ...shown.map((c, k) => {
      const v = row[c.key];
      const text = v === undefined || v === null ? unknown : kinds[c.kind].show(v);
      const name = kinds[c.kind].numeric ? 'number' : 'name';
      const parts = [text].flat();
      if (k > 0) return element('td', {class: name}, ...parts);
      return element('th', {scope: 'row', class: name}, wanted ? element('button', {
        type: 'button', 'aria-pressed': String(is), title: is ? 'Show all again' : 'Show only this, in the whole page', onclick: () => selection.toggle(wanted),
      }, ...parts) : '', ...(wanted ? [] : parts));
    }));
  }

  // texts returns all rows that the filter lets through, with all columns.
  function texts() {
    return [view.columns.map(c => c.key), ...sorted().map(i => view.columns.map(c => cellText(c.kind, view.rows[i][c.key])))];
  }

  const box = element('section', {id: what.id, class: 'rows', 'aria-labelledby': title},
    element('h2', {id: title}, what.title), what.note ? element('p', {class: 'note'}, what.note) : null, chosen,
    element('div', {class: 'controls'}, element('label', {class: 'choice'}, 'Filter ', filter), all, element('span', {class: 'tools'}, ...tableTools(what.title, texts))),
    element('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-labelledby': title},
      element('table', {}, element('caption', {class: 'hidden'}, what.title + ', sortable by the buttons in the column heads'), element('thead', {}, head), body)),
    element('div', {class: 'below'}, status, more));
  redraws.push(() => {
    if (box.isConnected) fill();
    return box.isConnected;
  });
  if (what.pick || what.choose) selection.follow(box, now => use((what.choose ? what.choose(now) : null) || own));
  else use(own);
  return box;
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
  {key: 'own_seconds', label: 'ready, while own threads ran', kind: 'seconds', extra: true},
  {key: 'waiting_seconds', label: 'waiting', kind: 'seconds'},
  {key: 'timer_seconds', label: 'timer', kind: 'seconds', extra: true},
  {key: 'storage_seconds', label: 'storage outside calls', kind: 'seconds', extra: true},
  {key: 'other_seconds', label: 'other calls', kind: 'seconds', extra: true},
];

// tables are those of a run, by the names that the command line knows them by, and with the
// key of their rows. keys are
// the parts of a selection that a table offers, and does not follow itself; of returns
// the row that a part of the run counts for; known is what a row without others is
// known by.
const tables = [
  {view: 'file', rows: 'files', title: 'Files', keys: ['file'], of: p => p.file, known: key => ({name: key}), pick: row => ({file: row.name}), columns: [
    {key: 'name', label: 'file', kind: 'words'}, ...usageColumns, ...accessColumns,
    {key: 'read_sizes', label: 'usual read', kind: 'sizes'},
    {key: 'write_sizes', label: 'usual write', kind: 'sizes'}, ...spanColumns,
  ]},
  {view: 'operation', rows: 'operations', title: 'Operations', keys: ['operation'], of: p => p.operation, known: key => ({name: key}), pick: row => ({operation: row.name}), columns: [
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
  {view: 'directory', rows: 'directories', title: 'Directories', keys: [], of: p => directoryOf(p.file), known: key => ({name: key}), columns: [
    {key: 'name', label: 'directory', kind: 'words'}, {key: 'files', label: 'files', kind: 'number'},
    ...usageColumns, ...accessColumns, ...spanColumns,
  ]},
  {view: 'process', rows: 'processes', title: 'Processes', keys: [], of: (p, run) => processOf(run, p.thread), known: key => ({process: key}), columns: [
    {key: 'process', label: 'process', kind: 'words'}, {key: 'command', label: 'command', kind: 'words'},
    {key: 'threads', label: 'threads', kind: 'number'}, ...usageColumns, ...timesColumns, ...spanColumns,
  ]},
  {view: 'thread', rows: 'threads', title: 'Threads', keys: ['thread'], of: p => p.thread === otherThreads ? '(others)' : String(p.thread), known: key => ({thread: key}), pick: row => ({thread: row.thread === '(others)' ? otherThreads : Number(row.thread)}), columns: [
    {key: 'thread', label: 'thread', kind: 'words'}, {key: 'process', label: 'process', kind: 'number'},
    ...usageColumns, ...timesColumns, ...spanColumns,
  ]},
];

// directoryOf returns the directory that a file stands in.
function directoryOf(name) {
  if (name === otherFiles || name === noFile) return name;
  const at = name.lastIndexOf('/');
  return at < 0 ? '.' : name.slice(0, at) || '/';
}

// processOf returns the process of a thread.
function processOf(run, thread) {
  const row = run.threads.find(r => r.thread === String(thread));
  return row?.process === undefined ? '(others)' : String(row.process);
}

// tableOf makes a table of a run, which follows the selection.
function tableOf(run, t) {
  const rows = run[t.rows];
  const columns = t.columns.filter(c => !c.key.startsWith('communication_') || rows.some(row => row[c.key] > 0));
  const name = t.columns[0].key;
  const byName = new Map(rows.map(row => [row[name], row]));
  const words = columns.filter(c => !addedKeys.has(c.key) && (!kinds[c.kind].numeric || c.key === 'process'));
  const choose = now => {
    const rest = without(now, ...t.keys);
    if (nothing(rest)) return null;
    const why = lacking(run, rest);
    if (why) return {rows: [], columns, note: why};
    const added = [...addedUp(selected(run, rest), p => t.of(p, run))].map(([key, row]) => {
      const known = byName.get(key) || t.known(key);
      for (const c of words) row[c.key] = known[c.key];
      if (t.view === 'operation') row.seconds = row.all_seconds; // also of what is no I/O
      return row;
    });
    return {rows: added, columns: columns.filter(c => words.includes(c) || addedKeys.has(c.key)), note: `Only of ${selectionPhrase(rest)}. ${pieceNote(run, rest)}`};
  };
  return newTable({id: t.view, title: t.title, all: run.rows[t.rows] ?? rows.length, by: 'seconds', pick: t.pick, choose}, columns, rows);
}
