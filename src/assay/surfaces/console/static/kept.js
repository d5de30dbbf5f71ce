// What somebody wrote into a ticket outlives a session that ended, a key that led elsewhere and a page that was loaded
// again: it is put back when the same person has the form before them once more.
//
// Kept in this tab, by page, for the person who wrote it alone; forgotten when there is nothing more to answer.

const person = document.body.dataset.person;
const form = document.querySelector("form[data-keep]");
const place = `assay.written ${location.pathname}`;

const put = ([name, value]) => {
  const area = form.querySelector(`textarea[name="${name}"]`);
  if (area !== null && area.value === "") area.value = value;
  const choice = form.querySelector(`input[type=radio][name="${name}"][value="${CSS.escape(value)}"]`);
  if (choice !== null && form.querySelector(`input[type=radio][name="${name}"]:checked`) === null) choice.checked = true;
};

const keep = () => {
  const written = [...form.elements].filter((one) => one.matches("textarea, input[type=radio]:checked") && one.value !== "");
  if (written.length === 0) return;
  sessionStorage.setItem(place, JSON.stringify({ person, fields: written.map((one) => [one.name, one.value]) }));
};

if (person !== undefined) {
  const kept = JSON.parse(sessionStorage.getItem(place) ?? "null");
  sessionStorage.removeItem(place);
  if (form !== null) {
    if (kept !== null && kept.person === person) kept.fields.forEach(put);
    addEventListener("pagehide", keep);
  }
}
