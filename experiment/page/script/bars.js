// Bars: lists of them, and charts whose x is a number of classes.

// barList draws values as bars of one scale, one below the other, each with its interval as a
// line across its end. rows: [{name, value, low, high, color, note}]: color is a name of the
// style, and what is not known is undefined. most is the value of the longest bar; show is the
// text of a value.
function barList(rows, most = mostOf(rows), show = seconds) {
  return element('ul', {class: 'bars'}, ...rows.map(row => {
    const track = element('span', {class: 'track', 'aria-hidden': 'true'});
    const add = (name, from, to) => {
      const part = element('span', {class: name});
      part.style.left = 100 * from / most + '%';
      part.style.width = 100 * (to - from) / most + '%';
      track.append(part);
    };
    if (row.value !== undefined) add('bar c-' + row.color, 0, row.value);
    if (row.low !== undefined) add('between', row.low, row.high);
    return element('li', {}, element('span', {class: 'what'}, row.name), track,
      element('span', {class: 'value'}, show(row.value), row.note ? element('span', {class: 'small'}, row.note) : null));
  }));
}

// mostOf returns the greatest value or end of an interval of a barList.
function mostOf(rows) {
  return Math.max(...rows.map(row => Math.max(row.value || 0, row.high || 0)), 0) || 1;
}

// stackBar draws parts beside one another: [{label, name, seconds}], where name is that of a colour.
function stackBar(parts) {
  return element('div', {class: 'stack', 'aria-hidden': 'true'}, ...parts.filter(p => p.seconds > 0).map(p => {
    const piece = element('span', {class: 'c-' + p.name, title: `${p.label} ${seconds(p.seconds)}`});
    piece.style.flexGrow = p.seconds / sum(parts, q => q.seconds);
    return piece;
  }));
}

// stack draws parts and says what they are: [bar, list].
function stack(parts) {
  const all = Math.max(sum(parts, p => p.seconds), 1e-9);
  return [stackBar(parts), element('ul', {class: 'stackwords'}, ...parts.map(p =>
    element('li', {}, element('span', {class: 'dot c-' + p.name}), `${p.label} ${percent(p.seconds / all)} (${seconds(p.seconds)})`)))];
}

// barChart: {title, note, summary, classes: [text], series, data, show, y}.
function barChart(what) {
  const n = what.classes.length;
  const x = what.classes.map((_, i) => i);
  const data = [x, ...what.data];
  const xText = (_, i) => what.classes[i];
  return chart({
    ...what, data, xText, fixed: true, height: 240,
    series: what.series.map((s, i) => ({...s, bars: {at: i, of: what.series.length}})),
    x: {
      classes: true,
      range: () => [-0.6, n - 0.4],
      splits: u => {
        const each = Math.max(Math.ceil(n / Math.max(Math.floor(u.width / 64), 1)), 1);
        return x.filter(i => i % each === 0);
      },
      ticks: values => values.map(i => what.classes[i] ?? ''),
    },
    table: () => [[what.className, ...what.series.map(s => s.label)], rowsOf(data, xText, what.show, n)],
  });
}
