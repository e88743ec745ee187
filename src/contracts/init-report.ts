// What `cloister init` can create, and what it has created.

/** `next`: commands to run in the folder. */
export type InitReport = {
  readonly folder: string;
  readonly template: string;
  readonly files: readonly string[];
  readonly next: readonly string[];
};

export type TemplateSummary = { readonly name: string; readonly about: string };
