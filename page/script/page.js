// The page, from its data.

const categories = ['read', 'write', 'sync', 'metadata', 'mapped-read', 'mapped-write', 'communication', 'submit'];
const opColors = ['read', 'write', 'sync', 'metadata', 'communication', 'sixth'];

// named puts the name of a run before a label where there are several.
function named(data, i, label) {
  return data.runs.length > 1 ? data.runs[i].name + ' ' + label : label;
}

function sum(list, of) {
  return list.reduce((a, b) => a + of(b), 0);
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
    ['I/O', t.IO, 'read'], ['communication', t.Communication, 'communication'], ['submit and wait', t.Submit, 'submit'], ['waiting for others', sum(t.Waits, n => n), 'sixth'],
    ['timer', t.Timer, 'base'], ['storage outside calls', t.Storage, 'sync'], ['ready', t.Ready, 'write'], ['other calls', t.Other, 'metadata'], ['compute', t.Compute, 'muted'],
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

// factsOf returns a table of what is known of the recordings, a column for each.
function factsOf(data) {
  const names = [...new Set(data.runs.flatMap(run => run.facts.map(f => f.name)))];
  if (names.length === 0) return null;
  const title = 'Machine and recording';
  const rows = names.map(name => [name, ...data.runs.map(run => run.facts.find(f => f.name === name)?.value ?? unknown)]);
  return section('facts', title, null, plainTable(title, ['', ...data.runs.map(r => r.name)], rows));
}

// origin says in a line where and when the application ran.
function origin(run) {
  const words = ['recorded', 'kernel', 'architecture'].map(name => run.facts.find(f => f.name === name)?.value);
  return words.filter(w => w).map(w => w.replace(/\.\d+Z$/, 'Z')).join(' · ');
}

// contents links the sections that have a heading.
function contents(main) {
  const links = [...main.querySelectorAll('section[id]')].map(s => {
    const heading = s.querySelector('h2');
    return heading ? element('a', {href: '#' + s.id}, heading.textContent) : null;
  });
  return element('nav', {'aria-label': 'Contents'}, ...links);
}

function curveChart(data) {
  const x = data.curves.elapsed.map(n => n / 1e9);
  const series = [];
  const ys = [];
  data.curves.spent.forEach((spent, i) => spent.forEach((y, k) => {
    if (!y) return;
    series.push({label: named(data, i, categories[k].replace('-', ' ')), color: categories[k], dash: dashOf(i), hidden: categories[k] === 'communication' && spent.some((other, n) => other && n !== k)});
    ys.push(y.map(n => n === null ? null : n / 1e9));
  }));
  const table = [x, ...ys];
  return chart({
    title: 'Cumulative I/O profile',
    note: 'Time spent in calls so far, by all threads together, against elapsed time. ' + (data.comparison ? 'Broken lines are the replay’s. ' : data.runs.length > 1 ? 'Broken lines are those of the recordings after the first. ' : '') +
      (series.some(s => s.hidden) ? 'Communication is no I/O: its button shows it. ' : '') +
      'Drag over the chart to see a part of it, double-click to go back.',
    summary: series.map((s, i) => `${s.label} ends at ${seconds(ys[i].findLast(v => v !== null))}`).join(', ') + '.',
    series, data: table, show: seconds, xText: seconds, height: 340, sync: 'time',
    x: {ticks: ticks(timeUnits)}, y: {ticks: ticks(timeUnits)},
    table: () => [['elapsed', ...series.map(s => s.label)], rowsOf(table, seconds, seconds)],
  }).figure;
}

// rateCharts are those of bytes and of calls a second.
function rateCharts(data) {
  const width = data.rates.nanos / 1e9;
  const n = Math.max(...data.rates.runs.map(r => r.calls.length));
  if (!(n > 0)) return [];
  const x = Array.from({length: n + 1}, (_, i) => i * width); // where each interval begins, and the end
  // Steps reach to the next x, so the last value is there twice.
  const steps = list => list.length === 0 ? x.map(() => null) : x.map((_, i) => i <= list.length ? list[Math.min(i, list.length - 1)] / width : null);
  const lines = (list) => {
    const series = [];
    const ys = [];
    data.rates.runs.forEach((run, i) => list.forEach(([key, label, name]) => {
      if (!run[key].some(v => v > 0)) return;
      series.push({label: named(data, i, label), color: name, dash: dashOf(i), stepped: true, fill: i === 0});
      ys.push(steps(run[key]));
    }));
    return {series, data: [x, ...ys]};
  };
  const xText = v => `from ${seconds(v)}`;
  const note = `In intervals of ${brief(seconds(width))}, counted where a call began; the last may be cut short.`;
  return [
    [[['read', 'read', 'read'], ['written', 'written', 'write']], 'Throughput', rate, v => ticks(byteUnits)(v).map(t => t === '0' ? t : t + '/s')],
    [[['calls', 'calls', 'sync']], 'Calls per second', v => amount(v) + '/s', ticks(countUnits)],
  ].map(([list, title, show, yTicks]) => {
    const l = lines(list);
    return l.series.length === 0 ? null : chart({
      title, note, ...l, show, xText, sync: 'time', height: 220,
      summary: l.series.map((s, i) => `${s.label} at most ${show(Math.max(...l.data[i + 1]))}`).join(', ') + '.',
      x: {ticks: ticks(timeUnits)}, y: {ticks: yTicks},
      table: () => [['interval', ...l.series.map(s => s.label)], rowsOf(l.data, xText, show)],
    }).figure;
  }).filter(f => f !== null);
}

// latencyFigure shows the durations of a run's operations in one of two ways.
function latencyFigure(run) {
  const first = Math.max(Math.min(...run.latency.map(l => l.bars[0][0])), 1);
  const last = Math.max(...run.latency.map(l => l.bars.at(-1)[1]));
  // Bars of all operations have the same bounds: eight to a power of two, or
  // one to a nanosecond.
  const x = [];
  for (let v = first; v <= last; v += v < 16 ? 1 : 2 ** (Math.floor(Math.log2(v)) - 3)) x.push(v);
  x.push(last + 1);
  const place = new Map(x.map((v, i) => [v, i]));
  const xs = x.map(v => v / 1e9);
  const calls = run.latency.map(l => {
    const y = new Array(x.length).fill(0);
    for (const [from, , n] of l.bars) y[place.get(Math.max(from, first))] += n;
    return y;
  });
  const shares = calls.map((y, k) => {
    let before = 0;
    return y.map(n => { const v = before / run.latency[k].calls; before += n; return v; });
  });
  const series = run.latency.map((l, i) => ({
    label: l.op, color: opColors[i % opColors.length], dash: Math.floor(i / opColors.length) * 2, hidden: i >= 6,
  }));
  const holder = element('div', {});
  const ways = {
    share: () => ({
      data: [xs, ...shares], show: percent, xText: v => 'below ' + seconds(v), series,
      y: {ticks: values => values.map(percent), range: () => [0, 1.02]},
    }),
    calls: () => ({
      // The lowest line of a logarithmic axis stands for none.
      data: [xs, ...calls.map(y => y.map(n => n || 0.5))], told: [xs, ...calls], show: count, xText: v => 'from ' + seconds(v),
      series: series.map(s => ({...s, stepped: true})),
      y: {log: true, ticks: values => values.map(v => v >= 1 && Number.isInteger(Math.log10(v)) ? amount(v) : ''), range: (u, low, high) => [0.6, Math.max(high, 10) * 1.5]},
    }),
  };
  const show = way => {
    const w = ways[way]();
    holder.replaceChildren(chart({
      title: 'How long calls took',
      note: 'By operation, those that took the most time first; time is on a logarithmic scale.',
      controls, summary: `${run.latency.length} operations; the table of operations has their quantiles.`,
      ...w, x: {log: true, ticks: values => values.map(v => v > 0 && Math.abs(Math.log10(v) % 1) < 1e-9 ? ticks(timeUnits)([v])[0] : '')},
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
  if (froms.length === 0) return null;
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
      y: {ticks: ticks(key === 'calls' ? countUnits : byteUnits)},
    }).figure);
  };
  const controls = element('div', {class: 'controls'}, select('Count', [['calls', 'calls'], ['bytes', 'bytes moved']], show));
  show('calls');
  return holder;
}

// concurrencyFigure is of one run, or of two side by side.
function concurrencyFigure(runs) {
  const levels = Math.max(...runs.map(r => (r.concurrency || []).length));
  if (levels < 2) return null;
  const shares = runs.map(r => Array.from({length: levels}, (_, i) => ((r.concurrency || [])[i] || 0) / Math.max(r.run_time, 1)));
  return barChart({
    title: 'I/O concurrency', note: 'The part of the run time in which so many threads were in I/O at once.',
    className: 'threads at once', classes: Array.from({length: levels}, (_, i) => i === 64 ? '64+' : String(i)),
    data: shares, series: runs.map((r, i) => ({label: runs.length > 1 ? r.name : 'share of run time', color: i === 0 ? 'sync' : 'sixth'})),
    show: percent, summary: `No thread was in I/O for ${percent(shares[0][0])} of the run time; at most ${levels - 1} were at once.`,
    y: {ticks: values => values.map(percent)},
  }).figure;
}

// criticalSection shows the chain of calls, compute and waits that the end of
// the run hung on.
function criticalSection(run) {
  const rows = run.critical.map(s => [s.name, s.file, seconds(s.nanos / 1e9), percent(s.nanos / Math.max(run.run_time, 1))]);
  return section('critical', 'Critical path', 'The chain of calls, compute and waits that the end of the run hung on. What is not on it could be slower without making the run longer.',
    plainTable('Critical path', ['step', 'file', 'time', 'share of the run time'], rows));
}

// detailsOf returns the sections of one run.
function detailsOf(run, withConcurrency) {
  const box = element('div', {});
  if (run.timeline.lanes.length > 0) box.append(card('timeline', timelineFigure(run)));
  if (run.critical.length > 0) box.append(criticalSection(run));
  const concurrency = withConcurrency ? concurrencyFigure([run]) : null;
  if (concurrency) box.append(card('concurrency', concurrency));
  if (run.heat.length > 0) box.append(card('heat', heatFigure(run)));
  if (run.latency.length > 0) box.append(card('latency', latencyFigure(run)));
  const sizes = sizeFigure(run);
  if (sizes) box.append(card('sizes', sizes));
  for (const t of tables) {
    const rows = run.tables[t.view];
    const columns = t.columns.filter(c => !c.key.startsWith('communication_') || rows.rows.some(row => row[c.key] > 0));
    if (rows.rows.length > 0) box.append(newTable({id: t.view, title: t.title, all: rows.all, by: 'seconds'}, columns, rows.rows));
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
  initTheme();
  document.querySelector('header').append(element('p', {class: 'note'}, origin(data.runs[0])));
  document.querySelector('header').append(...coverageNotes(data.runs));
  if (data.comparison) main.append(...verdictSections(data.comparison));
  for (const run of data.runs) {
    main.append(element('div', {class: 'overview'}, data.runs.length > 1 ? element('h2', {}, run.name) : null, tilesOf(run), timesOf(run)));
  }
  main.append(card('profile', curveChart(data)));
  const rates = rateCharts(data);
  if (rates.length > 0) main.append(element('section', {id: 'rates', class: 'pair', 'aria-label': 'Rates'}, ...rates));
  if (data.comparison) main.append(...differSections(data.comparison.figures));
  const concurrency = data.comparison ? concurrencyFigure(data.runs) : null;
  if (concurrency) main.append(card('concurrency', concurrency));

  const holder = element('div', {});
  const show = i => holder.replaceChildren(detailsOf(data.runs[i], !data.comparison));
  if (data.runs.length > 1) {
    main.append(element('div', {class: 'controls which'}, select('Show the details of', data.runs.map((r, i) => [i, r.name]), show)));
  }
  main.append(holder);
  show(0);
  const facts = factsOf(data);
  if (facts) main.append(facts);
  main.prepend(contents(main));
  document.getElementById(location.hash.slice(1))?.scrollIntoView();
  main.dataset.ready = 'true';
}

build();
