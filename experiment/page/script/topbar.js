// The bar that stays at the top of the page: its contents, and the selection.

// contents links the sections that have a heading. On phones a button shows the links.
function contents(main) {
  const sections = [...main.querySelectorAll('section[id]')].filter(s => s.querySelector('h2'));
  const id = newID();
  const links = element('div', {class: 'links', id}, ...sections.map(s => element('a', {href: '#' + s.id, onclick: event => {
    event.preventDefault();
    nav.classList.remove('open');
    open.setAttribute('aria-expanded', 'false');
    const target = selection.goTo(s.id);
    target.setAttribute('tabindex', '-1');
    target.focus({preventScroll: true});
  }}, s.querySelector('h2').textContent)));
  const open = element('button', {type: 'button', class: 'opener', 'aria-expanded': 'false', 'aria-controls': id, onclick: () => {
    open.setAttribute('aria-expanded', String(nav.classList.toggle('open')));
  }}, 'Contents');
  const nav = element('nav', {'aria-label': 'Contents'}, open, links);
  // The section at the top of the screen is marked.
  const here = new Map(sections.map((s, i) => [s, links.children[i]]));
  const seen = new Set();
  const observer = new IntersectionObserver(entries => {
    for (const e of entries) e.isIntersecting ? seen.add(e.target) : seen.delete(e.target);
    const first = sections.find(s => seen.has(s));
    for (const [s, link] of here) {
      if (s === first) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    }
  }, {rootMargin: '-120px 0px -50% 0px'});
  for (const s of sections) observer.observe(s);
  return nav;
}

// selectionBar shows what is selected, with a button for each part of it that takes it
// away, and what it adds up to in a run.
function selectionBar(runOf) {
  const box = element('div', {id: 'selection', role: 'region', 'aria-label': 'Selection', hidden: true});
  selection.follow(box, now => {
    box.hidden = nothing(now);
    document.documentElement.classList.toggle('selecting', !box.hidden);
    const chips = selectionWords(now).map(([keys, words]) => element('button', {
      type: 'button', class: 'chip', 'aria-label': 'Remove ' + words, title: 'Remove ' + words,
      onclick: () => selection.change(Object.fromEntries(keys.map(key => [key, null]))),
    }, element('span', {class: 'words'}, words), element('span', {'aria-hidden': 'true'}, ' ×')));
    const within = box.contains(document.activeElement);
    box.replaceChildren(
      element('span', {class: 'chips'}, ...chips, element('button', {type: 'button', class: 'clear', onclick: () => selection.clear()}, 'Show all', element('kbd', {}, 'Esc'))),
      element('span', {class: 'sum', role: 'status'}, nothing(now) ? '' : sumOf(runOf(), now)));
    // Who took a part away by its chip goes on from the next one, or from the page.
    if (within) (nothing(now) ? document.querySelector('nav a') : box.querySelector('button')).focus({preventScroll: true});
  });
  return box;
}

// sumOf says in a line what a selection adds up to.
function sumOf(run, now) {
  const why = lacking(run, now);
  if (why) return why;
  const all = addedUp(selected(run, now), () => '').get('');
  if (!all) return 'No calls.';
  const moved = [['read', all.bytes_read + all.bytes_mapped_read], ['written', all.bytes_written + all.bytes_mapped_written]].filter(([, n]) => n > 0);
  return `${count(all.calls)} calls, ${seconds(all.all_seconds)} in them` + moved.map(([word, n]) => `, ${bytes(n)} ${word}`).join('') + '. ' + pieceNote(run, now);
}
