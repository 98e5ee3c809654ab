// The page of a suite, from its data.

const measures = [['run_time', 'Run time'], ['io', 'I/O time'], ['read_p99', '99th percentile of reads'], ['sync_p99', '99th percentile of syncs']];

// barsOf draws a measure of all workloads, for each a bar of the recording and one of each
// side. A bar's length is its share of the workload's longest.
function barsOf(d, key) {
  return element('div', {}, ...d.workloads.filter(w => w.sides.some(s => s.seconds[key] !== undefined)).map(w => {
    const lines = [{name: 'recorded', value: w.recorded_seconds[key], base: true}, ...w.sides.map(s => ({name: s.name, value: s.seconds[key]}))];
    const most = Math.max(...lines.map(l => l.value || 0)) || 1;
    return element('section', {class: 'workload'}, element('h3', {}, w.name), element('ul', {class: 'bars'}, ...lines.map(l => {
      const track = element('span', {class: 'track', 'aria-hidden': 'true'});
      if (l.value !== undefined) {
        const bar = element('span', {class: 'bar ' + (l.base ? 'c-base' : 'c-read')});
        bar.style.width = 100 * l.value / most + '%';
        track.append(bar);
      }
      return element('li', {}, element('span', {class: 'what'}, l.name), track, element('span', {class: 'value'}, seconds(l.value)));
    })));
  }));
}

function barSection(d) {
  const known = measures.filter(([key]) => d.workloads.some(w => w.sides.some(s => s.seconds[key] !== undefined)));
  const holder = element('div', {});
  const show = key => holder.replaceChildren(barsOf(d, key));
  if (known.length > 0) show(known[0][0]);
  return section('times', 'Times', 'Geometric means of the runs. I/O time is that of all threads together. Each workload has a scale of its own.', element('div', {class: 'controls'}, select('Show', known, show)), holder);
}

// put adds a ratio to a row of the table.
function put(row, name, ratio) {
  if (ratio === undefined) return;
  row[name] = ratio.ratio;
  row[name + 'Low'] = ratio.low;
  row[name + 'High'] = ratio.high;
}

function rowsOf(d, key) {
  return d.workloads.map(w => {
    const row = {name: w.name, recorded: w.recorded_seconds[key]};
    row.remark = w.sides.flatMap(s => [
      ...(s.refused ? ['left out: ' + s.refused] : s.differed ? [count(s.differed) + ' events differed: ' + s.example] : []),
      ...(s.bound ? [s.bound + ' it, so its run time does not show how fast the storage is'] : []),
    ].map(text => `${s.name}: ${text}`)).join('; ') || undefined;
    w.sides.forEach((s, i) => {
      row['seconds' + i] = s.seconds[key];
      put(row, 'recorded' + i, s.to_recorded[key]);
      put(row, 'first' + i, (s.to_first || {})[key]);
    });
    return row;
  });
}

// meanOf says the geometric means of a measure, '' for none.
function meanOf(d, key) {
  const text = (r, of) => `${digits(r.ratio, 3)} of ${of}` + (r.low === undefined ? '' : ` (${digits(r.low, 3)} to ${digits(r.high, 3)})`);
  const first = d.sides[0].name;
  const said = d.sides.flatMap((s, i) => {
    const [recorded, against] = [s.to_recorded[key], (s.to_first || {})[key]];
    return recorded && recorded.workloads > 1 ? [s.name + ' ' + [text(recorded, 'the recording'), ...(against ? [text(against, first)] : [])].join(', ')] : [];
  });
  return said.length === 0 ? '' : `Geometric mean of ${count(d.sides[0].to_recorded[key].workloads)} workloads: ${said.join('; ')}.`;
}

function tableOf(d, [key, title]) {
  const rows = rowsOf(d, key).filter(r => key === 'run_time' && r.remark || d.sides.some((_, i) => r['seconds' + i] !== undefined));
  if (rows.length === 0) return '';
  const first = d.sides[0].name;
  const bounds = (name, extra) => [{key: name + 'Low', label: `at least (${percent(d.confidence)})`, kind: 'ratio', extra}, {key: name + 'High', label: 'at most', kind: 'ratio', extra}];
  return newTable({id: key, title, note: meanOf(d, key), all: rows.length, by: d.sides.length > 1 ? 'first1' : 'recorded0'}, [
    {key: 'name', label: 'workload', kind: 'words'},
    {key: 'recorded', label: 'recorded', kind: 'seconds'},
    ...d.sides.map((s, i) => ({key: 'seconds' + i, label: s.name, kind: 'seconds'})),
    ...d.sides.flatMap((s, i) => [{key: 'recorded' + i, label: s.name + ' / recorded', kind: 'ratio'}, ...bounds('recorded' + i, d.sides.length > 1)]),
    ...d.sides.flatMap((s, i) => i === 0 ? [] : [{key: 'first' + i, label: `${s.name} / ${first}`, kind: 'ratio'}, ...bounds('first' + i, false)]),
    ...(rows.some(r => r.remark) ? [{key: 'remark', label: 'remark', kind: 'words'}] : []),
  ], rows);
}

function build() {
  const data = JSON.parse(document.getElementById('data').textContent);
  const d = data.figures;
  const main = document.getElementById('main');
  initTheme();
  for (const fact of data.facts) document.querySelector('header').append(element('p', {class: 'note'}, fact));
  main.append(element('p', {class: 'verdict inconclusive'}, ...data.conclusion.split('\n').map(line => element('strong', {}, line)), d.interrupted ? element('span', {}, 'Interrupted: not all was replayed.') : null));
  main.append(barSection(d));
  for (const measure of measures) main.append(tableOf(d, measure));
  main.dataset.ready = 'true';
}

build();
