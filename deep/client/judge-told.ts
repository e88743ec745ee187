// Stands where the client stands: whatever it was told is there after any crash. It knows only what came over the wire.
import { isDeepStrictEqual } from 'node:util';

/** What a client was told, each piece as it came. */
export type ToldPiece =
  /** A receipt: the run exists. `livesOn`: it does not end by itself. */
  | { readonly what: 'run'; readonly run: string; readonly livesOn?: true }
  | { readonly what: 'event'; readonly run: string; readonly id: string; readonly event: unknown }
  /** The run has ended like this. */
  | { readonly what: 'answer'; readonly run: string; readonly status: string; readonly output: string }
  /** The receipt of a message. */
  | { readonly what: 'message'; readonly run: string; readonly message: string }
  /** The receipt of a cancellation. */
  | { readonly what: 'cancel'; readonly run: string }
  /** The same key gives the same run. */
  | { readonly what: 'key'; readonly key: string; readonly run: string }
  /** The key that began this run came with another request, or after its deletion: only 422 is right. */
  | { readonly what: 'reused'; readonly key: string; readonly run: string; readonly status: number }
  /** The deletion of the run was asked for; nobody has said yet that it happened. */
  | { readonly what: 'deleting'; readonly run: string }
  | { readonly what: 'deleted'; readonly run: string };

/** A run as it is read after the crash. */
export type ReadRun = {
  readonly run: string;
  readonly state: string;
  readonly status: string | null;
  readonly output: string;
  /** The recorded events, in order, each with its id. */
  readonly events: readonly { readonly id: string }[];
  /** What the server says instead. */
  readonly unreadable?: string;
};

/** `runs`: by id. Returns the problems as text. */
export const judgeTold = (told: readonly ToldPiece[], runs: ReadonlyMap<string, ReadRun>): readonly string[] => {
  const mayBeGone = new Set(told.flatMap(({ what, run }) => (what === 'deleting' || what === 'deleted' ? [run] : [])));
  const problems = [
    ...told.flatMap((piece) => {
      const read = runs.get(piece.run);
      if (piece.what === 'reused') return reusedProblems(piece);
      return read === undefined && mayBeGone.has(piece.run) ? [] : problemsOf(piece, read);
    }),
    ...reusedKeys(told),
  ];
  return [...new Set(problems)];
};

const reusedProblems = ({ key, run, status }: Extract<ToldPiece, { what: 'reused' }>): readonly string[] =>
  status === 422 ? [] : [`key ${key} belongs to run ${run}, and another request with it was answered ${status}`];

const problemsOf = (piece: Exclude<ToldPiece, { what: 'reused' }>, read: ReadRun | undefined): readonly string[] => {
  const { run } = piece;
  if (read === undefined) return [`run ${run} does not exist, and its client was told of it (${piece.what})`];
  if (read.unreadable !== undefined) return [`run ${run} cannot be read: ${read.unreadable}`];
  switch (piece.what) {
    case 'run':
    case 'key':
      return piece.what === 'key' || piece.livesOn === undefined ? leftProblems(read) : [];
    case 'event': {
      const kept = read.events.find(({ id }) => id === piece.id);
      if (kept === undefined) return [`event ${piece.id} of run ${run} is missing`];
      return isDeepStrictEqual(kept, piece.event) ? [] : [`event ${piece.id} of run ${run} is another one`];
    }
    case 'answer':
      return read.status === piece.status && read.output === piece.output
        ? []
        : [
            `run ${run} ended as ${piece.status} ("${piece.output}"), and now is ${read.status ?? read.state} ("${read.output}")`,
          ];
    case 'message':
      return JSON.stringify(read.events).includes(JSON.stringify(piece.message))
        ? []
        : [`message ${piece.message} of run ${run}, which is ${read.state}, is missing`];
    case 'deleting':
      return [];
    case 'deleted':
      return [`run ${run} was deleted, and is there again: ${read.state}`];
    case 'cancel':
      return read.state === 'ended' ? [] : [`run ${run} was cancelled, and is ${read.state}`];
    default:
      return piece satisfies never;
  }
};

/** Somebody takes up every run that a crash has interrupted. */
const leftProblems = ({ run, state }: ReadRun): readonly string[] =>
  state === 'ended' ? [] : [`run ${run} is ${state}, and nobody ends it`];

const reusedKeys = (told: readonly ToldPiece[]): readonly string[] => {
  const keys = Map.groupBy(
    told.filter((piece) => piece.what === 'key'),
    ({ key }) => key,
  );
  return [...keys].flatMap(([key, pieces]) => {
    const runs = new Set(pieces.map(({ run }) => run));
    return runs.size === 1 ? [] : [`key ${key} gave ${runs.size} runs: ${[...runs].join(', ')}`];
  });
};
