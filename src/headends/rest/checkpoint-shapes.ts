// What requests for checkpoints hold, and the values of their replies.
import { about, boolean, listOf, named, object, oneOf, openObject, orNull } from '#base/shapes';
import type { Shape } from '#base/shapes';
import type { BranchRequest } from '#contracts';
import { countShape as count, textShape as text, textsShape as texts } from './value-shapes.ts';

const conversation = about(
  orNull(openObject({ agent: text, name: text })),
  'The conversation that the run is a turn of; null: none.',
);

export const checkpointShape = named(
  'Checkpoint',
  openObject({
    id: text,
    agent: about(text, 'The agent of the run’s first cell.'),
    run: about(text, 'The run that is cut.'),
    conversation,
    frames: about(count, 'How many records of the run it keeps.'),
    hash: about(text, 'Of the last one, in the chain of the run.'),
    at: about(count, 'Epoch milliseconds.'),
    why: oneOf('asked', 'autosave'),
    label: text,
  }),
);

export const checkpointListShape = openObject({
  checkpoints: listOf(checkpointShape),
  more: about(boolean(), 'Whether there are more than these.'),
});

export const checkpointReportShape = named(
  'CheckpointReport',
  openObject({
    checkpoint: checkpointShape,
    continues: about(
      boolean(),
      'Whether the run had not ended there: it continues when the checkpoint is restored, or branched for the same agent.',
    ),
    cells: listOf(
      openObject({
        cell: text,
        parent: orNull(text),
        agent: text,
        depth: count,
        status: about(text, '`running` until the cell ends.'),
        steps: count,
        windowBytes: about(count, 'The size of its newest prompt.'),
        tokens: count,
        crossings: about(count, 'Entries of its ledger.'),
      }),
    ),
    files: listOf(openObject({ cell: text, path: text, bytes: count, sha256: text })),
  }),
);

const pair = (one: Shape): Shape => about(listOf(one), 'At the one, and at the other.');
const sides = { added: texts, removed: texts };

export const checkpointDiffShape = named(
  'CheckpointDiff',
  openObject({
    one: checkpointShape,
    other: checkpointShape,
    cells: openObject({
      ...sides,
      changed: listOf(
        openObject({
          cell: text,
          agent: text,
          windowBytes: pair(count),
          steps: pair(count),
          status: pair(text),
        }),
      ),
    }),
    files: openObject({ ...sides, changed: texts }),
    tokens: pair(count),
    crossings: pair(count),
  }),
);

export const continuationShape = named(
  'CheckpointContinuation',
  openObject({
    checkpoint: text,
    conversation: about(orNull(openObject({ agent: text, name: text })), 'Where it continues; null: as a run alone.'),
    run: about(orNull(text), 'The run that continues; null if there was nothing to continue.'),
    events: about(orNull(text), 'The path of that run’s event stream.'),
  }),
);

export const createCheckpointShape = named(
  'CreateCheckpoint',
  object({}, { label: about(text, 'At most 200 characters, to find it again.') }),
);

export const branchShape: Shape<BranchRequest> = named(
  'Branch',
  object(
    {},
    {
      name: about(text, 'The name of the new conversation. Default: one that is free.'),
      agent: about(
        text,
        'Another one of your agents, which gets the messages, if its definition grants it `history`. Default: the same.',
      ),
    },
  ),
);

export const checkpointValues: readonly Shape[] = [
  checkpointShape,
  checkpointReportShape,
  checkpointDiffShape,
  continuationShape,
  createCheckpointShape,
  branchShape,
];
