// The selection of the page: a thread, a file, an operation and a part of the
// run time, or some of these. Charts and tables follow it, and the fragment of
// the URL holds it, so that a link shows what its sender saw.
//
//   selection.now                   {thread, file, operation, from, to}; what is not selected is absent.
//                                   thread is a number, from and to are seconds
//   selection.change({file: name})  selects; null takes a part away; from and to go together
//   selection.toggle({thread: 7})   selects, or takes away what is selected already
//   selection.clear()
//   selection.follow(box, f)        calls f(now) at once and after each change, as long as box stays in the page
const selection = (() => {
  const parts = ['thread', 'file', 'operation', 'from', 'to'];
  const now = {};
  let followers = [];
  let place = ''; // the section that the fragment names

  // read returns what a fragment says. It is untrusted: what has another form is left out.
  function read(fragment) {
    const out = {};
    for (const word of fragment.replace(/^#/, '').split('&')) {
      const [, key, text] = word.match(/^(thread|file|operation|time)=(.+)$/) || [];
      if (!key) continue;
      let value;
      try {
        value = decodeURIComponent(text);
      } catch {
        continue;
      }
      const times = value.match(/^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/);
      if (key === 'time' && times && +times[1] < +times[2]) [out.from, out.to] = [+times[1], +times[2]];
      if (key === 'thread' && /^-?\d+$/.test(value)) out.thread = +value;
      if (key === 'file' || key === 'operation') out[key] = value;
    }
    return out;
  }

  function fragment() {
    const words = place ? [place] : [];
    for (const key of ['thread', 'file', 'operation']) {
      if (now[key] !== undefined) words.push(key + '=' + encodeURIComponent(now[key]).replaceAll('%2F', '/'));
    }
    if (now.from !== undefined) words.push(`time=${plainSeconds(now.from)}-${plainSeconds(now.to)}`);
    return '#' + words.join('&');
  }

  function plainSeconds(value) {
    return brief(value.toFixed(9));
  }

  // assume takes over what is selected, and says whether that is news.
  function assume(wanted) {
    if (parts.every(key => now[key] === wanted[key])) return false;
    for (const key of parts) {
      if (wanted[key] === undefined) delete now[key];
      else now[key] = wanted[key];
    }
    // A follower can bring new ones: these are told as they begin.
    const all = followers;
    followers = [];
    const kept = all.filter(f => f());
    followers = kept.concat(followers);
    return true;
  }

  function change(wanted) {
    const next = {...now, ...wanted};
    for (const key of parts) if (next[key] === null || next[key] === undefined) delete next[key];
    if (next.from === undefined || next.to === undefined || !(next.from < next.to)) {
      delete next.from;
      delete next.to;
    }
    if (assume(next)) history.pushState(null, '', fragment());
  }

  function toggle(wanted) {
    const same = Object.entries(wanted).every(([key, value]) => now[key] === value);
    change(same ? Object.fromEntries(Object.keys(wanted).map(key => [key, null])) : wanted);
  }

  function clear() {
    change(Object.fromEntries(parts.map(key => [key, null])));
  }

  function follow(box, f) {
    let shown = false;
    followers.push(() => {
      shown = shown || box.isConnected;
      if (shown && !box.isConnected) return false;
      f(now);
      return true;
    });
    f(now);
  }

  // goTo scrolls to a section, and notes it in the fragment.
  function goTo(id) {
    place = id;
    history.replaceState(null, '', fragment());
    const target = document.getElementById(id);
    target?.scrollIntoView();
    return target;
  }

  // start restores what the fragment says, and follows it when the reader goes
  // back and forth, and Escape.
  function start() {
    const restore = () => {
      const id = location.hash.slice(1).split('&')[0];
      place = id.includes('=') ? '' : id;
      assume(read(location.hash));
    };
    restore();
    addEventListener('hashchange', () => {
      restore();
      document.getElementById(place)?.scrollIntoView();
    });
    addEventListener('keydown', event => {
      if (event.key === 'Escape' && !event.defaultPrevented && !(event.target.value && event.target.type === 'search')) clear();
    });
  }

  return {now, change, toggle, clear, follow, goTo, section: () => place, start};
})();

// selectionWords names the parts of a selection, [keys, words] each.
function selectionWords(now) {
  const out = [];
  if (now.thread !== undefined) out.push([['thread'], now.thread < 0 ? 'other threads' : 'thread ' + now.thread]);
  if (now.file !== undefined) out.push([['file'], now.file]);
  if (now.operation !== undefined) out.push([['operation'], now.operation]);
  if (now.from !== undefined) out.push([['from', 'to'], `${seconds(now.from)} to ${seconds(now.to)}`]);
  return out;
}

// selectionPhrase says in a line what is selected.
function selectionPhrase(now) {
  return selectionWords(now).map(([, words]) => words).join(', ');
}
