// The page that verifies: a file in, each check told; nothing leaves the browser.

import { checkBundle } from "./proof/check.js";

const by = (id) => document.getElementById(id);
const [file, drop, finding] = [by("file"), by("drop"), by("finding")];
const TONES = { ok: "good", failed: "bad", not_checked: "dim" };
const WORDS = { ok: "OK", failed: "FAILED", not_checked: "NOT CHECKED" };
let received = null;

const cell = (...children) => {
  const made = document.createElement("td");
  made.append(...children);
  return made;
};

const marked = (name, tone, words) => {
  const made = document.createElement(name);
  made.className = tone;
  made.textContent = words;
  return made;
};

const row = (check) => {
  const made = document.createElement("tr");
  const found = cell(check.message);
  if (check.code) found.append(" ", marked("code", "", check.code));
  made.append(cell(check.name.replaceAll("_", " ")), cell(marked("span", `badge ${TONES[check.outcome]}`, WORDS[check.outcome])), found);
  return made;
};

const isMerelyUntrusted = (found) => {
  const failures = found.checks.filter((check) => check.outcome === "failed");
  return failures.length === 1 && failures[0].code === "proof.untrusted_signer";
};

const headline = (found) => {
  if (found.holds) return ["good", "VALID", "The entry is as it was recorded, and a key you trust vouches for it."];
  if (isMerelyUntrusted(found)) return ["warn", "NOT TRUSTED", "Nothing was changed, but no key you trust leads to the signer. Put the operator's key above, as you got it another way."];
  return ["bad", "INVALID", "This proves nothing: something was changed, forged or damaged."];
};

const tell = ([tone, word, words], checks, entry, code) => {
  by("outcome").replaceChildren(marked("span", `badge large ${tone}`, word));
  by("words").replaceChildren(words, ...(code ? [" ", marked("code", "", code)] : []));
  by("checks").hidden = checks.length === 0;
  by("checks").tBodies[0].replaceChildren(...checks.map(row));
  by("proven").hidden = entry === null;
  by("proven").querySelector("pre").textContent = entry === null ? "" : JSON.stringify(JSON.parse(entry), null, 2);
  finding.dataset.outcome = word;
  finding.hidden = false;
};

// An audit report carries many entries, and is for the command line; it is no forgery of anything.
const isReport = (bytes) => {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)).format.startsWith("assay-audit-report/");
  } catch {
    return false;
  }
};

const verify = async () => {
  if (received === null) return;
  if (isReport(received)) {
    const words = "This is an audit report, not the proof of one entry: `assay verify FILE --trust KEY` verifies all of it.";
    tell(["warn", "NOT VERIFIED HERE", words], [], null, null);
    return;
  }
  try {
    const found = await checkBundle(received, {
      trust: by("trust").value,
      witnesses: by("witnesses").value,
      origin: by("origin").value.trim() || null,
    });
    tell(headline(found), found.checks, found.holds ? found.entry : null, found.code);
  } catch (error) {
    tell(["bad", "INVALID", error.message], [], null, error.code ?? "browser.fault");
  }
};

const take = async (given) => {
  if (given === undefined) return;
  received = new Uint8Array(await given.arrayBuffer());
  await verify();
};

// The proof of an entry that a page of this node led here with; it is judged like any file.
const fetchProof = async (entry) => {
  const answer = await fetch(by("verify").dataset.proofs + entry, { cache: "no-store", redirect: "error" });
  if (!answer.ok) {
    tell(["warn", "NO PROOF", `The node gave no proof of entry ${entry}: status ${answer.status}.`], [], null, null);
    return;
  }
  received = new Uint8Array(await answer.arrayBuffer());
  await verify();
};

file.addEventListener("change", () => take(file.files[0]));
by("verify").addEventListener("submit", (event) => event.preventDefault());
for (const id of ["trust", "witnesses", "origin"]) by(id).addEventListener("change", verify);
drop.addEventListener("dragover", (event) => {
  event.preventDefault();
  drop.classList.add("over");
});
drop.addEventListener("dragleave", () => drop.classList.remove("over"));
drop.addEventListener("drop", (event) => {
  event.preventDefault();
  drop.classList.remove("over");
  take(event.dataTransfer.files[0]);
});
const asked = new URLSearchParams(location.search).get("entry") ?? "";
// Somebody may have chosen a file before this script was there.
if (file.files.length > 0) take(file.files[0]);
else if (/^[1-9][0-9]{0,18}$/.test(asked)) fetchProof(asked).catch((error) => tell(["warn", "NO PROOF", error.message], [], null, null));
