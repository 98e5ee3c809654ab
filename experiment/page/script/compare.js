// What a comparison says: the verdict, and the table behind it.

const comparedRows = [['read', 'read'], ['write', 'write'], ['sync', 'sync'], ['metadata', 'metadata'], ['mapped_read', 'mapped read'], ['mapped_write', 'mapped write'], ['elapsed', 'run time']];

// ofReplays reports whether replays of an application are compared: other sides have
// names, which stay as they are where they begin a sentence.
function ofReplays(f) {
  return f.names[0] === 'application' && f.names[1] === 'replay';
}

// rowKeys are the rows that a comparison has: of mapped files only where there are some.
function rowKeys(f) {
  return comparedRows.filter(([key]) => !key.startsWith('mapped') || f.application[key + '_seconds'] !== undefined);
}

// timesSection draws the run time and the time in calls of both sides, with the intervals of the
// medians.
function timesSection(f) {
  const group = ([key, label]) => ({label, rows: [f.application, f.replay].map((side, i) => ({
    name: f.names[i], value: side[key + '_seconds'], low: side.interval_low_seconds?.[key], high: side.interval_high_seconds?.[key],
    color: i === 0 ? 'base' : key === 'elapsed' ? 'compute' : key.replace('_', '-'), note: i === 0 || f.ratio[key] === undefined ? null : ` × ${f.ratio[key].toFixed(3)}`,
  }))});
  const groups = rowKeys(f).map(group);
  const elapsed = groups.pop();
  const most = mostOf(groups.flatMap(g => g.rows));
  const draw = (g, scale) => [element('h3', {}, capitalized(g.label)), barList(g.rows, scale)];
  return section('times', 'Times of ' + f.names.join(' and '), 'Time in calls is that of all threads together; its bars share one scale, and the run time has its own.' +
    (f.application.runs + f.replay.runs > 2 ? ` Medians; lines are their intervals, each of ${percent(0.95)} by itself, if there are six runs.` : ''),
    ...draw(elapsed), ...groups.flatMap(g => draw(g, most)));
}

// verdictSections returns the verdict, the times as a picture, and the table of the original
// paper.
function verdictSections(f) {
  const several = f.confidence !== undefined;
  const head = ['', ...f.names, 'ratio', ...(several ? [`interval (${percent(f.confidence)})`, 'finding'] : []), 'distance'];
  const rows = rowKeys(f).map(([key, label]) => {
    const d = (f.profile_distance || {})[key];
    const ratio = f.ratio[key];
    const low = (f.interval_low || {})[key];
    const high = (f.interval_high || {})[key];
    return [label, seconds(f.application[key + '_seconds']), seconds(f.replay[key + '_seconds']), ratioCell(ratio, standingOf(f, key.replace('_', ' '))),
      ...(several ? [low === undefined ? unknown : `${low.toFixed(3)} to ${high.toFixed(3)}`, (f.finding[key] || unknown).replaceAll('_', ' ')] : []),
      d ? d.max.toFixed(3) : unknown];
  });
  const r = f.requests;
  if (r) {
    rows.push(['requests/s', ...[r.application, r.replay].map(side => side.per_second === undefined ? unknown : amount(side.per_second)), ratioCell(r.ratio, standingOf(f, 'requests')),
      ...(several ? [r.interval_low === undefined ? unknown : `${r.interval_low.toFixed(3)} to ${r.interval_high.toFixed(3)}`, (r.finding || unknown).replaceAll('_', ' ')] : []), unknown]);
  }
  const note = several ? `Medians of ${f.application.runs} runs of ${f.names[0]} and ${f.replay.runs} of ${f.names[1]}. ` : '';
  return [
    element('p', {class: 'verdict ' + verdictOf(f)},
      element('strong', {}, element('span', {'aria-hidden': 'true'}, {within: '✓ ', outside: '✗ ', inconclusive: '? ', differs: '≠ ', compared: ''}[verdictOf(f)]), ofReplays(f) ? capitalized(f.answer) : f.answer),
      ...f.remarks.map(text => element('span', {}, text))),
    timesSection(f),
    checksSection(f),
    section('compared', 'Ratios of ' + f.names.join(' and '),
      note + 'Time in calls. The distance is the largest vertical one between the two cumulative profiles, both scaled to 1.',
      withTools('Ratios', plainTable('Ratios', head, rows))),
    latencySection(f),
  ].filter(s => s);
}

// checkStates are the classes of the states of checks, the gravest first.
const checkStates = {failed: 'outside', unknown: 'inconclusive', inconclusive: 'inconclusive', passed: 'within'};

// fails reports whether a row outside the tolerance is a failure: a replay that differs from its
// application, or a run that is slower than its baseline. A faster system is none.
function fails(f, row) {
  return ofReplays(f) || f.names[0] === 'baseline' && f.ratio[row.replace(' ', '_')] > 1;
}

// verdictOf returns what decides the exit status: the checks, or else the tolerance.
function verdictOf(f) {
  if (!f.checks) return f.verdict === 'outside' && !f.outside.some(row => fails(f, row)) ? 'differs' : f.verdict;
  return checkStates[Object.keys(checkStates).find(state => f.checks.some(c => c.state === state))];
}

// checksSection lists what checks came to, null for none.
function checksSection(f) {
  if (!f.checks) return null;
  const rows = f.checks.map(c => {
    const value = v => v === undefined ? unknown : {seconds, bytes, bytes_per_second: v => bytes(v) + '/s', calls: count}[c.unit](v);
    const end = c.relative ? v => v.toFixed(3) : value;
    return [c.check, element('span', {class: checkStates[c.state]}, c.state), value(c.application), value(c.replay), c.ratio === undefined ? unknown : c.ratio.toFixed(3),
      c.interval_low === undefined ? unknown : `${end(c.interval_low)} to ${end(c.interval_high)}`, c.reason || (c.exact ? `exact: the same in ${f.application.runs} runs of ${f.names[0]}` : '')];
  });
  return section('checks', 'Checks', 'A check fails only if the interval says so, or a count that is the same in all runs of the first side; where there is neither the runs are too few, and the medians of times decide. The interval of a bound in per cent is that of the ratio, of one with a sign that of the difference, of any other that of the value.',
    withTools('Checks', plainTable('Checks', ['check', '', ...f.names, 'ratio', 'interval', ''], rows)));
}

// latencySection compares the percentiles of both sides.
function latencySection(f) {
  const names = [['p50', 'p50'], ['p90', 'p90'], ['p99', 'p99'], ['p999', 'p99.9'], ['max', 'longest']];
  const rows = comparedRows.filter(([key]) => f.latency_ratios[key]).flatMap(([key, label]) => {
    const times = side => names.map(([name]) => seconds(side.latency[key][name + '_seconds']));
    const {ratio, interval_low: low, interval_high: high} = f.latency_ratios[key];
    const of = (list, name) => list?.[name] === undefined ? unknown : list[name].toFixed(3);
    return [
      [label, f.names[0], ...times(f.application)], [label, f.names[1], ...times(f.replay)], 
      [label, 'ratio', ...names.map(([name]) => of(ratio, name) + (low ? ` (${of(low, name)} to ${of(high, name)})` : ''))],
    ];
  });
  const title = 'Latency of ' + f.names.join(' and ');
  return rows.length === 0 ? null : section('latencies', title,
    'How long single calls took. ' + (f.application.runs + f.replay.runs > 2 ? 'Medians over the runs; each interval holds with 99 % by itself.' : ''),
    withTools(title, plainTable(title, ['', '', ...names.map(n => n[1])], rows)));
}

// differSections list the operations that are I/O, and the files, by how much
// their times differ.
function differSections(f) {
  const operations = f.operations.filter(o => o.class);
  return [
    differTable({id: 'differ', title: 'Operations that differ most', pick: row => ({operation: row.name})}, 'operation', f.names, operations),
    f.files.length > 0 ? differTable({id: 'differ-files', title: 'Files that differ most', pick: row => ({file: row.name})}, 'file', f.names, f.files) : null,
  ].filter(s => s);
}

function differTable(what, label, names, list) {
  const rows = list.map(o => ({
    name: o.name, application: o.application.seconds, replay: o.replay.seconds, ratio: o.ratio,
    difference: o.application.seconds === undefined || o.replay.seconds === undefined ? undefined : o.replay.seconds - o.application.seconds,
    size: Math.abs((o.replay.seconds ?? 0) - (o.application.seconds ?? 0)), calls: o.application.calls, replays: o.replay.calls,
  }));
  return newTable({...what, all: rows.length, by: 'size'}, [
    {key: 'name', label, kind: 'words'},
    {key: 'application', label: names[0], kind: 'seconds'},
    {key: 'replay', label: names[1], kind: 'seconds'},
    {key: 'difference', label: 'difference', kind: 'signed'},
    {key: 'ratio', label: 'ratio', kind: 'ratio'},
    {key: 'calls', label: 'calls', kind: 'number'},
    {key: 'replays', label: names[1] + ' calls', kind: 'number'},
    {key: 'size', label: 'size of difference', kind: 'seconds', extra: true},
  ], rows);
}

// standingOf returns the class, the mark and the words of what a row adds to the verdict.
function standingOf(f, row) {
  if (f.tolerance === undefined || row === 'elapsed' && f.requests?.ratio !== undefined) return ['', '', 'not judged'];
  if (f.below_noise_floor.includes(row)) return ['small', '', 'too short to be judged'];
  if (f.outside.includes(row) && fails(f, row)) return ['outside', ' ✗', 'outside the tolerance'];
  if (f.outside.includes(row)) return ['differs', ' ≠', 'outside the tolerance'];
  if (f.undecided.includes(row)) return ['inconclusive', ' ?', 'undecided'];
  return ['within', ' ✓', 'inside the tolerance'];
}

// ratioCell says a ratio, and by a mark whether it is inside the tolerance.
function ratioCell(ratio, [name, mark, words]) {
  if (ratio === undefined) return unknown;
  return element('span', {class: name, title: words}, ratio.toFixed(3), element('span', {'aria-hidden': 'true'}, mark), element('span', {class: 'hidden'}, ', ' + words));
}
