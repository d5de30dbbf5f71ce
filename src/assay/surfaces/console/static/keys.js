// Single keys for whoever answers many tickets. None of them records anything: an answer is signed by its button alone.
//
// They rest while somebody writes, leave every combination with Ctrl, Alt or Meta to the browser, and can be turned off.

const REMEMBERED = "assay.keys";
const PRESSED = new Set(["button", "checkbox", "file", "radio", "reset", "submit"]);

const panel = document.getElementById("keys");
const wanted = document.getElementById("keys-on");

const isWriting = (element) =>
  element.isContentEditable ||
  element.matches("textarea, select") ||
  (element.matches("input") && !PRESSED.has(element.type));

// The first link of each row is where the row leads.
const rowLinks = () =>
  [...document.querySelectorAll("main tbody tr")].map((row) => row.querySelector("a[href]")).filter(Boolean);

const step = (by) => {
  const links = rowLinks();
  const here = links.findIndex((link) => link.closest("tr").contains(document.activeElement));
  const next = here < 0 ? (by > 0 ? 0 : links.length - 1) : here + by;
  links[next]?.focus();
};

const focusOn = (selector) => document.querySelector(selector)?.focus();

const choose = (number) => {
  const choice = document.querySelectorAll("main input[type=radio][name=choice]")[number - 1];
  if (choice === undefined) return;
  choice.checked = true;
  choice.focus();
};

const acts = new Map([
  ["j", () => step(1)],
  ["k", () => step(-1)],
  ["u", () => document.querySelector("main .trail a")?.click()],
  ["n", () => document.getElementById("next")?.click()],
  ["/", () => focusOn("main form.filters input")],
  ["r", () => focusOn("main textarea[name=reason]")],
  ["?", () => { panel.open = !panel.open; }],
  ...[..."123456789"].map((digit) => [digit, () => choose(Number(digit))]),
]);

const hear = (event) => {
  if (!wanted.checked || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
  if (event.target instanceof Element && isWriting(event.target)) return;
  const act = acts.get(event.key);
  if (act === undefined) return;
  event.preventDefault();
  act();
};

if (panel !== null) {
  panel.hidden = false;
  wanted.checked = localStorage.getItem(REMEMBERED) !== "off";
  wanted.addEventListener("change", () => localStorage.setItem(REMEMBERED, wanted.checked ? "on" : "off"));
  document.addEventListener("keydown", hear);
}
