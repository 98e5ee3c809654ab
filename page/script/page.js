// The page, from its data.

const categories = ['read', 'write', 'sync', 'metadata', 'mapped-read', 'mapped-write', 'communication', 'submit'];
const opColors = ['read', 'write', 'sync', 'metadata', 'communication', 'sixth'];

// named puts the name of a run before a label where there are several.
function named(data, i, label) {
  return data.runs.length > 1 ? data.runs[i].name + ' ' + label : label;
}

function sum(list, of) {
  return list.reduce((a, b, i) => a + of(b, i), 0);
}

function tile(label, value, note) {
  return element('div', {class: 'tile'}, element('dt', {}, label), element('dd', {}, value), note ? element('dd', {class: 'note'}, note) : null);
}

function known(t) {
  return t.known ? seconds(t.nanos / 1e9) : unknown;
}

// tilesOf returns the figures of a run that come first.
function tilesOf(run) {
  const [read, write, sync, metadata, mappedRead, mappedWrite, communication] = run.categories;
  const inFaults = t => `${known(t)} in ${count(t.calls)} page faults of mapped files`;
  const inCalls = t => `${known(t)} in ${count(t.calls)} calls`;
  return element('dl', {class: 'tiles'},
    tile('Run time', seconds(run.run_time / 1e9), `${count(run.threads)} ${run.threads === 1 ? 'thread' : 'threads'}, ${count(run.processes)} ${run.processes === 1 ? 'process' : 'processes'}`),
    tile('Read', bytes(read.bytes), inCalls(read)),
    tile('Written', bytes(write.bytes), inCalls(write)),
    tile('Sync', known(sync), `${count(sync.calls)} calls`),
    tile('Metadata', known(metadata), `${count(metadata.calls)} calls, ${count(run.files)} files`),
    mappedRead.calls > 0 ? tile('Mapped read', bytes(mappedRead.bytes), inFaults(mappedRead)) : null,
    mappedWrite.calls > 0 ? tile('Mapped write', bytes(mappedWrite.bytes), inFaults(mappedWrite)) : null,
    communication.calls > 0 ? tile('Communication', known(communication), `${bytes(communication.bytes)} in ${count(communication.calls)} calls, no I/O`) : null,
    tile('Events', count(run.all.calls), `${count(run.all.errors)} with an error`));
}

// timesOf shows what the time of a run's threads was spent with.
function timesOf(run) {
  const t = run.times;
  const parts = [
    ['I/O', t.IO, 'read'], ['communication', t.Communication, 'communication'], ['submit and wait', t.Submit, 'submit'], ['waiting for others', sum(t.Waits, n => n), 'waiting'],
    ['timer', t.Timer, 'timer'], ['storage outside calls', t.Storage, 'storage'], ['ready', t.Ready, 'ready'], ['other calls', t.Other, 'other'], ['compute', t.Compute, 'compute'],
  ].filter(([label, nanos]) => nanos > 0 || label === 'I/O' || label === 'compute');
  const all = sum(parts, p => p[1]);
  if (all === 0) return null;
  const bar = element('div', {class: 'stack', 'aria-hidden': 'true'});
  const words = element('ul', {class: 'stackwords'});
  for (const [label, nanos, name] of parts) {
    const piece = element('span', {class: 'c-' + name});
    piece.style.flexGrow = nanos / all;
    if (nanos > 0) bar.append(piece);
    words.append(element('li', {}, element('span', {class: 'dot c-' + name}), `${label} ${percent(nanos / all)} (${seconds(nanos / 1e9)})`));
  }
  return element('div', {class: 'times'}, element('h3', {}, run.threads === 1 ? 'What the thread’s time was spent with' : 'What the time of all threads was spent with'), bar, words);
}

// diagnosisOf returns what to look at first in a run, null for nothing.
function diagnosisOf(run) {
  if (run.diagnosis.length === 0) return null;
  const items = run.diagnosis.map(f => element('li', {}, f.text, f.try ? element('code', {}, f.try) : null));
  return element('div', {class: 'diagnosis'}, element('h3', {}, 'What to look at first'), element('ol', {}, ...items));
}

// factsOf returns a table of what is known of the recordings, a column for each.
function factsOf(data) {
  const names = [...new Set(data.runs.flatMap(run => run.facts.map(f => f.name)))];
  if (names.length === 0) return null;
  const title = 'Machine and recording';
  const rows = names.map(name => [name, ...data.runs.map(run => run.facts.find(f => f.name === name)?.value ?? unknown)]);
  return section('facts', title, null, withTools(title, plainTable(title, ['', ...data.runs.map(r => r.name)], rows)));
}

// origin says in a line where and when the application ran.
function origin(run) {
  const words = ['started', 'host', 'kernel', 'CPU'].map(name => run.facts.find(f => f.name === name)?.value);
  return words.filter(w => w).map(w => w.replace(/\.\d+Z$/, 'Z')).join(' · ');
}

// categoryColor returns the name of a category's colour.
function categoryColor(category) {
  return category.replace(' ', '-');
}

// piecewise adds up parts by piece of time.
function piecewise(run, parts, of) {
  const out = new Array(Math.floor(run.run_time / run.parts.nanos) + 1).fill(0);
  for (const p of parts) out[p.piece] += of(p);
  return out;
}

// lackingAny says why the page can't add up a selection, '' if it can for some run.
function lackingAny(data, now) {
  const why = data.runs.map(run => lacking(run, now));
  return why.every(w => w) ? why[0] : '';
}

// pieceAxis returns the times at which the pieces of all runs begin, in seconds, and
// where the last one ends. Runs have pieces whose lengths are powers of two: those of
// the longest are taken.
function pieceAxis(data) {
  const nanos = Math.max(...data.runs.map(run => run.parts.nanos));
  const end = Math.max(...data.runs.map(run => run.run_time));
  return {nanos, x: Array.from({length: Math.floor(end / nanos) + 2}, (_, i) => i * nanos / 1e9)};
}

// merged adds up neighbouring pieces of a run to those of an axis; null is beyond
// the end of the run.
function merged(run, list, axis) {
  const out = axis.x.slice(0, -1).map((_, i) => i * axis.nanos > run.run_time ? null : 0);
  list.forEach((n, i) => { out[Math.floor(i * run.parts.nanos / axis.nanos)] += n; });
  return out;
}

// chosenCurves returns the lines of the cumulative profile of a selection.
function chosenCurves(data, now) {
  const axis = pieceAxis(data);
  const series = [];
  const ys = [];
  data.runs.forEach((run, i) => {
    if (lacking(run, now)) return;
    const parts = selected(run, now);
    for (const category of run.parts.categories) {
      const list = merged(run, piecewise(run, parts, p => p.category === category ? p.nanos / 1e9 : 0), axis);
      if (!list.some(n => n > 0)) continue;
      let before = 0;
      const y = [0, ...list.map(n => n === null ? null : (before += n))];
      series.push({label: named(data, i, category), color: categoryColor(category), dash: dashOf(i)});
      ys.push(y);
    }
  });
  return {series, data: [axis.x, ...ys]};
}

// wholeCurves returns the lines of the cumulative profile.
function wholeCurves(data) {
  const series = [];
  const ys = [];
  data.curves.spent.forEach((spent, i) => spent.forEach((y, k) => {
    if (!y) return;
    series.push({label: named(data, i, categories[k].replace('-', ' ')), color: categories[k], dash: dashOf(i), hidden: categories[k] === 'communication' && spent.some((other, n) => other && n !== k)});
    ys.push(y.map(n => n === null ? null : n / 1e9));
  }));
  return {series, data: [data.curves.elapsed.map(n => n / 1e9), ...ys]};
}

function curveChart(data, now) {
  const title = 'Cumulative I/O profile';
  const why = lackingAny(data, now);
  if (why) return unanswered(title, why);
  const {series, data: table} = nothing(now) ? wholeCurves(data) : chosenCurves(data, now);
  if (series.length === 0) return unanswered(title, 'No time was spent in calls of the selection.');
  return chart({
    title,
    note: (nothing(now) ? 'Time spent in calls so far, by all threads together, against elapsed time. ' : `Time spent in calls so far, only of ${selectionPhrase(now)}, by when calls began, in pieces of ${seconds(table[0][1])}. `) +
      (data.comparison ? `Broken lines are those of ${data.runs[1].name}. ` : data.runs.length > 1 ? 'Broken lines are those of the recordings after the first. ' : '') +
      (series.some(s => s.hidden) ? 'Communication is no I/O: its button shows it.' : ''),
    hint: 'Drag over the chart, or hold Shift and use the arrow keys, to select a part of the time; double-click to go back.',
    summary: series.map((s, i) => `${s.label} ends at ${seconds(table[i + 1].findLast(v => v !== null))}`).join(', ') + '.',
    series, data: table, show: seconds, xText: seconds, height: 340, sync: 'time', time: true,
    x: {ticks: ticks(timeUnits), label: 'elapsed time'}, y: {ticks: ticks(timeUnits), label: 'time in calls'},
    table: () => [['elapsed', ...series.map(s => s.label)], rowsOf(table, seconds, seconds)],
  }).figure;
}

// wholeRates returns the intervals of all runs, of one length: {width, runs}, in
// seconds, and of each run bytes and calls.
function wholeRates(data) {
  return {width: data.rates.nanos / 1e9, runs: data.rates.runs};
}

// chosenRates returns the same of a selection.
function chosenRates(data, now) {
  const axis = pieceAxis(data);
  const runs = data.runs.map(run => {
    const parts = lacking(run, now) ? [] : selected(run, now);
    const of = f => merged(run, piecewise(run, parts, f), axis).filter(n => n !== null);
    return {
      read: of(p => /read$/.test(p.category) ? p.bytes : 0), written: of(p => /write$/.test(p.category) ? p.bytes : 0),
      calls: run.parts.categories.map(category => of(p => p.category === category ? p.calls : 0)),
    };
  });
  return {width: axis.nanos / 1e9, runs};
}

const rateKinds = [
  {lines: [[run => run.read, 'read', 'read'], [run => run.written, 'written', 'write']], title: 'Throughput', none: 'No bytes were moved in calls of the selection.', show: rate, label: 'bytes per second', ticks: v => ticks(byteUnits)(v).map(t => t === '0' ? t : t + '/s')},
  {lines: categories.map((name, k) => [run => run.calls[k], name.replace('-', ' '), name]), title: 'Calls per second', none: 'No calls are in the selection.', show: v => amount(v) + '/s', label: 'calls per second', ticks: ticks(countUnits)},
  {
    lines: [[run => run.io.map(n => n / 1e9), 'threads in I/O', 'sync'], [run => run.flight.map(n => n / 1e9), 'requests in flight', 'submit']], whole: true,
    title: 'In I/O at once', show: amount, label: 'on average', ticks: ticks(countUnits), note: 'How many threads were in calls on files, and how many requests of io_uring and libaio were in flight, on average over an interval.',
  },
];

// rateChart is of bytes or of calls a second.
function rateChart(data, kind, now) {
  const why = kind.whole && !nothing(now) ? wholeOnly : lackingAny(data, now);
  if (why) return unanswered(kind.title, why);
  const rates = nothing(now) ? wholeRates(data) : chosenRates(data, now);
  const n = Math.max(...rates.runs.map(r => r.read.length));
  const x = Array.from({length: n + 1}, (_, i) => i * rates.width); // where each interval begins, and the end
  // Steps reach to the next x, so the last value is there twice.
  const steps = list => list.length === 0 ? x.map(() => null) : x.map((_, i) => i <= list.length ? list[Math.min(i, list.length - 1)] / rates.width : null);
  const series = [];
  const ys = [];
  rates.runs.forEach((run, i) => kind.lines.forEach(([of, label, name]) => {
    const list = of(run);
    if (!list?.some(v => v > 0)) return;
    series.push({label: named(data, i, label), color: name, dash: dashOf(i), stepped: true, fill: i === 0});
    ys.push(steps(list));
  }));
  if (series.length === 0) return unanswered(kind.title, kind.none);
  const xText = v => `from ${seconds(v)}`;
  const table = [x, ...ys];
  return chart({
    title: kind.title, series, data: table, show: kind.show, xText, sync: 'time', time: true, height: 230,
    note: (nothing(now) ? '' : `Only of ${selectionPhrase(now)}. `) + `${kind.note || 'Counted where a call began.'} In intervals of ${brief(seconds(rates.width))}; the last may be cut short.`,
    summary: series.map((s, i) => `${s.label} at most ${kind.show(Math.max(...ys[i]))}`).join(', ') + '.',
    x: {ticks: ticks(timeUnits), label: 'elapsed time'}, y: {ticks: kind.ticks, label: kind.label},
    table: () => [['interval', ...series.map(s => s.label)], rowsOf(table, xText, kind.show)],
  }).figure;
}

// latencyOf returns the bars of a run's operations: {x, last, latency: [{op, calls,
// bars: [first, last, calls]}]}, in nanoseconds. x are the bounds of all bars.
function latencyOf(run) {
  const first = Math.max(Math.min(...run.latency.map(l => l.bars[0][0])), 1);
  const last = Math.max(...run.latency.map(l => l.bars.at(-1)[1]));
  // Bars of all operations have the same bounds: eight to a power of two, or
  // one to a nanosecond.
  const x = [];
  for (let v = first; v <= last; v += v < 16 ? 1 : 2 ** (Math.floor(Math.log2(v)) - 3)) x.push(v);
  x.push(last + 1);
  return {x, first, latency: run.latency};
}

// chosenLatency returns the same of a selection, in powers of two.
function chosenLatency(run, now) {
  const from = run.parts.durations;
  const byOp = new Map();
  for (const p of selected(run, now)) {
    const l = byOp.get(p.operation) || {op: p.operation, calls: 0, nanos: 0, counts: from.map(() => 0)};
    byOp.set(p.operation, l);
    l.nanos += p.nanos;
    p.counts.forEach((n, i) => { l.counts[p.first + i] += n; l.calls += n; });
  }
  const latency = [...byOp.values()].filter(l => l.calls > 0).sort((a, b) => b.nanos - a.nanos).slice(0, 12);
  if (latency.length === 0) return null;
  const low = Math.min(...latency.map(l => l.counts.findIndex(n => n > 0)));
  const high = Math.max(...latency.map(l => l.counts.findLastIndex(n => n > 0)));
  const start = i => Math.max(from[i] ?? 2 * from.at(-1), from[1] / 2);
  for (const l of latency) l.bars = l.counts.map((n, i) => [start(i), start(i + 1) - 1, n]).filter(b => b[2] > 0);
  const x = [];
  for (let i = low; i <= high + 1; i++) x.push(start(i));
  return {x, first: start(low), latency};
}

// latencyFigure shows the durations of a run's operations in one of two ways.
function latencyFigure(run, now) {
  const title = 'How long calls took';
  const why = lacking(run, now);
  const operationOnly = nothing(without(now, 'operation')) && run.latency.some(l => l.op === now.operation);
  const whole = nothing(now) || operationOnly;
  const found = why ? null : whole ? latencyOf(operationOnly ? {latency: run.latency.filter(l => l.op === now.operation)} : run) : chosenLatency(run, now);
  if (!found) return unanswered(title, why || `No call of ${selectionPhrase(now)} has a duration.`);
  const {x, first, latency} = found;
  const place = new Map(x.map((v, i) => [v, i]));
  const xs = x.map(v => v / 1e9);
  const calls = latency.map(l => {
    const y = new Array(x.length).fill(0);
    for (const [from, , n] of l.bars) y[place.get(Math.max(from, first))] += n;
    return y;
  });
  const shares = calls.map((y, k) => {
    let before = 0;
    return y.map(n => { const v = before / latency[k].calls; before += n; return v; });
  });
  const series = latency.map((l, i) => ({
    label: l.op, color: opColors[i % opColors.length], dash: Math.floor(i / opColors.length) * 2, hidden: i >= 6,
  }));
  const holder = element('div', {});
  const ways = {
    share: () => ({
      data: [xs, ...shares], show: percent, xText: v => 'below ' + seconds(v), series,
      y: {ticks: values => values.map(percent), range: () => [0, 1.02], label: 'share of calls that took less'},
    }),
    calls: () => ({
      // The lowest line of a logarithmic axis stands for none.
      data: [xs, ...calls.map(y => y.map(n => n || 0.5))], told: [xs, ...calls], show: count, xText: v => 'from ' + seconds(v),
      series: series.map(s => ({...s, stepped: true})),
      y: {log: true, ticks: values => values.map(v => v >= 1 && Number.isInteger(Math.log10(v)) ? amount(v) : ''), range: (u, low, high) => [0.6, Math.max(high, 10) * 1.5], label: 'calls'},
    }),
  };
  const show = way => {
    const w = ways[way]();
    holder.replaceChildren(chart({
      title,
      note: (nothing(now) ? '' : `Only of ${selectionPhrase(now)}${whole ? '' : ', in powers of two'}. ${pieceNote(run, now)}`) + 'By operation, those that took the most time first; time is on a logarithmic scale.',
      controls, summary: `${latency.length} operations; the table of operations has their quantiles.`,
      ...w, x: {log: true, ticks: values => values.map(v => v > 0 && Math.abs(Math.log10(v) % 1) < 1e-9 ? ticks(timeUnits)([v])[0] : ''), label: 'duration'},
      height: 300, table: () => [['duration', ...w.series.map(s => s.label)], rowsOf([w.data[0], ...(w.told || w.data).slice(1)], w.xText, w.show, 40)],
    }).figure);
  };
  const controls = element('div', {class: 'controls'}, select('Show', [['share', 'share of calls that took less'], ['calls', 'number of calls']], show));
  show('share');
  return holder;
}

// sizeName names a class of sizes by where it begins.
function sizeName(from) {
  return from === 0 ? '0' : size(from);
}

function sizeFigure(run) {
  const froms = [...new Set(run.sizes.flat().map(s => s.from))].sort((a, b) => a - b);
  const holder = element('div', {});
  const show = key => {
    const text = key === 'calls' ? amount : bytes;
    const data = run.sizes.map(list => froms.map(from => list.find(s => s.from === from)?.[key] ?? 0));
    holder.replaceChildren(barChart({
      title: 'Request sizes', note: 'By powers of two: 4 KiB stands for 4 KiB to just below 8 KiB.', controls,
      className: 'from', classes: froms.map(sizeName), show: text, data,
      series: [{label: 'reads', color: 'read'}, {label: 'writes', color: 'write'}],
      summary: ['reads', 'writes'].map((name, k) => {
        const most = Math.max(...data[k]);
        return most > 0 ? `most ${name} are from ${sizeName(froms[data[k].indexOf(most)])}` : `no ${name}`;
      }).join(', ') + '.',
      x: {label: 'size'}, y: {ticks: ticks(key === 'calls' ? countUnits : byteUnits), label: key === 'calls' ? 'calls' : 'bytes moved'},
    }).figure);
  };
  const controls = element('div', {class: 'controls'}, select('Count', [['calls', 'calls'], ['bytes', 'bytes moved']], show));
  show('calls');
  return holder;
}

// levelsOf returns how many numbers of threads were in I/O at once.
function levelsOf(runs) {
  return Math.max(...runs.map(r => (r.concurrency || []).length));
}

// concurrencyFigure is of one run, or of two side by side.
function concurrencyFigure(runs) {
  const levels = levelsOf(runs);
  const shares = runs.map(r => Array.from({length: levels}, (_, i) => ((r.concurrency || [])[i] || 0) / Math.max(r.run_time, 1)));
  return barChart({
    title: 'I/O concurrency', note: 'The part of the run time in which so many threads were in I/O at once.',
    className: 'threads at once', classes: Array.from({length: levels}, (_, i) => i === 64 ? '64+' : String(i)),
    data: shares, series: runs.map((r, i) => ({label: runs.length > 1 ? r.name : 'share of run time', color: i === 0 ? 'sync' : 'sixth'})),
    show: percent, summary: `No thread was in I/O for ${percent(shares[0][0])} of the run time; at most ${levels - 1} were at once.`,
    x: {label: 'threads in I/O at once'}, y: {ticks: values => values.map(percent), label: 'share of the run time'},
  }).figure;
}

// criticalSection shows the chain of calls, compute and waits that the end of
// the run hung on.
function criticalSection(run) {
  const rows = run.critical.map(s => ({name: s.name, file: s.file || undefined, seconds: s.nanos / 1e9, share: s.nanos / Math.max(run.run_time, 1)}));
  const operations = new Set(run.parts.ops);
  return newTable({
    id: 'critical', title: 'Critical path', all: rows.length, by: 'seconds',
    note: 'The chain of calls, compute and waits that the end of the run hung on. What is not on it could be slower without making the run longer.',
    pick: row => row.file || operations.has(row.name) ? {...(row.file ? {file: row.file} : {}), ...(operations.has(row.name) ? {operation: row.name} : {})} : null,
    choose: now => {
      if (nothing(now)) return null;
      const rest = rows.filter(row => (now.file === undefined || row.file === now.file) && (now.operation === undefined || row.name === now.operation));
      const whole = now.thread !== undefined || now.from !== undefined ? 'The page holds the steps for the whole run only: the timeline shows on which thread the path was, and when. ' : '';
      return {rows: rest, columns: criticalColumns, note: now.file === undefined && now.operation === undefined ? whole : `Only of ${selectionPhrase(without(now, 'thread', 'from'))}. ${whole}`};
    },
  }, criticalColumns, rows);
}

const criticalColumns = [
  {key: 'name', label: 'step', kind: 'words'}, {key: 'file', label: 'file', kind: 'words'},
  {key: 'seconds', label: 'time', kind: 'seconds'}, {key: 'share', label: 'share of the run time', kind: 'share'},
];

// topsOf lists where the most time went: the first files, operations and threads of
// a run. What is clicked is selected.
function topsOf(run) {
  const lists = tables.filter(t => t.pick && run.tables[t.view].rows.length > 0).map(t => {
    const rows = run.tables[t.view].rows.filter(row => row.seconds > 0).slice(0, 4);
    const most = rows[0]?.seconds;
    return rows.length === 0 ? null : element('div', {}, element('h3', {}, t.title), element('ul', {class: 'tops'}, ...rows.map(row => {
      const bar = element('span', {class: 'bar c-read'});
      bar.style.width = 100 * row.seconds / most + '%';
      const button = element('button', {type: 'button', onclick: () => selection.toggle(t.pick(row))}, element('span', {class: 'what'}, (t.view === 'thread' ? 'thread ' : '') + row[t.columns[0].key]));
      selection.follow(button, now => button.setAttribute('aria-pressed', String(Object.entries(t.pick(row)).every(([key, value]) => now[key] === value))));
      return element('li', {}, button, element('span', {class: 'track', 'aria-hidden': 'true'}, bar), element('span', {class: 'value'}, seconds(row.seconds)));
    })));
  }).filter(l => l);
  return lists.length === 0 ? null : element('div', {class: 'where', role: 'group', 'aria-label': 'Where the time in calls went'}, ...lists);
}

// detailsOf returns the sections of one run.
function detailsOf(run, withConcurrency) {
  const box = element('div', {});
  const all = ['thread', 'file', 'operation', 'from', 'to'];
  if (run.timeline.lanes.length > 0) box.append(card('timeline', timelineFigure(run)));
  if (run.rank_map) box.append(card('ranks', rankFigure(run)));
  if (run.critical.length > 0) box.append(criticalSection(run));
  if (run.tables.layer.rows.length > 0) box.append(card('layers', layersFigure(run)), functionTable(run));
  if (withConcurrency && levelsOf([run]) > 1) box.append(card('concurrency', wholeRun('I/O concurrency', () => concurrencyFigure([run]))));
  if (run.heat.length > 0) box.append(card('heat', heatFigure(run)));
  if (run.latency_maps.length > 0) box.append(card('latency-map', latencyMapFigure(run)));
  if (run.latency.length > 0) box.append(card('latency', linked(all, now => latencyFigure(run, now))));
  if (run.sizes.some(list => list.length > 0)) box.append(card('sizes', wholeRun('Request sizes', () => sizeFigure(run))));
  for (const t of tables) {
    if (run.tables[t.view].rows.length > 0) box.append(tableOf(run, t));
  }
  return box;
}

// coverageNotes returns what the recordings hold of the application's I/O: a
// line, or one for each where they differ.
function coverageNotes(runs) {
  const notes = new Map();
  for (const r of runs) notes.set(r.coverage, {withheld: r.withheld, names: [...(notes.get(r.coverage) || {names: []}).names, r.name]});
  return [...notes].map(([text, n]) => element('p', {class: n.withheld ? 'note withheld' : 'note'}, (notes.size > 1 ? n.names.join(', ') + ': ' : '') + capitalized(text)));
}

function build() {
  const data = JSON.parse(document.getElementById('data').textContent);
  const main = document.getElementById('main');
  let current = data.runs[0];
  initTheme();
  selection.start();
  document.querySelector('header').append(element('p', {class: 'note'}, origin(data.runs[0])));
  document.querySelector('header').append(...coverageNotes(data.runs));
  if (data.comparison) main.append(...verdictSections(data.comparison));
  for (const run of data.runs) {
    main.append(element('section', {id: run === data.runs[0] ? 'summary' : newID(), class: 'overview', 'aria-label': 'Summary'},
      element('h2', data.runs.length > 1 ? {} : {class: 'hidden'}, data.runs.length > 1 ? run.name : 'Summary'), diagnosisOf(run), tilesOf(run), timesOf(run), data.runs.length > 1 ? null : topsOf(run)));
  }
  const calls = ['thread', 'file', 'operation'];
  main.append(card('profile', linked(calls, now => curveChart(data, now))));
  const rates = data.rates.runs.some(r => r.read.length > 0) ? rateKinds.filter(k => data.rates.runs.some(r => k.lines.some(([of]) => of(r)?.some(v => v > 0)))) : [];
  if (rates.length > 0) main.append(element('section', {id: 'rates', class: 'pair', 'aria-label': 'Rates'}, ...rates.map(k => linked(calls, now => rateChart(data, k, now)))));
  if (data.runs.some(run => run.tails.length > 0)) main.append(card('tails', wholeRun('Latency by percentile', () => tailFigure(data))));
  if (data.comparison) main.append(...differSections(data.comparison));
  if (data.comparison && levelsOf(data.runs) > 1) main.append(card('concurrency', wholeRun('I/O concurrency', () => concurrencyFigure(data.runs))));

  const holder = element('div', {});
  const show = i => {
    current = data.runs[i];
    selection.change({thread: null}); // threads of another run are others
    holder.replaceChildren(detailsOf(current, !data.comparison));
  };
  if (data.runs.length > 1) {
    main.append(element('div', {class: 'controls which'}, select('Show the details of', data.runs.map((r, i) => [i, r.name]), show)));
  }
  main.append(holder);
  holder.append(detailsOf(current, !data.comparison));
  const facts = factsOf(data);
  if (facts) main.append(facts);
  main.before(element('div', {class: 'top'}, contents(main), selectionBar(() => current)));
  document.getElementById(selection.section())?.scrollIntoView();
  main.dataset.ready = 'true';
}

build();
