// The result of `cloister import`: what became of each file, and everything that is not as it was.

/** `decide`: what was left out, and what to write if it is wanted. */
export type ImportNote = {
  readonly kind: 'changed' | 'dropped' | 'decide';
  /** The line in the file that was read; null if it concerns the whole file. */
  readonly line: number | null;
  readonly key: string | null;
  readonly message: string;
};

export type ImportedFile = {
  readonly from: string;
  /** Null if nothing is made of it. */
  readonly to: string | null;
  readonly what: 'agent' | 'config' | 'include' | 'skills';
  /** `planned`: with `--dry-run`. `same`: it has this content already. `exists`: it has other content, which was left alone. `found`: it is used as it is. */
  readonly state: 'written' | 'planned' | 'same' | 'exists' | 'failed' | 'found';
  readonly notes: readonly ImportNote[];
};

export type ImportReport = {
  /** Whether everything that was found is where it belongs. */
  readonly ok: boolean;
  readonly to: string;
  readonly files: readonly ImportedFile[];
};
