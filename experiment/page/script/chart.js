// Charts over one axis, drawn by uPlot.

const dashes = [[], [7, 4], [2, 3], [9, 3, 2, 3]]; // of the first run, the second and so on

function dashOf(run) {
  return Math.min(run, dashes.length - 1);
}

// newFigure makes what stands around a chart: a title, buttons that show and
// hide its lines, a line that tells the values at the cursor, and the figures
// as a table. what: {title, heading, note, hint, controls, summary, details, table:
// () => [head, rows], raw}; the table is made when it is asked for, and raw, of the same
// form, is what is downloaded, if it has more.
function newFigure(what) {
  const title = newID();
  const box = element('div', {class: 'chart', tabindex: '0', role: 'img', 'aria-label': what.title + '. ' + what.summary});
  const reading = element('output', {class: 'reading'}, '\u00a0');
  const legend = element('div', {class: 'legend', role: 'group', 'aria-label': 'Lines of ' + what.title});
  const details = element('details', {}, element('summary', {}, what.details || 'The figures of this chart as a table'));
  details.addEventListener('toggle', () => {
    while (details.childElementCount > 1) details.lastChild.remove();
    if (details.open) details.append(plainTable(what.title, ...what.table()));
  });
  const figure = element('figure', {'aria-labelledby': title},
    element('figcaption', {id: title}, element(what.heading || 'h2', {}, what.title), what.note ? element('p', {class: 'note'}, what.note) : null,
      what.hint ? element('p', {class: 'note hint'}, what.hint) : null),
    what.controls || null, legend, box, reading, element('div', {class: 'foot'}, details));
  figure.querySelector('.foot').append(element('span', {class: 'tools'}, pictureTool(what.title, figure), ...tableTools(what.title, () => textRows(what.raw || what.table))));
  return {figure, box, reading, legend, details};
}

// textRows returns the rows of a figure's table as texts.
function textRows(table) {
  const [head, rows] = table();
  return [head, ...rows.map(row => row.map(v => v === null || v === undefined ? '' : String(v)))];
}

// linked makes a figure again when one of some parts of the selection changes:
// make(now) returns it, with these parts only.
function linked(keys, make) {
  const holder = element('div', {class: 'linked'});
  let before;
  selection.follow(holder, now => {
    const wanted = Object.fromEntries(Object.entries(now).filter(([key]) => keys.includes(key)));
    const text = JSON.stringify(wanted);
    if (text === before) return;
    before = text;
    holder.replaceChildren(make(wanted));
  });
  return holder;
}

// unanswered stands for a figure that the page's data can't draw.
function unanswered(title, why) {
  const id = newID();
  return element('figure', {'aria-labelledby': id, class: 'unanswered'}, element('figcaption', {id}, element('h2', {}, title), element('p', {class: 'note'}, why)));
}

const wholeOnly = 'The page holds this for the whole run only, not for a selection. ';

// wholeRun returns a figure where nothing is selected, and else says that it is of the
// whole run.
function wholeRun(title, make) {
  return linked(['thread', 'file', 'operation', 'from', 'to'], now => nothing(now) ? make() : unanswered(title, wholeOnly));
}

// chart makes a figure with a chart in it. Besides what newFigure takes:
// data: [x, y…]; show: the text of a value; xText: that of an x; x, y: {ticks,
// splits, classes, log, range, label}; height; sync: charts of one name share their
// cursor; time: x is the time of the run in seconds, and dragging selects a part of it.
// series can have stepped, fill, bars {at, of}, hidden.
function chart(what) {
  const parts = newFigure({raw: () => [[what.x.label || 'x', ...what.series.map(s => s.label)], what.data[0].map((v, i) => [what.x.classes ? what.xText(v, i) : v, ...(what.told || what.data).slice(1).map(y => y[i])])], ...what});
  const shown = what.series.map(s => !s.hidden);
  const height = what.height || 260;
  let plot = null;
  let range = null; // of x, null for all
  parts.box.style.minHeight = height + 'px'; // nothing moves when it is drawn

  const buttons = what.series.map((s, i) => {
    const mark = element('span', {class: 'mark'});
    const button = element('button', {
      type: 'button', 'aria-pressed': String(shown[i]),
      onclick: () => {
        shown[i] = !shown[i];
        button.setAttribute('aria-pressed', String(shown[i]));
        plot.setSeries(i + 1, {show: shown[i]});
      },
    }, mark, s.label);
    parts.legend.append(button);
    return {button, mark};
  });

  function paint() {
    buttons.forEach(({mark}, i) => {
      const s = what.series[i];
      mark.style.borderTop = (s.bars ? 9 : 3) + 'px ' + (s.dash ? (s.dash === 2 ? 'dotted ' : 'dashed ') : 'solid ') + color(s.color);
    });
  }

  function tell(u) {
    const i = u.cursor.idx;
    if (i === null || i === undefined) {
      parts.reading.textContent = '\u00a0';
      return;
    }
    const words = what.series.map((s, k) => {
      const v = (what.told || what.data)[k + 1][i];
      return shown[k] && v !== null && v !== undefined ? s.label + ' ' + what.show(v) : null;
    }).filter(w => w !== null);
    parts.reading.textContent = what.xText(what.data[0][i], i) + ': ' + (words.join(', ') || unknown);
  }

  function axis(a, extra) {
    return {
      stroke: color('muted'), font: '12px ' + color('font'), labelFont: '12px ' + color('font'),
      grid: {show: !a.classes, stroke: color('grid'), width: 1}, ticks: {show: false},
      ...(a.ticks ? {values: (u, values) => a.ticks(values)} : {}),
      ...(a.splits ? {splits: a.splits} : {}),
      ...(a.label ? {label: a.label, labelSize: 20, labelGap: 2} : {}),
      ...extra,
    };
  }

  function series(s, i) {
    const paths = uPlot.paths;
    return {
      label: s.label, show: shown[i], stroke: color(s.color), width: s.bars ? 0 : 1.75, dash: dashes[s.dash || 0],
      points: {show: false}, spanGaps: false,
      ...(s.fill ? {fill: color(s.color) + '2e'} : {}),
      ...(s.bars ? {fill: color(s.color), paths: paths.bars({size: [0.8 / s.bars.of, 60], align: s.bars.of === 1 ? 0 : s.bars.at === 0 ? -1 : 1})} : {}),
      ...(s.stepped ? {paths: paths.stepped({align: 1})} : {}),
    };
  }

  function draw() {
    paint();
    if (plot) plot.destroy();
    const width = Math.max(parts.box.clientWidth, 200);
    plot = new uPlot({
      width, height: isPrinting() ? height * 0.75 : height,
      padding: [8, 26, 0, 0],
      legend: {show: false},
      cursor: {
        focus: {prox: 16},
        points: {size: 6},
        drag: {x: !what.fixed, y: false, setScale: !what.fixed && !what.time},
        ...(what.time ? {bind: {dblclick: () => () => selection.change({from: null, to: null})}} : {}),
        ...(what.sync ? {sync: {key: what.sync, setSeries: false, scales: ['x', null]}} : {}),
      },
      scales: {
        x: {time: false, ...(what.x.log ? {distr: 3, log: 10} : {}), ...(what.x.range ? {range: what.x.range} : {})},
        y: {...(what.y.log ? {distr: 3, log: 10} : {}), range: what.y.range || ((u, low, high) => [0, high > 0 ? high * 1.05 : 1])},
      },
      series: [{}, ...what.series.map(series)],
      axes: [axis(what.x, {space: what.x.space || 80, size: 28}), axis(what.y, {size: width < 480 ? 64 : 76})],
      hooks: {setCursor: [tell], ...(what.time ? {setSelect: [choose]} : {})},
    }, what.data, parts.box);
    if (range) plot.setScale('x', range);
  }

  // choose selects the part of the run time that was dragged over.
  function choose(u) {
    if (u.select.width < 2) return;
    const [from, to] = [u.select.left, u.select.left + u.select.width].map(left => Math.max(u.posToVal(left, 'x'), 0));
    u.setSelect({left: 0, top: 0, width: 0, height: 0}, false);
    selection.change({from, to});
  }

  function zoom(now) {
    range = now.from === undefined ? null : {min: now.from, max: now.to};
    if (plot) plot.setScale('x', range || {min: what.data[0][0], max: what.data[0].at(-1)});
  }

  let anchor = null; // where the reader began to select with the keys

  function extend() {
    const [a, b] = [anchor, plot.cursor.left].sort((x, y) => x - y);
    plot.setSelect({left: a, top: 0, width: b - a, height: plot.over.clientHeight}, false);
  }

  if (what.time) {
    selection.follow(parts.box, zoom);
    parts.box.addEventListener('keyup', event => {
      if (event.key !== 'Shift' || anchor === null) return;
      anchor = null;
      choose(plot);
    });
  }
  parts.box.addEventListener('keydown', event => {
    const step = {ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -Infinity, End: Infinity}[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const last = what.data[0].length - 1;
    if (what.time && event.shiftKey && anchor === null) anchor = Math.max(plot.cursor.left, 0);
    const from = plot.cursor.idx ?? (step > 0 ? -1 : last + 1);
    const i = Math.min(Math.max(from + step, 0), last);
    plot.setCursor({left: plot.valToPos(what.data[0][i], 'x'), top: plot.over.clientHeight / 2});
    if (anchor !== null) extend();
  });
  observe(parts.box, draw);
  return parts;
}

// observe calls draw when a box gets another width, and when the theme changes.
function observe(box, draw) {
  let width = -1;
  new ResizeObserver(() => {
    if (box.clientWidth === width || box.clientWidth === 0) return;
    width = box.clientWidth;
    draw();
  }).observe(box);
  redraws.push(() => {
    if (box.isConnected && box.clientWidth > 0) draw();
    return box.isConnected;
  });
}

// sampled returns the places of at most n of many rows, the last among them.
function sampled(rows, n) {
  if (rows <= n) return Array.from({length: rows}, (_, i) => i);
  return Array.from({length: n}, (_, i) => Math.round(i * (rows - 1) / (n - 1)));
}

// rowsOf returns the rows of a chart's table.
function rowsOf(data, xText, show, n) {
  return sampled(data[0].length, n || 25).map(i => [xText(data[0][i], i), ...data.slice(1).map(y => y[i] === null || y[i] === undefined ? unknown : show(y[i]))]);
}
