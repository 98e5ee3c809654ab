// How long calls took: the tail of all, and over time.

// The least part of the calls that the axis of percentiles shows: a millionth.
const leastPart = 6;

// percentileText names the calls that all but a part of 10 to the power of -x are.
function percentileText(x) {
  if (x === 0) return '0' + thin + '%';
  return brief((100 - 100 * 10 ** -x).toFixed(Math.max(Math.ceil(x) - 2, 0) + (Number.isInteger(x) ? 0 : 1))) + thin + '%';
}

// tailFigure shows the percentiles of the classes of all runs, on an axis that gives
// each nine of a percentile as much room as the one before.
function tailFigure(data) {
  const title = 'Latency by percentile';
  const points = Array.from({length: 12 * leastPart + 1}, (_, i) => i / 12);
  const series = [];
  const ys = [];
  // On a logarithmic axis calls that took no time have no place.
  const tails = data.runs.map(run => run.latency_by_class.filter(t => t.tail_seconds && t.max_seconds > 0));
  tails.forEach((list, i) => list.forEach(t => {
    // Where less than one call would be left, there is only the longest.
    series.push({label: named(data, i, t.name), color: colorOf(t.name), dash: dashOf(i), hidden: !judged(t.name) && list.some(o => judged(o.name))});
    ys.push(points.map((_, k) => k < t.tail_seconds.length ? Math.max(t.tail_seconds[k], 1e-9) : null));
  }));
  const last = Math.max(...tails.flat().map(t => t.tail_seconds.length)) - 1;
  const table = [points.slice(0, last + 1), ...ys.map(y => y.slice(0, last + 1))];
  const names = [['p50', 'p50_seconds'], ['p90', 'p90_seconds'], ['p99', 'p99_seconds'], ['p99.9', 'p999_seconds'], ['longest', 'max_seconds']];
  return chart({
    title, series, data: table, show: seconds, xText: percentileText, height: 300,
    note: 'So long did this part of the calls take at most. The axis gives each nine as much room as the one before; lines end with the longest call. ' +
      (data.comparison ? `Broken lines are those of ${data.runs[1].name}.` : data.runs.length > 1 ? 'Broken lines are those of the recordings after the first.' : ''),
    summary: data.runs.flatMap((run, i) => run.latency_by_class.map(l => `${named(data, i, l.name)}: ${names.map(([name, key]) => name + ' ' + seconds(l[key])).join(', ')}`)).join('; ') + '.',
    x: {ticks: values => values.map(v => Number.isInteger(v) ? percentileText(v) : ''), splits: () => Array.from({length: Math.floor(last / 12) + 1}, (_, i) => i), label: 'share of the calls'},
    y: {log: true, ticks: values => values.map(v => v > 0 && Math.abs(Math.log10(v) % 1) < 1e-9 ? ticks(timeUnits)([v])[0] : ''), range: (u, low, high) => [low / 1.3, high * 1.3], label: 'duration'},
    details: 'The percentiles as a table',
    table: () => [['', 'calls', ...names.map(([name]) => name)], data.runs.flatMap((run, i) => run.latency_by_class.map(l => [named(data, i, l.name), count(l.calls), ...names.map(([, key]) => seconds(l[key]))]))],
  }).figure;
}

// judged reports whether a class is I/O.
function judged(name) {
  return name !== 'communication' && name !== 'submit and wait';
}

// latencyMapFigure shows how long the calls of a class took over time.
function latencyMapFigure(run) {
  const maps = run.latency_over_time;
  const [busiest] = run.classes.filter(c => judged(c.name) && c.p50_seconds !== undefined).sort((a, b) => b.seconds - a.seconds);
  let map = maps.find(m => m.name === busiest?.name) || maps[0];
  const grid = gridFigure({
    title: 'Latency over time', end: run.run_time_seconds,
    note: 'Calls that began in a column of time, by how long they took; requests by how long they were in flight. The axis of durations is logarithmic.',
    controls: element('div', {class: 'controls'}, select('Calls', maps.map(m => [m.name, m.name]), name => { map = maps.find(m => m.name === name); grid.show(); }, map.name)),
    amount: count, head: ['duration', 'calls'], row: (row, n) => [range(row), count(n)],
    get() {
      const levels = map.rows.map((bar, row) => [row, bar.from_seconds]).filter(([row]) => row % Math.ceil(map.rows.length / 8) === 0);
      const {thread, file, operation} = selection.now;
      return {
        columns: map.calls.length, rows: map.rows.length, column_seconds: map.column_seconds, cells: map.calls.flat(),
        note: thread === undefined && file === undefined && operation === undefined ? '' : ' It is of all threads, files and operations: the page holds no map of a selection.',
        words: `${map.name}. ${count(sum(map.rows, bar => bar.calls))} calls, each cell ${seconds(map.column_seconds)} wide,`,
        levels: levels.map(([row, from]) => [row, seconds(+from.toPrecision(3))]),
      };
    },
    tell: (column, row, n) => `${range(row)}: ${count(n)} ${n === 1 ? 'call' : 'calls'}`,
  });
  function range(row) {
    return `${seconds(map.rows[row].from_seconds)} to ${seconds(map.rows[row].to_seconds + 1e-9)}`;
  }
  return grid.figure;
}
