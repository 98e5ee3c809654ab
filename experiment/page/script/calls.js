// The single calls of a run, for the timeline.

// unpacked returns columns of numbers, count each, as package page packs them.
async function unpacked(data, columns, count) {
  const packed = Uint8Array.from(atob(data), c => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let at = 0;
  // A varint of encoding/binary. Numbers beyond 2^53 lose their last digits.
  function number() {
    let value = 0;
    let scale = 1;
    for (;;) {
      const b = bytes[at++];
      value += (b & 127) * scale;
      if (b < 128) break;
      scale *= 128;
    }
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
  return Array.from({length: columns}, () => Array.from({length: count}, number));
}

// decodeCalls returns the calls of a run by thread, each list in the order of their
// starts: {start, seconds (null for unknown), thread, operation, file (null for none),
// activity, request, offset (null for none), ret, waker, gap, ready, wait, timer,
// storage}. Times are seconds.
async function decodeCalls(from) {
  const [starts, nanos, threads, operations, files, activities, offsets, known, rets, wakers, gaps, ready, wait, timer, storage] = await unpacked(from.data, 15, from.count);
  const byThread = new Map(from.threads.map(thread => [thread, []]));
  const ends = new Map(); // of the last call on a file
  let start = 0;
  for (let i = 0; i < from.count; i++) {
    start += starts[i];
    let offset = null;
    if (known[i]) {
      offset = (ends.get(files[i]) || 0) + offsets[i];
      ends.set(files[i], offset + Math.max(rets[i], 0));
    }
    const thread = from.threads[threads[i] - 1];
    byThread.get(thread).push({
      start: start / 1e9, seconds: nanos[i] < 0 ? null : nanos[i] / 1e9, thread, operation: from.operations[operations[i] - 1],
      file: files[i] === 0 ? null : files[i] < 0 ? otherFiles : from.files[files[i] - 1],
      activity: activities[i] < 0 ? -activities[i] - 1 : activities[i], request: activities[i] < 0,
      offset, ret: rets[i], waker: wakers[i], gap: gaps[i] / 1e9, ready: ready[i] / 1e9, wait: wait[i] / 1e9, timer: timer[i] / 1e9, storage: storage[i] / 1e9,
    });
  }
  return byThread;
}

// callsIn returns the calls of a list that are there between two times.
function callsIn(list, from, to) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle].start < from) low = middle + 1;
    else high = middle;
  }
  const out = [];
  // Requests overlap, so that any that began earlier can reach into this.
  for (let i = 0; i < low; i++) if (list[i].start + list[i].seconds > from) out.push(list[i]);
  for (; low < list.length && list[low].start < to; low++) out.push(list[low]);
  return out;
}

// resultText says what a call returned.
function resultText(run, call) {
  return call.ret < 0 ? run.calls.errors[-call.ret] || String(call.ret) : count(call.ret);
}

// callText says what a call did.
function callText(run, call) {
  const what = [call.operation + (call.file === null ? '' : ' ' + call.file)];
  if (call.offset !== null) what.push('offset ' + count(call.offset));
  what.push('result ' + resultText(run, call));
  what.push(call.seconds === null ? 'duration unknown' : seconds(call.seconds) + (call.request ? ' in flight' : ''));
  if (call.waker > 0) what.push('woken by thread ' + call.waker);
  return `${seconds(call.start)}: ${what.join(', ')}`;
}
