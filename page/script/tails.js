// How long calls took: the tail of all, and over time.

// The least part of the calls that the axis of percentiles shows: a millionth.
const leastPart = 6;

// percentileText names the calls that all but a part of 10 to the power of -x are.
function percentileText(x) {
  if (x === 0) return '0' + thin + '%';
  return brief((100 - 100 * 10 ** -x).toFixed(Math.max(Math.ceil(x) - 2, 0) + (Number.isInteger(x) ? 0 : 1))) + thin + '%';
}

// tailFigure shows the percentiles of the categories of all runs, on an axis that gives
// each nine of a percentile as much room as the one before.
function tailFigure(data) {
  const title = 'Latency by percentile';
  const points = Array.from({length: 12 * leastPart + 1}, (_, i) => i / 12);
  const series = [];
  const ys = [];
  data.runs.forEach((run, i) => run.tails.forEach(t => {
    // Where less than one call would be left, there is only the longest.
    series.push({label: named(data, i, t.category), color: categoryColor(t.category), dash: dashOf(i), hidden: !judged(t.category) && run.tails.some(o => judged(o.category))});
    ys.push(points.map((_, k) => k < t.nanos.length ? Math.max(t.nanos[k], 1) / 1e9 : null));
  }));
  const last = Math.max(...data.runs.flatMap(run => run.tails.map(t => t.nanos.length))) - 1;
  const table = [points.slice(0, last + 1), ...ys.map(y => y.slice(0, last + 1))];
  const names = ['p50', 'p90', 'p99', 'p99.9', 'longest'];
  return chart({
    title, series, data: table, show: seconds, xText: percentileText, height: 300,
    note: 'So long did this part of the calls take at most. The axis gives each nine as much room as the one before; lines end with the longest call. ' +
      (data.comparison ? `Broken lines are those of ${data.runs[1].name}.` : data.runs.length > 1 ? 'Broken lines are those of the recordings after the first.' : ''),
    summary: data.runs.flatMap((run, i) => run.tails.map(t => `${named(data, i, t.category)}: ${names.map((name, k) => name + ' ' + seconds(t.quantiles[k] / 1e9)).join(', ')}`)).join('; ') + '.',
    x: {ticks: values => values.map(v => Number.isInteger(v) ? percentileText(v) : ''), splits: () => Array.from({length: Math.ceil(last / 12) + 1}, (_, i) => i), label: 'share of the calls'},
    y: {log: true, ticks: values => values.map(v => v > 0 && Math.abs(Math.log10(v) % 1) < 1e-9 ? ticks(timeUnits)([v])[0] : ''), range: (u, low, high) => [low / 1.3, high * 1.3], label: 'duration'},
    details: 'The percentiles as a table',
    table: () => [['', 'calls', ...names], data.runs.flatMap((run, i) => run.tails.map(t => [named(data, i, t.category), count(t.calls), ...t.quantiles.map(n => seconds(n / 1e9))]))],
  }).figure;
}

// judged reports whether a category is I/O.
function judged(category) {
  return category !== 'communication' && category !== 'submit and wait';
}

// latencyMapFigure shows how long the calls of a category took over time.
function latencyMapFigure(run) {
  const busiest = run.tails.filter(t => judged(t.category)).map(t => t.category).sort((a, b) => run.categories[categoryPlace(run, b)].nanos - run.categories[categoryPlace(run, a)].nanos)[0];
  let map = run.latency_maps.find(m => m.category === busiest) || run.latency_maps[0];
  const grid = gridFigure({
    title: 'Latency over time', end: run.run_time / 1e9,
    note: 'Calls that began in a column of time, by how long they took; requests by how long they were in flight. The axis of durations is logarithmic.',
    controls: element('div', {class: 'controls'}, select('Calls', run.latency_maps.map(m => [m.category, m.category]), name => { map = run.latency_maps.find(m => m.category === name); grid.show(); }, map.category)),
    amount: count, head: ['duration', 'calls'], row: (row, n) => [range(row), count(n)],
    get() {
      const levels = map.rows.map(([from], row) => [row, from]).filter(([row]) => row % Math.ceil(map.rows.length / 8) === 0);
      const {thread, file, operation} = selection.now;
      return {
        columns: map.columns, rows: map.rows.length, column_nanos: map.column_nanos, cells: map.cells,
        note: thread === undefined && file === undefined && operation === undefined ? '' : ' It is of all threads, files and operations: the page holds no map of a selection.',
        words: `${map.category}. ${count(map.cells.reduce((a, b) => a + b, 0))} calls, each cell ${seconds(map.column_nanos / 1e9)} wide,`,
        levels: levels.map(([row, from]) => [row, seconds(+(from / 1e9).toPrecision(3))]),
      };
    },
    tell: (column, row, n) => `${range(row)}: ${count(n)} ${n === 1 ? 'call' : 'calls'}`,
  });
  function range(row) {
    const [from, to] = map.rows[row];
    return `${seconds(from / 1e9)} to ${seconds((to + 1) / 1e9)}`;
  }
  return grid.figure;
}

// categoryPlace returns the place of a category in a run's totals.
function categoryPlace(run, category) {
  return run.parts.categories.indexOf(category);
}
