// The page of an experiment, from its document.

const measures = [['elapsed', 'run time'], ['read', 'read'], ['write', 'write'], ['sync', 'sync'], ['metadata', 'metadata'], ['mapped_read', 'mapped read'], ['mapped_write', 'mapped write']];

const timeOf = (side, key) => side[key + '_seconds'];

// few reports whether a side has too few runs for an interval.
const few = (side, key) => (side.finding || {})[key] === 'too_few_runs_to_tell';

// barsOf draws a measure of the sides of a subject.
function barsOf(subject, key) {
  const sides = subject.sides.filter(s => timeOf(s, key) !== undefined);
  const bound = (side, name) => {
    const base = sides.find(s => s.name === side.base), ratio = (side[name] || {})[key];
    return base && ratio !== undefined && !few(side, key) ? ratio * timeOf(base, key) : undefined;
  };
  return barList(sides.map(s => ({
    name: s.name, value: timeOf(s, key), low: bound(s, 'interval_low'), high: bound(s, 'interval_high'),
    color: s.base === undefined || s.kind !== 'replayed' ? 'base' : s.breaks_results ? 'broken' : 'read',
  })));
}

// barSection shows one measure at a time.
function barSection(d) {
  const known = measures.filter(([key]) => d.subjects.some(w => w.sides.some(s => timeOf(s, key) > 0)));
  const holder = element('div', {});
  const show = key => holder.replaceChildren(...d.subjects.map(w => element('section', {class: 'subject'}, d.subjects.length > 1 ? element('h3', {}, w.name) : '', barsOf(w, key))));
  if (known.length > 0) show(known[0][0]);
  const scale = d.subjects.length > 1 ? ' Each workload has a scale of its own.' : '';
  return section('times', 'Times', `Medians, and as a line the interval in which they lie, set against the side that each is compared with. Time in calls is that of all threads together.${scale}`,
    element('div', {class: 'controls'}, select('Show', known, show)), holder);
}

// remarkOf says what a figure of a side hides.
function remarkOf(s) {
  return [
    s.error ? 'left out: ' + s.error : s.breaks_results ? 'breaks results: ' + s.example : s.unchanged ? 'the trace is that of the baseline' : s.differed ? count(s.differed) + ' events differed: ' + s.example : '',
    s.bound ? s.bound + ' it, so its run time does not show how fast the storage is' : '',
  ].filter(text => text).join('; ') || undefined;
}

// rowOf returns a side as a row of the table.
function rowOf(subject, s) {
  const row = {
    subject: subject.name, name: s.name, base: s.base, gain: s.gain, low: few(s, 'elapsed') ? undefined : s.gain_low, high: few(s, 'elapsed') ? undefined : s.gain_high, runs: s.runs, failed: s.failed, differed: s.differed, io: s.io_seconds,
    finding: ((s.finding || {}).elapsed || '').replaceAll('_', ' ') || undefined, remark: remarkOf(s),
  };
  for (const [key] of measures) {
    row[key] = timeOf(s, key);
    row[key + 'Ratio'] = (s.ratio || {})[key];
    row[key + 'P99'] = ((s.latency || {})[key] || {}).p99_seconds;
  }
  return row;
}

// sidesTable shows all sides of all subjects.
function sidesTable(d) {
  const rows = d.subjects.flatMap(w => w.sides.map(s => rowOf(w, s)));
  const several = d.subjects.length > 1;
  return newTable({id: 'sides', title: 'Sides', all: rows.length, by: several ? 'elapsedRatio' : 'gain'}, [
    ...(several ? [{key: 'subject', label: 'workload', kind: 'words'}] : []),
    {key: 'name', label: 'side', kind: 'words'},
    {key: 'elapsed', label: 'run time', kind: 'seconds'},
    {key: 'elapsedRatio', label: 'ratio', kind: 'ratio'},
    {key: 'gain', label: 'gain', kind: 'share'},
    {key: 'low', label: `at least (${percent(d.confidence)})`, kind: 'share'},
    {key: 'high', label: 'at most', kind: 'share'},
    {key: 'finding', label: 'finding', kind: 'words'},
    {key: 'base', label: 'compared with', kind: 'words', extra: true},
    ...(rows.some(r => r.remark) ? [{key: 'remark', label: 'remark', kind: 'words'}] : []), // beside the gain that it puts right
    {key: 'io', label: 'I/O time', kind: 'seconds'},
    {key: 'readP99', label: 'p99 of reads', kind: 'seconds'},
    {key: 'syncP99', label: 'p99 of syncs', kind: 'seconds'},
    ...measures.slice(1).flatMap(([key, label]) => [{key, label, kind: 'seconds', extra: true}, {key: key + 'Ratio', label: label + ' ratio', kind: 'ratio', extra: true}]),
    {key: 'runs', label: 'runs', kind: 'number', extra: true},
    {key: 'failed', label: 'failed', kind: 'number', extra: true},
    {key: 'differed', label: 'differed', kind: 'number', extra: true},
  ], rows);
}

// meanSection shows the geometric means over workloads.
function meanSection(means) {
  const interval = m => m.interval_low === undefined ? '' : ` (${digits(m.interval_low, 3)} to ${digits(m.interval_high, 3)})`;
  return section('means', 'Geometric means', 'Of the ratios of run times of all workloads; each workload has the same weight.', element('ul', {}, ...means.map(m =>
    element('li', {}, `${m.side}: ${digits(m.ratio, 3)} of ${m.base}${interval(m)}, ${count(m.subjects)} workloads`))));
}

// adviceSection shows the findings, and the results of their candidates.
function adviceSection(d) {
  const outcomes = {worth_doing: 'worth doing', beyond_program: 'beyond the program', no_gain: 'no certain gain', not_tried: 'not tried'};
  return section('advice', 'Advice', 'What takes the time, and what was tried against it.', element('ol', {}, ...d.findings.map(f =>
    element('li', {}, f.text, element('ul', {}, ...f.candidates.map(c => {
      const s = d.subjects[0].sides.find(side => side.name === c.name) || {};
      const gain = s.gain === undefined ? '' : ': ' + percent(s.gain) + (s.gain_low === undefined ? '' : ` (${percent(s.gain_low)} to ${percent(s.gain_high)})`);
      return element('li', {}, element('strong', {}, c.name), ` ${outcomes[c.outcome]}${gain}`, c.why ? ': ' + c.why : '', c.risk ? '; it risks ' + c.risk : '');
    }))))));
}

function build() {
  const data = JSON.parse(document.getElementById('data').textContent);
  const d = data.figures;
  const main = document.getElementById('main'), header = document.querySelector('header');
  initTheme();
  const note = (text, kind) => text && header.append(element('p', {class: kind || 'note'}, text));
  note([d.subjects.length === 1 ? d.subjects[0].name : '', ...Object.entries(d.options).map(([k, v]) => k + ' ' + v)].filter(word => word).join(' · '));
  const storages = new Map(d.subjects.flatMap(w => w.sides).filter(s => s.storage).map(s => [s.root_name || s.name, s.storage]));
  for (const [name, storage] of storages) note(name + ': ' + storage);
  const withheld = data.coverage && d.subjects[0].coverage.withheld;
  if (data.coverage) note(capitalized(data.coverage), withheld ? 'note withheld' : 'note');
  const gains = d.subjects.some(w => w.sides.some(s => s.steps.length > 0 && !s.breaks_results && !s.error && (s.finding || {}).elapsed === 'differs' && s.gain > 0));
  main.append(element('p', {class: 'verdict ' + (gains && !withheld ? 'within' : 'inconclusive')}, ...d.conclusion.split('\n').map(line => element('strong', {}, capitalized(line))),
    d.interrupted ? element('span', {}, 'Incomplete: some runs are missing.') : null));
  if (d.findings) main.append(adviceSection(d));
  main.append(barSection(d));
  if (d.geometric_means) main.append(meanSection(d.geometric_means));
  main.append(sidesTable(d));
  main.dataset.ready = 'true';
}

build();
