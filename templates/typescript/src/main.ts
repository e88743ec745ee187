// `npm start -- "Where is my order A-17?"`: a real model answers if there is a key, and a script if there is none.
import { openCloister } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { deskWith } from './agents.ts';
import { script } from './rehearsal.ts';

const question = process.argv.slice(2).join(' ') || 'Where is my order A-17?';
const desk = process.env['OPENAI_API_KEY'] === undefined ? deskWith([rehearse(script)]) : deskWith();

await using cloister = await openCloister({ agents: [desk] });
const { status, output, spent, run } = await cloister.run(desk, question).outcome;
console.log(output);
console.error(`${status}, ${spent.inputTokens + spent.outputTokens} tokens. See it: npx cloister show ${run}`);
