// Brings the page up to date in place, so its reader keeps the place, the focus and the zoom. If
// the manager is away, the last figures stay, and a line says how old they are. Without scripts,
// the browser loads the whole page again instead.
"use strict";

const everyMs = Number(document.currentScript.dataset.everyS) * 1000;
const patienceMs = 10000;
const said = document.getElementById("said");

async function update() {
  const answer = await fetch(location.href, { signal: AbortSignal.timeout(patienceMs) });
  if (!answer.ok) return `the manager answers with status ${answer.status}`;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of document.querySelectorAll("[data-live]"))
    part.replaceChildren(...page.getElementById(part.id).childNodes);
  return "";
}

async function follow() {
  const why = await update().catch(() => "the manager does not answer");
  const text = why && `There are no new figures: ${why}. These are of the pool time above.`;
  // Screen readers read this line out when it changes.
  if (said.textContent !== text) said.textContent = text;
  setTimeout(follow, everyMs);
}

setTimeout(follow, everyMs);
