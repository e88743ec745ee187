// Canned reports of replay, diff and verify: foreign text wherever foreign text can appear.
import type { CellId, Hash } from '#base';
import type { CellSide, GrantName, ReplayReport, RunDiff, VerifyReport } from '#contracts';
import { childId, eventsOf, forkId, leadId, outcomeOf, runId, spent, startAt } from './scene.ts';
import type { Scene } from './scene.ts';

const hashOf = (pair: string): Hash => pair.repeat(32) as Hash;

export const replayOf = (given: Scene): ReplayReport => ({
  run: runId,
  ok: given.auditOk,
  frames: 17,
  same: given.auditOk ? 17 : 15,
  hash: { recorded: hashOf('ab'), replayed: hashOf(given.auditOk ? 'ab' : 'cd') },
  outcome: outcomeOf(given),
  events: eventsOf(given),
  differences: given.auditOk
    ? []
    : [
        { frame: 12, cell: leadId, agent: given.agent, op: 3, what: 'its model would be shown a different prompt' },
        { frame: null, cell: childId, agent: given.childAgent, op: null, what: `it would continue with ${given.tool}` },
      ],
});

const sideOf = (given: Scene, over: Partial<CellSide> = {}): CellSide => ({
  cell: leadId,
  status: 'completed',
  output: given.answer,
  spent: spent({ usd: given.usd }),
  models: [given.model],
  crossings: [
    'goal from outside',
    `result from ${given.childAgent}`,
    'note from x',
    'note from x',
    'result to outside',
  ],
  ...over,
});

/** A run and its fork if something is refused; otherwise two identical runs. */
export const diffOf = (given: Scene): RunDiff => {
  const { agent, childAgent } = given;
  const child = { cell: childId, crossings: [`goal from ${agent}`, `result to ${agent}`] };
  const sides = { one: sideOf(given), other: sideOf(given) };
  if (!given.refused)
    return {
      one: runId,
      other: forkId,
      fork: null,
      sameFrames: 17,
      same: true,
      cells: [{ place: agent, ...sides, same: true, parts: null }],
    };
  const withoutGrants: readonly GrantName[] = ['result'];
  return {
    one: runId,
    other: forkId,
    fork: {
      run: forkId,
      from: { run: runId, frames: 12, hash: hashOf('ab'), at: `${leadId}/3`, forkedAt: startAt + 9000 },
      amendment: { agent, model: given.model, withoutGrants, goal: given.goal },
    },
    sameFrames: 12,
    same: false,
    cells: [
      {
        place: agent,
        one: sideOf(given),
        other: sideOf(given, {
          status: 'partial',
          output: given.answer.replace('rows', 'almost everything'),
          models: [`other/${given.model}`],
          spent: spent({ inputTokens: 99 }),
          crossings: [
            'goal from outside',
            `result from ${childAgent} refused: no-grant`,
            'note from x',
            'result to outside',
          ],
        }),
        same: false,
        parts: { op: 3, one: `model ${given.model}: ${given.answer}`, other: `agent ${childAgent}: ${given.goal}` },
      },
      {
        place: `${agent} › ${childAgent} #1`,
        one: sideOf(given, child),
        other: sideOf(given, child),
        same: true,
        parts: null,
      },
      { place: `${agent} › ${childAgent} #2`, one: sideOf(given, child), other: null, same: false, parts: null },
      {
        place: `${agent} › ${childAgent} #3`,
        one: null,
        other: sideOf(given, { ...child, cell: 'x' as CellId, status: null }),
        same: false,
        parts: null,
      },
    ],
  };
};

export const verifyOf = (given: Scene, over: Partial<VerifyReport> = {}): VerifyReport => ({
  ok: given.auditOk,
  agent: given.agent,
  pairs: 1000,
  seed: 42,
  sights: 12_345,
  bytes: 3_456_789,
  differences: given.auditOk
    ? []
    : [
        {
          sink: `${given.childAgent} #1: request 3 to the model`,
          offset: 1234,
          one: `the same words, then ${given.goal} and the same end`,
          other: `the same words, then ${given.answer}! and the same end`,
          varied: given.agent,
          shortest: `pair 17: one turn of ${given.agent}, no tools`,
          again: 'npx cloister verify lead --seed 59 --pairs 1',
        },
      ],
  ...over,
});
