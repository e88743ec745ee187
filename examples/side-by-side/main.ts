// The same team in the plain loop and in Cloister, through the library. `cloister demo` shows more of it.
import { readFileSync } from 'node:fs';
import { openCloister } from 'cloister';
import { agentLine, rehearse } from 'cloister/testkit';

const task = 'Make an offer to Bluebird for 200 bicycles.';
const load = (file: string) => import(new URL(file, import.meta.url).href);
const { default: tools, secret, sent } = await load('office.mjs');
const { default: script } = await load('rehearsal.mjs');
const { runPlainTeam } = await load('plain-loop.mjs');

/** The prompt of an agent file. */
const promptOf = (name: string): string =>
  readFileSync(`${import.meta.dirname}/${name}.ai`, 'utf8')
    .split(/^---$/mu)
    .slice(2)
    .join('---');

const { requests } = await runPlainTeam({
  team: Object.fromEntries(
    ['desk', 'accountant', 'reader'].map((name) => [name, `${agentLine(name)}\n${promptOf(name)}`]),
  ),
  lead: 'desk',
  tools: Object.fromEntries(
    tools.map((tool: { name: string; execute: unknown }) => [`office__${tool.name}`, tool.execute]),
  ),
  model: rehearse(script).model.language,
  input: task,
});
const showing = requests.filter(({ prompt }: { prompt: unknown }) => JSON.stringify(prompt).includes(secret));
console.log(`plain loop: ${showing.length} of ${requests.length} prompts show the secret, mails sent: ${sent.length}`);

await using cloister = await openCloister({ store: 'memory', agents: [`${import.meta.dirname}/desk.ai`] });
sent.length = 0;
const session = cloister.run('desk', task);
session.onWaiting(async () => {
  for (const { id, sha256, tool } of await session.questions()) {
    console.log(`a person is asked about ${tool}, and denies it`);
    await cloister.answer(id, { allow: false, sha256 });
  }
});
const { run, output } = await session.outcome;
const { cells } = await cloister.transcript(run, { full: true });
const prompts = cells.flatMap(({ agent, entries }) =>
  entries.map(({ shown }) => ({ agent, text: JSON.stringify(shown) })),
);
const seeing = prompts.filter(({ text }) => text.includes(secret));
console.log(
  `Cloister: ${seeing.length} of ${prompts.length} prompts show the secret, of ${[...new Set(seeing.map(({ agent }) => agent))].join()}; mails sent: ${sent.length}`,
);
console.log(output);
const audit = await cloister.audit(run);
console.log(`audit ok: ${audit.ok}, refused ${audit.refused}, unattributed ${audit.unattributedBytes}`);
