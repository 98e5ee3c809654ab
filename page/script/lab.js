// The page of a laboratory, from its data.

const measures = [['elapsed', 'run time'], ['read', 'read'], ['write', 'write'], ['sync', 'sync'], ['metadata', 'metadata'], ['mapped_read', 'mapped read'], ['mapped_write', 'mapped write']];

// labelOf names a trial, with its root where there are several, and only by that
// where all are the baseline. roots says which: 'only', 'also', or '' for one root.
function labelOf(trial, roots) {
  const root = trial.root_name || trial.root;
  return roots && root ? roots === 'only' ? root : trial.name + ' on ' + root : trial.name;
}

// barsOf draws a measure of all trials as bars, with the interval of each as a
// line across its end.
function barsOf(trials, baseline, key, roots) {
  const of = t => t[key + '_seconds'];
  const bound = (t, name) => (t[name] || {})[key] === undefined ? undefined : t[name][key] * of(baseline);
  const most = Math.max(...trials.map(t => Math.max(of(t) || 0, bound(t, 'interval_high') || 0))) || 1;
  return element('ul', {class: 'bars'}, ...trials.map(t => {
    const v = of(t);
    const track = element('span', {class: 'track', 'aria-hidden': 'true'});
    if (v !== undefined) {
      const bar = element('span', {class: 'bar ' + (t === baseline || t.name === 'application' ? 'c-base' : t.breaks_results ? 'c-broken' : 'c-read')});
      bar.style.width = 100 * v / most + '%';
      track.append(bar);
    }
    const [low, high] = [bound(t, 'interval_low'), bound(t, 'interval_high')];
    if (low !== undefined) {
      const line = element('span', {class: 'between'});
      line.style.left = 100 * low / most + '%';
      line.style.width = 100 * (high - low) / most + '%';
      track.append(line);
    }
    return element('li', {}, element('span', {class: 'what'}, labelOf(t, roots)), track, element('span', {class: 'value'}, v === undefined ? unknown : seconds(v)));
  }));
}

// barSection shows one measure at a time.
function barSection(d, trials, roots) {
  const baseline = roots === 'only' ? labelOf(d.baseline, roots) : 'the baseline';
  const known = measures.filter(([key]) => trials.some(t => t[key + '_seconds'] > 0));
  const holder = element('div', {});
  const show = key => holder.replaceChildren(barsOf(trials, d.baseline, key, roots));
  const controls = element('div', {class: 'controls'}, select('Show', known, show));
  if (known.length > 0) show(known[0][0]);
  return section('times', 'Times', `Medians, and as a line the interval in which they lie, set against ${baseline}. Time in calls is that of all threads together.`, controls, holder);
}

// rowOf returns a trial as a row of the table.
function rowOf(t, roots) {
  const row = {
    name: labelOf(t, roots), gain: t.gain, low: t.gain_low, high: t.gain_high, runs: t.runs, failed: t.failed, differed: t.differed,
    finding: ((t.finding || {}).elapsed || '').replaceAll('_', ' ') || undefined,
    verdict: t.error ? 'given up: ' + t.error : t.breaks_results ? 'breaks results: ' + t.example : t.unchanged ? 'the trace is that of the baseline' : undefined,
    own: (t.on_root || {}).gain,
  };
  for (const [key] of measures) {
    row[key] = t[key + '_seconds'];
    row[key + 'Ratio'] = (t.ratio || {})[key];
  }
  return row;
}

// adviceSection shows the findings, and what became of their candidates.
function adviceSection(findings) {
  const outcomes = {worth_doing: 'worth doing', beyond_program: 'beyond the program', no_gain: 'no certain gain', not_tried: 'not tried'};
  return section('advice', 'Advice', 'What takes the time, and what was tried against it.', element('ol', {}, ...findings.map(f =>
    element('li', {}, f.text, element('ul', {}, ...f.candidates.map(c => {
      const gain = c.gain === undefined ? '' : ': ' + percent(c.gain) + (c.gain_low === undefined ? '' : ` (${percent(c.gain_low)} to ${percent(c.gain_high)})`);
      const risk = c.bound ? 'no change of the program does that' : c.risk;
      return element('li', {}, element('strong', {}, c.name), ` ${outcomes[c.outcome]}${gain}`, c.why ? ': ' + c.why : '', risk ? '; ' + risk : '');
    }))))));
}

function build() {
  const data = JSON.parse(document.getElementById('data').textContent);
  const d = data.figures;
  const main = document.getElementById('main');
  const all = [d.baseline, ...d.candidates];
  const roots = new Set(all.map(t => t.root).filter(r => r)).size < 2 ? '' : all.some(t => t.steps.length > 0) ? 'also' : 'only';
  const [title, one] = roots === 'only' ? ['Roots', 'root'] : ['Candidates', 'candidate'];
  initTheme();
  document.querySelector('header').append(element('p', {class: 'note'}, [d.trace, ...Object.entries(d.options).map(([k, v]) => k + ' ' + v)].filter(word => word).join(' · ')));
  const gains = d.candidates.some(t => !t.breaks_results && !t.error && (t.finding || {}).elapsed === 'differs' && t.gain > 0);
  const conclusion = capitalized(data.conclusion);
  document.querySelector('header').append(element('p', {class: data.withheld ? 'note withheld' : 'note'}, capitalized(data.coverage)));
  main.append(element('p', {class: 'verdict ' + (data.withheld ? 'inconclusive' : gains ? 'within' : roots === 'only' ? 'inconclusive' : 'outside')}, element('strong', {}, conclusion), d.interrupted ? element('span', {}, 'Interrupted: not all was replayed.') : null));
  if (d.findings) main.append(adviceSection(d.findings));
  main.append(barSection(d, d.application ? [{name: 'application', ...d.application}, ...all] : all, roots));
  const rows = all.map(t => rowOf(t, roots));
  main.append(newTable({id: 'candidates', title, all: all.length, by: 'gain'}, [
    {key: 'name', label: one, kind: 'words'},
    {key: 'gain', label: 'gain', kind: 'share'},
    {key: 'low', label: `at least (${percent(data.confidence)})`, kind: 'share'},
    {key: 'high', label: 'at most', kind: 'share'},
    {key: 'finding', label: 'finding', kind: 'words'},
    ...(rows.some(r => r.verdict) ? [{key: 'verdict', label: 'remark', kind: 'words'}] : []), // beside the gain that it puts right
    ...(roots === 'also' ? [{key: 'own', label: 'gain on its root', kind: 'share'}] : []),
    ...measures.flatMap(([key, label]) => [{key, label, kind: 'seconds'}, {key: key + 'Ratio', label: label + ' ratio', kind: 'ratio', extra: true}]),
    {key: 'runs', label: 'runs', kind: 'number', extra: true},
    {key: 'failed', label: 'failed', kind: 'number'},
    {key: 'differed', label: 'differed', kind: 'number'},
  ], rows));
  main.dataset.ready = 'true';
}

build();
