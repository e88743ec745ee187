// The values of the replies that follow from the record of a run, for the OpenAPI document.
import { about, boolean, json, listOf, named, oneOf, openObject, orNull } from '#base/shapes';
import { spentShape, statuses } from './reply-shapes.ts';
import {
  countShape as count,
  textOrNullShape as textOrNone,
  textShape as text,
  textsShape as texts,
} from './value-shapes.ts';

const withheld = 'For tokens that see `contents`; for others, a note that it is withheld.';

const trailStep = named(
  'TrailStep',
  openObject({ type: oneOf('definition', 'operation', 'crossing', 'task', 'skill', 'segment') }),
);

export const explanationShape = named(
  'Explanation',
  openObject({
    run: text,
    cell: text,
    agent: text,
    find: about(textOrNone, 'The text that was searched for.'),
    attempts: about(
      listOf(openObject({ op: count, turn: count, model: text, bytes: count })),
      'Its requests to models.',
    ),
    segments: about(
      listOf(
        openObject({
          id: count,
          origin: json(),
          bytes: count,
          shownIn: about(
            orNull(openObject({ first: count, last: count })),
            'The first and the last request, by operation, that showed it, as did all between them. Null: none did.',
          ),
          text,
          found: about(listOf(count), 'Offsets of `find` in `text`.'),
          trail: about(
            listOf(trailStep),
            'The way back to where it comes from. One that was made from several others leads to these.',
          ),
        }),
      ),
      'Each segment of its prompts once, in the order of the prompts.',
    ),
  }),
);

export const auditShape = named(
  'Audit',
  openObject({
    run: text,
    ok: about(boolean(), 'Whether there are no problems.'),
    crossings: count,
    refused: about(count, 'How many crossings were refused.'),
    prompts: about(count, 'How many prompts were rebuilt from the record.'),
    promptBytes: count,
    unattributedBytes: about(count, 'Bytes of prompts without a known origin; 0 in a sound record.'),
    cells: count,
    problems: listOf(
      openObject({
        code: text,
        where: about(text, 'A cell, or one of its operations.'),
        message: about(text, withheld),
      }),
    ),
  }),
);

const windowPart = openObject({ messages: count, bytes: count, tokens: about(count, 'Estimated.') });

export const windowShape = named(
  'CellWindow',
  openObject({
    cell: text,
    parent: textOrNone,
    agent: text,
    model: about(textOrNone, 'Of the newest request; null if there was none.'),
    limit: orNull(openObject({ tokens: count, by: oneOf('model', 'given', 'group', 'default') })),
    total: about(windowPart, 'The whole prompt.'),
    categories: openObject({ SYSTEM: windowPart, CONTEXT: windowPart, DIALOG: windowPart, TOOLS: windowPart }),
    happened: about(
      listOf(
        openObject({
          at: count,
          op: count,
          turn: count,
          what: oneOf('compacted', 'shortened', 'dropped', 'clamped', 'offloaded'),
        }),
      ),
      'How the window was reduced, in order.',
    ),
  }),
);

const ledgerEntry = named(
  'LedgerEntry',
  openObject({
    seq: about(count, 'Counts the entries of its cell.'),
    at: about(count, 'Epoch milliseconds.'),
    way: oneOf('in', 'out'),
    kind: text,
    other: about(text, 'The cell at the other end, or `outside`.'),
    grant: about(textOrNone, 'The grant that allowed it; null if it was refused.'),
    sha256: about(text, 'Of the content.'),
    bytes: count,
    tokens: count,
    labels: texts,
    verdict: oneOf('granted', 'no-grant', 'label', 'filter-failed'),
  }),
);

export const ledgerShape = named(
  'CellLedger',
  openObject({
    cell: text,
    parent: textOrNone,
    agent: text,
    links: listOf(
      openObject({
        frame: about(count, 'The number of the record in the log.'),
        entries: listOf(ledgerEntry),
        previous: about(text, 'The hash of the link before.'),
        hash: about(text, 'SHA-256 of `previous` and the entries.'),
      }),
    ),
  }),
);

export const taskShape = named(
  'Task',
  openObject({
    id: text,
    title: text,
    description: text,
    assignee: textOrNone,
    dependsOn: texts,
    memoryScope: oneOf('dependencies', 'all'),
    retries: count,
    priority: count,
    status: oneOf('pending', 'blocked', 'ready', 'running', 'completed', 'failed', 'skipped'),
    result: textOrNone,
    reason: about(orNull(openObject({ code: text, text })), 'Why it is blocked, failed or skipped.'),
    attempts: about(count, 'How often it was started.'),
    cells: about(texts, 'The cells that worked on it, the newest last.'),
    bytes: about(count, 'The size of the result.'),
  }),
);

const cellOutcome = orNull(openObject({ status: oneOf(...statuses), output: text, spent: spentShape }));

export const mailShape = named(
  'Mail',
  openObject({
    id: text,
    message_type: text,
    from: about(text, 'The cell of the sender, or `outside`.'),
    to: about(textOrNone, 'The cell of the recipient, or `outside`; null: there is none.'),
    agent_id: about(textOrNone, 'The name of the sender.'),
    recipient_id: text,
    topic: textOrNone,
    correlation_id: about(textOrNone, 'The message that it answers.'),
    chain: about(textOrNone, 'The message that started the chain it belongs to.'),
    bytes: count,
    sha256: textOrNone,
    state: text,
    queuedAt: count,
    deliveredAt: orNull(count),
    readAt: orNull(count),
    deadAt: orNull(count),
    reason: about(textOrNone, 'Why it will not be read.'),
  }),
);

export const replayShape = named(
  'Replay',
  openObject({
    run: text,
    ok: about(boolean(), 'Whether every record is the same.'),
    frames: about(count, 'How many records the log has.'),
    same: about(count, 'How many of them are the same in the replay.'),
    hash: about(openObject({ recorded: text, replayed: text }), 'Over all records.'),
    outcome: cellOutcome,
    differences: about(
      listOf(openObject({ frame: orNull(count), cell: text, agent: text, op: orNull(count), what: text })),
      'Where the agents, as they are now, would behave differently.',
    ),
  }),
);

const cellSide = orNull(
  openObject({
    cell: text,
    status: oneOf(...statuses, null),
    output: text,
    spent: spentShape,
    models: texts,
    crossings: about(texts, 'What crossed into and out of it, with refusals.'),
  }),
);

export const diffShape = named(
  'Diff',
  openObject({
    one: text,
    other: text,
    fork: about(orNull(openObject({ run: text })), 'Set if one is a fork of the other.'),
    sameFrames: about(count, 'How many records from the start are the same.'),
    same: boolean(),
    cells: listOf(
      openObject({
        place: about(text, 'Agents from the root down, with the number of the call.'),
        one: cellSide,
        other: cellSide,
        same: boolean(),
        parts: about(
          orNull(openObject({ op: count, one: about(text, withheld), other: about(text, withheld) })),
          'Where the two cells diverge.',
        ),
      }),
    ),
  }),
);
