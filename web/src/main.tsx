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
import type { AgentFacts, Source } from './source.ts';
import { forgetOthersDrafts } from './tab-storage.ts';
import { followKeys } from './ui/keys.ts';

const questionsEveryMs = 5_000;

/** Nothing more can be had with this token. What is shown is no longer true, so it is taken away. */
const refuse = (error: SourceProblem): void => {
  forgetToken();
  problem.value = error;
};

const openSource = (): Source => {
  if (isKeptFile) {
    const kept = readKeptRun();
    address.value = { run: kept.run, ...parseAddress(location.hash) };
    return openKeptSource(kept);
  }
  const token = takeToken();
  // The token stood before it in the link.
  address.value = parseAddress(location.hash);
  if (token !== null) return openServerSource(token, refuse);
  throw new SourceProblem(
    'token_missing',
    'This page needs the link with its token.',
    'Start studio again, or paste a token.',
  );
};

const open = async (): Promise<void> => {
  source.value = openSource();
  const caller = await source.value.me();
  if (isKeptFile) {
    me.value = caller;
    followRun();
    return;
  }
  forgetOthersDrafts(caller.name);
  me.value = caller;
  agents.value = (await source.value.get<{ agents: readonly AgentFacts[] }>('')).agents;
  followRun();
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
