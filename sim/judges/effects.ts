// An effect that may happen only once happens once, and a key always belongs to the same call.
import type { Json } from '#base';
import type { ToolCall } from '../history.ts';
import { framesOnDisk, callingOperation } from './facts.ts';
import type { OperationFacts } from './facts.ts';
import type { Judge } from './judge.ts';

export const effects: Judge = {
  name: '≤ 1 effect per call',
  check: (history, report) => {
    const byKey = new Map<string, ToolCall[]>();
    for (const call of history.toolCalls) byKey.set(call.key, [...(byKey.get(call.key) ?? []), call]);
    for (const [key, calls] of byKey) {
      const done = calls.reduce((sum, call) => sum + call.effects, 0);
      if (done > 1)
        report(`at most one effect of ${key}`, `${done}, by processes ${calls.map((one) => one.process).join(', ')}`);
      const asked = new Set(calls.filter(({ repeat }) => repeat !== 'free').map(({ tool, args }) => `${tool} ${args}`));
      if (asked.size > 1) report(`one call with the key ${key}`, [...asked].join(', '));
      for (const call of calls) {
        const operation = callingOperation(history, call);
        const isKnown =
          operation !== undefined && operation.beganIn < framesOnDisk(history, operation.cell.run, call.onDisk);
        if (call.repeat !== 'free' && !isKnown)
          report(`the begin record of ${key} on the disk before ${call.tool} is called`, 'it was missing');
        if (isKnown && !isCallOf(call, operation))
          report(
            `${key} to be ${operation.begin.name} ${JSON.stringify(operation.begin.about)}`,
            `${call.tool} ${call.args}`,
          );
      }
    }
    return history.toolCalls.length;
  },
};

const isCallOf = ({ tool, args }: ToolCall, { begin: { name, about } }: OperationFacts): boolean => {
  const given = about?.['args'];
  const whole = typeof given === 'string' && about?.['argsBytes'] === undefined;
  return (name === `tool:${tool}` || name.endsWith(`__${tool}`)) && (!whole || sameJson(given, args));
};

const sameJson = (one: string, other: string): boolean =>
  JSON.stringify(JSON.parse(one === '' ? '{}' : one) as Json) === JSON.stringify(JSON.parse(other) as Json);
