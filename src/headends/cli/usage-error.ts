/** A mistake on the command line. `help` is set if the whole help should be printed instead. */
export class UsageError extends Error {
  readonly suggestion: string;
  readonly help: string | null;
  constructor(message: string, suggestion: string, help: string | null = null) {
    super(message);
    this.name = 'UsageError';
    this.suggestion = suggestion;
    this.help = help;
  }
}
