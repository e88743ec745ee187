// The studio. It opens what it was given (a file, or a server and a token), then draws.
import './styles/index.css';
import { effect } from '@preact/signals';
import { render } from 'preact';
import { address, followAddress, parseAddress } from './address.ts';
import { openKeptSource, readKeptRun } from './kept-source.ts';
import { forgetToken, openServerSource, takeToken } from './server-source.ts';
import { Shell } from './shell/shell.tsx';
import { agents, followRun, me, problem, readQuestions, run, source } from './state.ts';
import { SourceProblem } from './source.ts';
import type { AgentFacts } from './source.ts';
import { forgetOthersDrafts } from './tab-storage.ts';
import { followKeys } from './ui/keys.ts';

const questionsEveryMs = 5_000;

/** Nothing more can be had with this token. What is shown is no longer true, so it is taken away. */
const refuse = (error: SourceProblem): void => {
  forgetToken();
  problem.value = error;
};

const open = async (): Promise<void> => {
  const kept = readKeptRun();
  const token = kept === null ? takeToken() : null;
  // The token stood before it in the link.
  address.value = parseAddress(location.hash);
  if (kept === null && token === null)
    throw new SourceProblem(
      'token_missing',
      'This page needs the link with its token.',
      'Start studio again, or paste a token.',
    );
  source.value = kept === null ? openServerSource(token!, refuse) : openKeptSource(kept);
  if (kept !== null && address.value.run === undefined) address.value = { page: 'chat', run: kept.run };
  const caller = await source.value.me();
  if (kept === null) forgetOthersDrafts(caller.name);
  me.value = caller;
  if (kept === null) agents.value = (await source.value.get<{ agents: readonly AgentFacts[] }>('')).agents;
  followRun();
  if (kept !== null) return;
  await readQuestions().catch(() => undefined);
  setInterval(() => void readQuestions().catch(() => undefined), questionsEveryMs);
  // A question of the run that is shown is known at once.
  let asked = 0;
  effect(() => {
    const shown = run.value;
    if (shown === null) return;
    void shown.version.value;
    const now = shown.view.questions.size;
    if (now !== asked) void readQuestions().catch(() => undefined);
    asked = now;
  });
};

followAddress();
followKeys();
render(<Shell />, document.getElementById('page')!);
open().catch((error: SourceProblem) => {
  problem.value = error;
});
