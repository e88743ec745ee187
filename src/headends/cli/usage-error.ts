/** The command line itself was wrong. `help` is set when the whole help says it better. */
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
