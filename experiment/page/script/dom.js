'use strict';

// element makes an element. What strangers wrote reaches the page only as its
// text, or as the value of an attribute that runs nothing.
function element(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith('on')) e.addEventListener(key.slice(2), value);
    else if (key in e && typeof value === 'boolean') e[key] = value;
    else if (value !== null && value !== undefined && value !== false) e.setAttribute(key, value);
  }
  e.append(...children.filter(c => c !== null && c !== undefined));
  return e;
}

let lastID = 0;

function newID() {
  return 'e' + ++lastID;
}

// select makes a labelled choice among [value, text], of which the chosen one, or the
// first, is selected.
function select(label, options, change, chosen) {
  const box = element('select', {onchange: () => change(box.value)});
  for (const [value, text] of options) box.append(element('option', {value, selected: value === chosen}, text));
  return element('label', {class: 'choice'}, label, ' ', box);
}

// section makes a section with a heading.
function section(id, title, note, ...children) {
  const heading = newID();
  return element('section', {id, 'aria-labelledby': heading},
    element('h2', {id: heading}, title), note ? element('p', {class: 'note'}, note) : null, ...children);
}

// card makes a section of a figure, which brings its own heading.
function card(id, figure) {
  return element('section', {id, 'aria-label': figure.querySelector('h2').textContent}, figure);
}

// plainTable makes a table that neither sorts nor filters; the first cell of
// each row is its header.
function plainTable(caption, head, rows) {
  return element('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption},
    element('table', {},
      element('caption', {class: 'hidden'}, caption),
      element('thead', {}, element('tr', {}, ...head.map(h => element('th', {scope: 'col'}, h)))),
      element('tbody', {}, ...rows.map(row => element('tr', {},
        ...row.map((cell, i) => i === 0 ? element('th', {scope: 'row'}, cell) : element('td', {}, cell)))))));
}
