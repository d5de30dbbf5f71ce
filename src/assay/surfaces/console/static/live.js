// What just happened, heard as it happens: an event stream read by hand, so that we choose when to come back.
//
// Each change makes the body say `changed`; the parts of a page that can go out of date listen to that.

const PAUSE_MS = 400;
const RETRY_MS = 5000;

const place = document.body.dataset.events;
const told = document.getElementById("live");
let last = null;
let waiting = 0;

const announce = () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => document.body.dispatchEvent(new Event("changed")), PAUSE_MS);
};

const say = (words) => {
  if (told !== null && told.textContent !== words) told.textContent = words;
};

// One frame: lines of `name: value`; a frame without data moves the place and says nothing.
const hear = (frame) => {
  const lines = frame.split("\n").map((line) => line.match(/^(id|event|data): ?(.*)$/)).filter(Boolean);
  const fields = Object.fromEntries(lines.map((match) => [match[1], match[2]]));
  if (fields.id !== undefined) last = fields.id;
  if (fields.data !== undefined) announce();
};

const listen = async () => {
  const headers = last === null ? {} : { "last-event-id": last };
  const answer = await fetch(place, { headers, cache: "no-store", redirect: "error" });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  say("Live");
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const frames = (rest + value).split("\n\n");
    rest = frames.pop();
    frames.forEach(hear);
  }
};

const follow = async () => {
  for (;;) {
    try {
      await listen();
    } catch {
      say("Not live: load the page again to see changes");
    }
    await new Promise((done) => setTimeout(done, RETRY_MS));
  }
};

if (place !== undefined) follow();
