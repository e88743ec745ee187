// A game master and a party that talks on a topic. A script plays along in place of a user.
import { openCloister } from 'cloister';

await using cloister = await openCloister({ store: 'memory', agents: [`${import.meta.dirname}/game-master.ai`] });
const session = await cloister.spawn('game-master', { message: 'We light a torch and go in.' });

const table = (async () => {
  for await (const { agent_id: who, text } of session.subscribe('party-chat'))
    console.error(`  #party-chat ${who}: ${text}`);
})();

console.log(`You: We light a torch and go in.\n${(await session.answer()).text}\n`);
for (const words of ['We try the iron door.', 'We go down the stairs.'])
  console.log(`You: ${words}\n${(await session.ask(words)).text}\n`);

const party = session.agents().filter(({ parent }) => parent !== null);
console.log(`At the table: ${party.map(({ sub_agent_id: name, status }) => `${name} (${status})`).join(', ')}`);
session.finish();
const { status } = await session.outcome;
await table;

const [mail, audit, report] = [
  await cloister.mail(session.run),
  await cloister.audit(session.run),
  await cloister.show(session.run),
];
const read = mail.filter(({ message_type: type, state }) => type === 'broadcast' && state === 'read').length;
console.log(
  `${status}: ${report.cells.length} cells, all ended: ${report.cells.every((cell) => cell.status !== null)}; ` +
    `${read} broadcasts read; audit ok: ${audit.ok}, unattributed ${audit.unattributedBytes}`,
);
