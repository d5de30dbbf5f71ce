// What somebody wrote outlives a session that ended before it was sent: it is put back when they are there again.
//
// Kept in this tab, for the same person and page alone, and forgotten as soon as the page is shown once.

const KEPT = "assay.written";
const person = document.body.dataset.person;
const form = document.querySelector("form[data-keep]");
const fields = () => [...form.elements].filter((one) => one.matches("textarea, input[type=radio]:checked"));

const put = ([name, value]) => {
  const area = form.querySelector(`textarea[name="${name}"]`);
  if (area !== null && area.value === "") area.value = value;
  const choice = form.querySelector(`input[type=radio][name="${name}"][value="${CSS.escape(value)}"]`);
  if (choice !== null && form.querySelector(`input[type=radio][name="${name}"]:checked`) === null) choice.checked = true;
};

const restore = () => {
  const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
  if (kept === null || kept.path !== location.pathname) return;
  sessionStorage.removeItem(KEPT);
  // Where the server tells what became of it, it has said everything itself.
  if (kept.person === person && location.search === "" && document.querySelector("main [role=alert]") === null) kept.fields.forEach(put);
};

if (form !== null) {
  restore();
  form.addEventListener("submit", () => {
    const written = fields().map((one) => [one.name, one.value]);
    sessionStorage.setItem(KEPT, JSON.stringify({ person, path: location.pathname, fields: written }));
  });
}
