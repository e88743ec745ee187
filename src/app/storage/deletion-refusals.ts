// Why a run is not deleted, in words.
import { CloisterError } from '#base';
import type { RunCopy, RunSummary } from '#contracts';

/** Throws `run_owned`, or `run_kept`. */
export const checkMayDelete = ({ run, state, owner, elsewhere }: RunSummary, force: boolean): void => {
  if (state === 'running') {
    const fix = elsewhere === true ? ' If that process is dead, take the run over first.' : ' Cancel it first.';
    throw new CloisterError('run_owned', `Run ${run}. Owner: ${owner ?? 'another process'}.${fix}`);
  }
  if (force || state === 'ended') return;
  const why =
    state === 'damaged'
      ? `Run ${run} has lost records, so its tombstone would not say what its log was.`
      : `Run ${run} has not ended: it was interrupted, or waits for people. Resume it to its end or cancel it.`;
  throw new CloisterError('run_kept', why);
};

const namedMax = 20;

export const copiesError = (copies: readonly RunCopy[]): CloisterError => {
  const named = copies.slice(0, namedMax).map(describeCopy);
  const more = copies.length > namedMax ? ` and ${copies.length - namedMax} more` : '';
  return new CloisterError(
    'run_kept',
    `The same text is also in: ${named.join('; ')}${more}. Delete these as well with --with-later (in code: \`withLater: true\`).`,
  );
};

const describeCopy = (copy: RunCopy): string => {
  switch (copy.kind) {
    case 'turn':
      return `run ${copy.run}, a later turn of "${copy.conversation.name}"`;
    case 'fork':
      return `run ${copy.run}, which continues it`;
    case 'branch':
      return `the conversation "${copy.conversation.name}" of "${copy.conversation.agent}", a branch`;
    case 'checkpoint':
      return `checkpoint ${copy.checkpoint} of run ${copy.run}`;
  }
};
