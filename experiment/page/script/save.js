// What a reader takes away: tables as CSV or by the clipboard, charts as PNG.

// cellText returns a value of a table as it stands in CSV: as pianola profile
// --format csv writes it.
function cellText(kind, v) {
  if (v === undefined || v === null) return '';
  if (Array.isArray(v)) return v.map(s => (s.name ?? s.value) + ':' + s.calls).join(' ');
  if (typeof v === 'number' && kinds[kind]?.decimals) return v.toFixed(kinds[kind].decimals);
  return String(v);
}

// guarded puts a ' before what a spreadsheet would take for a formula, since names
// come from strangers.
function guarded(text) {
  return /^[=+\-@\t\r]/.test(text) && !/^[+-][\d.]+$/.test(text) ? "'" + text : text;
}

// separated returns rows of texts as CSV, or as what spreadsheets paste.
function separated(rows, separator) {
  const quoted = text => /["\r\n\t,]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  return rows.map(row => row.map(text => quoted(guarded(text))).join(separator) + '\n').join('');
}

// download hands a file to the reader.
function download(name, blob) {
  const url = URL.createObjectURL(blob);
  element('a', {href: url, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

// copyText puts text on the clipboard; the page of a file may have no
// navigator.clipboard.
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const box = element('textarea', {class: 'hidden', 'aria-hidden': 'true'});
    box.value = text;
    const before = document.activeElement;
    document.body.append(box);
    box.select();
    const done = document.execCommand('copy');
    box.remove();
    before?.focus();
    return done;
  }
}

// fileName makes the name of a file from a title.
function fileName(title, extension) {
  return 'pianola-' + title.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '') + '.' + extension;
}

// tableTools returns buttons that copy and download a table: rows() returns texts,
// the head first.
function tableTools(title, rows) {
  const copy = element('button', {type: 'button', class: 'tool copy', title: 'Copy the table, to paste it into a spreadsheet', onclick: async () => {
    const done = await copyText(separated(rows(), '\t'));
    copy.textContent = done ? 'Copied' : 'No clipboard';
    setTimeout(() => { copy.textContent = 'Copy'; }, 2000);
  }}, 'Copy');
  return [copy, element('button', {type: 'button', class: 'tool csv', title: 'Download the table as CSV',
    onclick: () => download(fileName(title, 'csv'), new Blob([separated(rows(), ',')], {type: 'text/csv'}))}, 'CSV')];
}

// withTools puts such buttons below a table that is in the page whole.
function withTools(title, box) {
  const texts = () => [...box.querySelectorAll('tr')].map(row => [...row.cells].map(c => c.textContent));
  return element('div', {}, box, element('div', {class: 'below'}, element('span', {class: 'tools'}, ...tableTools(title, texts))));
}

// pictureTool returns a button that downloads a chart as PNG.
function pictureTool(title, figure) {
  return element('button', {type: 'button', class: 'tool png', title: 'Download the chart as PNG',
    onclick: () => picture(title, figure).toBlob(blob => download(fileName(title, 'png'), blob))}, 'PNG');
}

// picture draws a chart with its title, its notes and its legend on one canvas.
function picture(title, figure) {
  const chart = figure.querySelector('.chart canvas');
  const ratio = devicePixelRatio || 1;
  const margin = 16;
  const width = chart.width / ratio;
  const out = element('canvas', {});
  const c = out.getContext('2d');
  const font = name => `${name} ${color('font')}`;
  const lines = (text, size) => {
    c.font = font(size);
    const wrapped = [''];
    for (const word of text.split(/\s+/)) {
      const longer = (wrapped.at(-1) + ' ' + word).trim();
      if (c.measureText(longer).width <= width || wrapped.at(-1) === '') wrapped[wrapped.length - 1] = longer;
      else wrapped.push(word);
    }
    return wrapped;
  };
  const choices = [...figure.querySelectorAll('.controls select')].map(s => s.parentNode.firstChild.textContent + ': ' + s.selectedOptions[0].textContent).join(', ');
  const notes = [...figure.querySelectorAll('figcaption .note:not(.hint), .legend .note')];
  const command = document.querySelector('h1').textContent;
  const heads = [
    ...lines(title, '600 18px').map(text => ['600 18px', 'ink', 26, text]),
    ...lines(command.length > 200 ? command.slice(0, 199) + '…' : command, '13px').map(text => ['13px', 'muted', 18, text]),
    ...[choices, ...notes.map(n => n.textContent)].filter(text => text.trim()).flatMap(text => lines(text, '13px')).map(text => ['13px', 'muted', 18, text]),
  ];
  // The legend: each mark of it with the words around it.
  c.font = font('13px');
  const entries = [...figure.querySelectorAll('.legend > *')].filter(e => e.ariaPressed !== 'false' && !e.matches('.note') && e.textContent.trim());
  const pieces = entries.map(e => legendPieces(e, c));
  const rows = [[]];
  let used = 0;
  for (const piece of pieces) {
    const wide = sum(piece, p => p.width) + 18;
    if (used + wide > width && used > 0) {
      rows.push([]);
      used = 0;
    }
    rows.at(-1).push(piece);
    used += wide;
  }
  const top = margin + sum(heads, h => h[2]) + rows.length * 22;
  out.width = Math.round((width + 2 * margin) * ratio);
  out.height = Math.round((top + margin) * ratio) + chart.height;
  c.scale(ratio, ratio);
  c.fillStyle = color('card');
  c.fillRect(0, 0, width + 2 * margin, out.height / ratio);
  c.textBaseline = 'middle';
  let y = margin;
  for (const [size, ink, height, text] of heads) {
    c.font = font(size);
    c.fillStyle = color(ink);
    c.fillText(text, margin, y + height / 2);
    y += height;
  }
  c.font = font('13px');
  for (const row of rows) {
    let x = margin;
    for (const piece of row) {
      for (const p of piece) {
        p.draw(x, y + 11);
        x += p.width;
      }
      x += 18;
    }
    y += 22;
  }
  c.setTransform(1, 0, 0, 1, 0, 0);
  c.drawImage(chart, Math.round(margin * ratio), Math.round(top * ratio));
  return out;
}

// legendPieces returns what stands in an entry of a legend, in order: words, lines
// and swatches.
function legendPieces(entry, c) {
  const out = [];
  const walk = node => {
    if (node.nodeType === Node.TEXT_NODE) {
      const text = node.textContent.trim();
      if (text) out.push({width: c.measureText(text).width + 6, draw: (x, y) => { c.fillStyle = color('muted'); c.fillText(text, x, y); }});
      return;
    }
    const style = getComputedStyle(node);
    if (node.matches('.mark')) {
      const ink = style.borderTopColor;
      const thick = parseFloat(style.borderTopWidth);
      const dash = {dashed: [7, 4], dotted: [2, 3]}[style.borderTopStyle] || [];
      out.push({width: 28, draw: (x, y) => {
        c.strokeStyle = ink;
        c.lineWidth = thick;
        c.setLineDash(dash);
        c.beginPath();
        c.moveTo(x, y);
        c.lineTo(x + 20, y);
        c.stroke();
        c.setLineDash([]);
      }});
    } else if (node.matches('.swatch')) {
      const ink = style.backgroundColor;
      out.push({width: node.nextSibling?.nodeType === Node.TEXT_NODE ? 28 : 22, draw: (x, y) => { c.fillStyle = ink; c.fillRect(x, y - 6, 22, 12); }});
    } else {
      node.childNodes.forEach(walk);
    }
  };
  walk(entry);
  return out;
}
