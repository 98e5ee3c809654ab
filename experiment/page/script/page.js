// The page, from its data.

const classes = ['read', 'write', 'sync', 'metadata', 'mapped-read', 'mapped-write', 'communication', 'submit'];
const opColors = ['read', 'write', 'sync', 'metadata', 'communication', 'sixth'];

// named puts the name of a run before a label where there are several.
function named(data, i, label) {
  return data.runs.length > 1 ? data.runs[i].name + ' ' + label : label;
}

function tile(label, value, note) {
  return element('div', {class: 'tile'}, element('dt', {}, label), element('dd', {}, value), note ? element('dd', {class: 'note'}, note) : null);
}

// rowsIn returns how many rows a table of a run has that are told apart.
function rowsIn(run, key) {
  return (run.rows[key] ?? run[key].length) - run[key].filter(row => [otherFiles, noFile].includes(row.name ?? row.thread ?? row.process)).length;
}

// tilesOf returns the figures of a run that come first.
function tilesOf(run) {
  const [read, write, sync, metadata, mappedRead, mappedWrite, communication] = run.classes;
  const inFaults = t => `${seconds(t.seconds)} in ${count(t.calls)} page faults of mapped files`;
  const inCalls = t => `${seconds(t.seconds)} in ${count(t.calls)} calls`;
  const [threads, processes] = [rowsIn(run, 'threads'), rowsIn(run, 'processes')];
  return element('dl', {class: 'tiles'},
    run.requests ? tile('Requests', amount(run.requests.per_second) + '/s', `p99 ${seconds(run.requests.p99_seconds)}, ${count(run.requests.requests)} in all`) : null,
    tile('Run time', seconds(run.run_time_seconds), `${count(threads)} ${threads === 1 ? 'thread' : 'threads'}, ${count(processes)} ${processes === 1 ? 'process' : 'processes'}`),
    tile('Read', bytes(read.bytes), inCalls(read)),
    tile('Written', bytes(write.bytes), inCalls(write)),
    tile('Sync', seconds(sync.seconds), `${count(sync.calls)} calls`),
    tile('Metadata', seconds(metadata.seconds), `${count(metadata.calls)} calls, ${count(rowsIn(run, 'files'))} files`),
    mappedRead.calls > 0 ? tile('Mapped read', bytes(mappedRead.bytes), inFaults(mappedRead)) : null,
    mappedWrite.calls > 0 ? tile('Mapped write', bytes(mappedWrite.bytes), inFaults(mappedWrite)) : null,
    communication.calls > 0 ? tile('Communication', seconds(communication.seconds), `${bytes(communication.bytes)} in ${count(communication.calls)} calls, no I/O`) : null,
    tile('Events', count(run.events), `${count(run.failed_events)} with an error`));
}

// timesOf shows what the time of a run's threads was spent with.
function timesOf(run) {
  const t = run.thread_time;
  const parts = [
    ['I/O', t.io_seconds, 'read'], ['communication', t.communication_seconds, 'communication'], ['submit and wait', t.submit_and_wait_seconds, 'submit'],
    ['waiting for others', t.waiting_seconds, 'waiting'], ['timer', t.timer_seconds, 'timer'], ['storage outside calls', t.storage_seconds, 'storage'],
    ['ready', t.ready_seconds, 'ready'], ['other calls', t.other_seconds, 'other'], ['compute', t.compute_seconds, 'compute'],
  ].map(([label, value, name]) => ({label, name, seconds: value})).filter(p => p.seconds > 0 || p.name === 'read' || p.name === 'compute');
  return sum(parts, p => p.seconds) === 0 ? null :
    element('div', {class: 'times'}, element('h3', {}, rowsIn(run, 'threads') === 1 ? 'What the thread’s time was spent with' : 'What the time of all threads was spent with'), ...stack(parts));
}

// diagnosisOf returns what to look at first in a run, null for nothing.
function diagnosisOf(run) {
  if (run.diagnosis.length === 0) return null;
  const items = run.diagnosis.map(f => element('li', {}, f.text, f.try ? element('code', {}, f.try) : null));
  return element('div', {class: 'diagnosis'}, element('h3', {}, 'What to look at first'), element('ol', {}, ...items));
}

// factsOf returns a table of the facts of the recordings, a column for each.
function factsOf(data) {
  const names = [...new Set(data.runs.flatMap(run => run.facts.map(f => f.name)))];
  if (names.length === 0) return null;
  const title = 'Machine and recording';
  const rows = names.map(name => [name, ...data.runs.map(run => run.facts.find(f => f.name === name)?.value ?? unknown)]);
  return section('facts', title, null, withTools(title, plainTable(title, ['', ...data.runs.map(r => r.name)], rows)));
}

// origin says in a line on what the application ran. The title has the machine and the date.
function origin(run) {
  return ['kernel', 'CPU', 'file system'].flatMap(name => run.facts.filter(f => f.name === name).map(f => `${name} ${f.value}`)).join(' · ');
}

// colorOf returns the name of a class's colour.
function colorOf(name) {
  return name.replace(' ', '-');
}

// piecewise adds up parts by piece of time.
function piecewise(run, parts, of) {
  const out = new Array(Math.floor(run.run_time_seconds / run.parts.piece_seconds) + 1).fill(0);
  for (const p of parts) out[p.piece] += of(p);
  return out;
}

// lackingAny says why the page can't add up a selection, '' if it can for some run.
function lackingAny(data, now) {
  const why = data.runs.map(run => lacking(run, now));
  return why.every(w => w) ? why[0] : '';
}

// curvesOf returns the lines of a run's cumulative profile, or of a selection: {times, lines:
// [{name, seconds}]}, in seconds at each of the times.
function curvesOf(run, now) {
  const {column_seconds: column, lines} = run.curves;
  const end = run.run_time_seconds;
  if (nothing(now)) return {times: (lines[0]?.seconds || []).map((_, i, all) => i === all.length - 1 ? end : i * column), lines};
  const parts = lacking(run, now) ? [] : selected(run, now);
  const chosen = run.parts.classes.map(name => {
    let before = 0;
    return {name, seconds: [0, ...piecewise(run, parts, p => p.class === name ? p.seconds : 0).map(n => before += n)]};
  });
  return {times: chosen[0].seconds.map((_, i) => Math.min(i * run.parts.piece_seconds, end)), lines: chosen.filter(l => l.seconds.at(-1) > 0)};
}

// allTimes returns the times of several runs in order, each once, to the nanosecond.
function allTimes(lists) {
  return [...new Set(lists.flat().map(t => Math.round(t * 1e9)))].sort((a, b) => a - b).map(n => n / 1e9);
}

// between returns the values of a line at other times; null is beyond its end.
function between(times, values, x) {
  let at = 1;
  return x.map(t => {
    while (at < times.length - 1 && times[at] < t - 1e-10) at++;
    if (t > times.at(-1) + 1e-10) return null;
    const [from, to] = [times[at - 1], times[at]];
    return values[at - 1] + (to > from ? Math.min((t - from) / (to - from), 1) : 1) * (values[at] - values[at - 1]);
  });
}

// curveLines returns the lines of all runs over one axis.
function curveLines(data, now) {
  const all = data.runs.map(run => curvesOf(run, now));
  const x = allTimes(all.map(run => run.times));
  const lines = all.flatMap(({times, lines}, i) => lines.map(line => ({
    series: {label: named(data, i, line.name), color: colorOf(line.name), dash: dashOf(i), hidden: nothing(now) && line.name === 'communication' && lines.length > 1},
    y: between(times, line.seconds, x),
  })));
  return {series: lines.map(l => l.series), data: [x, ...lines.map(l => l.y)]};
}

function curveChart(data, now) {
  const title = 'Cumulative I/O profile';
  const why = lackingAny(data, now);
  if (why) return unanswered(title, why);
  const {series, data: table} = curveLines(data, now);
  if (series.length === 0) return unanswered(title, 'No time was spent in calls of the selection.');
  return chart({
    title,
    note: (nothing(now) ? 'Time spent in calls so far, by all threads together, against elapsed time. ' : `Time spent in calls so far, only of ${selectionPhrase(now)}, by when calls began, in pieces of ${seconds(data.runs[0].parts.piece_seconds)}. `) +
      (data.comparison ? `Broken lines are those of ${data.runs[1].name}. ` : data.runs.length > 1 ? 'Broken lines are those of the recordings after the first. ' : '') +
      (series.some(s => s.hidden) ? 'Communication is no I/O: its button shows it.' : ''),
    hint: 'Drag over the chart, or hold Shift and use the arrow keys, to select a part of the time; double-click to go back.',
    summary: series.map((s, i) => `${s.label} ends at ${seconds(table[i + 1].findLast(v => v !== null))}`).join(', ') + '.',
    series, data: table, show: seconds, xText: seconds, height: 340, sync: 'time', time: true,
    x: {ticks: ticks(timeUnits), label: 'elapsed time'}, y: {ticks: ticks(timeUnits), label: 'time in calls'},
    table: () => [['elapsed', ...series.map(s => s.label)], rowsOf(table, seconds, seconds)],
  }).figure;
}

const callKeys = ['reads', 'writes', 'syncs', 'metadata_calls', 'mapped_reads', 'mapped_writes'];

// ratesOf returns the intervals of a run, or the pieces of a selection: {width, read, written, calls,
// io, flight, replies}, with a value for each.
function ratesOf(run, now) {
  if (nothing(now)) {
    const of = f => run.intervals.map(f);
    return {
      width: run.interval_seconds, read: of(v => v.bytes_read + v.bytes_mapped_read), written: of(v => v.bytes_written + v.bytes_mapped_written),
      calls: callKeys.map(key => of(v => v[key])), io: of(v => v.seconds), flight: of(v => v.in_flight_seconds), replies: of(v => v.replies ?? 0),
    };
  }
  const parts = lacking(run, now) ? [] : selected(run, now);
  const of = f => piecewise(run, parts, f);
  return {
    width: run.parts.piece_seconds, read: of(p => /read$/.test(p.class) ? p.bytes : 0), written: of(p => /write$/.test(p.class) ? p.bytes : 0),
    calls: run.parts.classes.map(name => of(p => p.class === name ? p.calls : 0)),
  };
}

const rateKinds = [
  {
    lines: [[run => run.replies, 'replies', 'submit']], whole: true,
    title: 'Requests of clients per second', show: v => amount(v) + '/s', label: 'replies per second', ticks: ticks(countUnits), note: 'Replies to clients that were not recorded.',
  },
  {lines: [[run => run.read, 'read', 'read'], [run => run.written, 'written', 'write']], title: 'Throughput', none: 'No bytes were moved in calls of the selection.', show: rate, label: 'bytes per second', ticks: v => ticks(byteUnits)(v).map(t => t === '0' ? t : t + '/s')},
  {lines: classes.map((name, k) => [run => run.calls[k], name.replace('-', ' '), name]), title: 'Calls per second', none: 'No calls are in the selection.', show: v => amount(v) + '/s', label: 'calls per second', ticks: ticks(countUnits)},
  {
    lines: [[run => run.io, 'threads in I/O', 'sync'], [run => run.flight, 'requests in flight', 'submit']], whole: true,
    title: 'In I/O at once', show: amount, label: 'on average', ticks: ticks(countUnits), note: 'How many threads were in calls on files, and how many requests of io_uring and libaio were in flight, on average over an interval.',
  },
];

// rateChart is of bytes or of calls a second.
function rateChart(data, kind, now) {
  const why = kind.whole && !nothing(now) ? wholeOnly : lackingAny(data, now);
  if (why) return unanswered(kind.title, why);
  const rates = data.runs.map(run => ratesOf(run, now));
  const x = allTimes(rates.map(r => [...r.read.map((_, i) => i * r.width), r.read.length * r.width])); // where each interval begins, and the end
  // Steps reach to the next x, so the last value is there twice.
  const steps = (list, width) => x.map(t => {
    const i = Math.floor(t / width + 1e-6);
    return list.length > 0 && i <= list.length ? list[Math.min(i, list.length - 1)] / width : null;
  });
  const series = [];
  const ys = [];
  rates.forEach((run, i) => kind.lines.forEach(([of, label, name]) => {
    const list = of(run);
    if (!list?.some(v => v > 0)) return;
    series.push({label: named(data, i, label), color: name, dash: dashOf(i), stepped: true, fill: i === 0});
    ys.push(steps(list, run.width));
  }));
  if (series.length === 0) return unanswered(kind.title, kind.none);
  const xText = v => `from ${seconds(v)}`;
  const table = [x, ...ys];
  return chart({
    title: kind.title, series, data: table, show: kind.show, xText, sync: 'time', time: true, height: 230,
    note: (nothing(now) ? '' : `Only of ${selectionPhrase(now)}. `) + `${kind.note || 'Counted where a call began.'} In intervals of ${[...new Set(rates.map(r => brief(seconds(r.width))))].join(' and ')}; the last may be cut short.`,
    summary: series.map((s, i) => `${s.label} at most ${kind.show(Math.max(...ys[i]))}`).join(', ') + '.',
    x: {ticks: ticks(timeUnits), label: 'elapsed time'}, y: {ticks: kind.ticks, label: kind.label},
    table: () => [['interval', ...series.map(s => s.label)], rowsOf(table, xText, kind.show)],
  }).figure;
}

// shownOperations is how many operations have a distribution.
const shownOperations = 12;

// chosenLatency returns the bars of the operations of a selection as latency_by_operation has
// them of the whole run, in powers of two.
function chosenLatency(run, now) {
  const from = run.parts.durations_seconds;
  const start = i => Math.max(from[i] ?? 2 * from.at(-1), from[1] / 2);
  const byOp = new Map();
  for (const p of selected(run, now)) {
    const l = byOp.get(p.operation) || {name: p.operation, calls: 0, seconds: 0, counts: from.map(() => 0)};
    byOp.set(p.operation, l);
    l.seconds += p.seconds;
    p.counts.forEach((n, i) => { l.counts[p.first + i] += n; l.calls += n; });
  }
  return [...byOp.values()].filter(l => l.calls > 0).sort((a, b) => b.seconds - a.seconds)
    .map(l => ({...l, bars: l.counts.map((calls, i) => ({from_seconds: start(i), to_seconds: start(i + 1) - 1e-9, calls})).filter(b => b.calls > 0)}));
}

// latencyBars returns the bars of some operations over one axis: {x, first, latency: [{op, calls,
// bars: [first, last, calls]}]}. x are the bounds of all bars; whole says that there are eight to a
// power of two, or one to a nanosecond, and else there is one. These are whole nanoseconds, as
// the clock counts, so that equal bounds are found.
function latencyBars(operations, whole) {
  const nanos = value => Math.round(value * 1e9);
  const latency = operations.slice(0, shownOperations).map(l => ({op: l.name, calls: l.calls, bars: l.bars.map(b => [nanos(b.from_seconds), nanos(b.to_seconds), b.calls])}));
  const first = Math.max(Math.min(...latency.map(l => l.bars[0][0])), 1);
  const last = Math.max(...latency.map(l => l.bars.at(-1)[1]));
  const x = [];
  for (let v = first; v <= last; v += !whole ? v : v < 16 ? 1 : 2 ** (Math.floor(Math.log2(v)) - 3)) x.push(v);
  x.push(last + 1);
  return {x, first, latency};
}

// latencyFigure shows the durations of a run's operations in one of two ways.
function latencyFigure(run, now) {
  const title = 'How long calls took';
  const why = lacking(run, now);
  const all = run.latency_by_operation;
  const chosen = nothing(without(now, 'operation')) ? all.filter(l => l.name === now.operation) : [];
  const whole = nothing(now) || chosen.length > 0;
  const operations = why ? [] : chosen.length > 0 ? chosen : whole ? all : chosenLatency(run, now);
  if (operations.length === 0) return unanswered(title, why || `No call of ${selectionPhrase(now)} has a duration.`);
  const {x, first, latency} = latencyBars(operations, whole);
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
  const froms = run.sizes.map(row => row.from);
  const holder = element('div', {});
  const show = key => {
    const text = key === 'calls' ? amount : bytes;
    const data = (key === 'calls' ? ['reads', 'writes'] : ['bytes_read', 'bytes_written']).map(name => run.sizes.map(row => row[name]));
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

// mixFigure shows which calls a run made over time: of which operations, or of which sizes by the
// power of ten.
function mixFigure(run) {
  const bySize = key => () => ({
    width: run.interval_seconds, note: 'By powers of ten: 1 kB stands for 1 kB to just below 10 kB.',
    lines: [...new Set(run.intervals.flatMap(v => (v[key] ?? []).map(s => s.value)))].sort((a, b) => a - b)
      .map(from => ({label: bytes(from), values: run.intervals.map(v => v[key]?.find(s => s.value === from)?.calls ?? 0)})),
  });
  const kinds = {
    operation: () => {
      const parts = Object.groupBy(callsOf(run), p => p.operation);
      const lines = Object.entries(parts).map(([label, list]) => ({label, values: piecewise(run, list, p => p.calls)}));
      return {width: run.parts.piece_seconds, note: 'Those with the most calls first.', lines: lines.sort((a, b) => sum(b.values, v => v) - sum(a.values, v => v))};
    },
    reads: bySize('reads_by_size'), writes: bySize('writes_by_size'),
  };
  const holder = element('div', {});
  const show = kind => {
    const {width, note, lines} = kinds[kind]();
    const x = Array.from({length: (lines[0]?.values.length ?? 0) + 1}, (_, i) => i * width);
    const data = [x, ...lines.map(l => [...l.values, l.values.at(-1)])]; // steps reach to the next x
    const series = lines.map((l, i) => ({label: l.label, color: opColors[i % opColors.length], dash: Math.floor(i / opColors.length) * 2, hidden: i >= opColors.length, stepped: true}));
    const xText = v => `from ${seconds(v)}`;
    holder.replaceChildren(chart({
      title: 'Calls over time', note: `Counted where a call began, in intervals of ${brief(seconds(width))}. ${note}`, controls, series, data, show: amount, xText, sync: 'time', time: true, height: 230,
      summary: lines.map(l => `${l.label} at most ${amount(Math.max(...l.values))}`).join(', ') + '.',
      x: {ticks: ticks(timeUnits), label: 'elapsed time'}, y: {ticks: ticks(countUnits), label: 'calls in an interval'},
      table: () => [['interval', ...lines.map(l => l.label)], rowsOf(data, xText, amount)],
    }).figure);
  };
  const options = [['operation', 'by operation'], ...['reads', 'writes'].filter(k => kinds[k]().lines.length > 0).map(k => [k, `${k} by size`])];
  const controls = element('div', {class: 'controls'}, select('Calls', options, show));
  show('operation');
  return holder;
}

// levelsOf returns how many numbers of threads were in I/O at once.
function levelsOf(runs) {
  return Math.max(...runs.map(r => r.io_concurrency_seconds.length));
}

// concurrencyFigure is of one run, or of two side by side.
function concurrencyFigure(runs) {
  const levels = levelsOf(runs);
  const shares = runs.map(r => Array.from({length: levels}, (_, i) => (r.io_concurrency_seconds[i] || 0) / Math.max(r.run_time_seconds, 1e-9)));
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
  const rows = run.critical_path.map(s => ({...s, share: s.seconds / Math.max(run.run_time_seconds, 1e-9)}));
  const operations = new Set(run.parts.operations);
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

// shortened returns a name, or its last part if there is no room for all.
function shortened(name) {
  const at = name.lastIndexOf('/');
  return element('span', {class: 'what'}, element('span', {class: 'head'}, name.slice(0, at + 1)), element('span', {class: 'tail'}, name.slice(at + 1)));
}

// topsOf lists where the most time went: the first files, operations and threads of
// a run. What is clicked is selected.
function topsOf(run) {
  const lists = tables.filter(t => t.pick).map(t => {
    const rows = run[t.rows].filter(row => row.seconds > 0).sort((a, b) => b.seconds - a.seconds).slice(0, 4);
    return rows.length === 0 ? null : element('div', {}, element('h3', {}, t.title), barList(rows.map(row => {
      const button = element('button', {type: 'button', onclick: () => selection.toggle(t.pick(row))}, shortened((t.view === 'thread' ? 'thread ' : '') + row[t.columns[0].key]));
      selection.follow(button, now => button.setAttribute('aria-pressed', String(Object.entries(t.pick(row)).every(([key, value]) => now[key] === value))));
      return {name: button, value: row.seconds, color: 'read'};
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
  if (run.requests) box.append(requestTable(run));
  if (run.critical_path.length > 0) box.append(criticalSection(run));
  if (run.layers.length > 0) box.append(card('layers', layersFigure(run)), functionTable(run));
  if (withConcurrency && levelsOf([run]) > 1) box.append(card('concurrency', wholeRun('I/O concurrency', () => concurrencyFigure([run]))));
  if (run.heat.length > 0) box.append(card('heat', heatFigure(run)));
  if (run.latency_over_time.length > 0) box.append(card('latency-map', latencyMapFigure(run)));
  if (run.latency_by_operation.length > 0) box.append(card('latency', linked(all, now => latencyFigure(run, now))));
  if (run.sizes.length > 0) box.append(card('sizes', wholeRun('Request sizes', () => sizeFigure(run))));
  if (run.operations.length > 0) box.append(card('mix', wholeRun('Calls over time', () => mixFigure(run))));
  if (run.errors.length > 0) box.append(errorTable(run));
  for (const t of tables) {
    if (run[t.rows].length > 0) box.append(tableOf(run, t));
  }
  return box;
}

// coverageNotes returns what the recordings hold of the application's I/O: a
// line, or one for each where they differ.
function coverageNotes(runs) {
  const notes = new Map();
  for (const r of runs) notes.set(r.told, {withheld: r.coverage.withheld, names: [...(notes.get(r.told) || {names: []}).names, r.name]});
  return [...notes].map(([text, n]) => element('p', {class: n.withheld ? 'note withheld' : 'note'}, (notes.size > 1 ? n.names.join(', ') + ': ' : '') + capitalized(text)));
}

// readData returns the data of the page. A run has all that its profile has, with its name,
// its facts and what its coverage says in a sentence.
function readData() {
  const data = JSON.parse(document.getElementById('data').textContent);
  return {...data, runs: data.runs.map(r => ({...r.profile, ...r.profile.charts, name: r.name, facts: r.facts, told: r.coverage}))};
}

function build() {
  const data = readData();
  const main = document.getElementById('main');
  let current = data.runs[0];
  initTheme();
  selection.start();
  document.querySelector('header').append(...[origin(data.runs[0])].filter(text => text).map(text => element('p', {class: 'note'}, text)), ...coverageNotes(data.runs));
  if (data.comparison) main.append(...verdictSections(data.comparison));
  for (const run of data.runs) {
    main.append(element('section', {id: run === data.runs[0] ? 'summary' : newID(), class: 'overview', 'aria-label': 'Summary'},
      element('h2', data.runs.length > 1 ? {} : {class: 'hidden'}, data.runs.length > 1 ? run.name : 'Summary'), diagnosisOf(run), tilesOf(run), timesOf(run), data.runs.length > 1 ? null : topsOf(run)));
  }
  const calls = ['thread', 'file', 'operation'];
  main.append(card('profile', linked(calls, now => curveChart(data, now))));
  const all = data.runs.map(run => ratesOf(run, {}));
  const rates = rateKinds.filter(k => all.some(r => k.lines.some(([of]) => of(r)?.some(v => v > 0))));
  if (rates.length > 0) main.append(element('section', {id: 'rates', class: 'pair', 'aria-label': 'Rates'}, ...rates.map(k => linked(calls, now => rateChart(data, k, now)))));
  if (data.runs.some(run => run.latency_by_class.some(l => l.tail_seconds && l.max_seconds > 0))) main.append(card('tails', wholeRun('Latency by percentile', () => tailFigure(data))));
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
