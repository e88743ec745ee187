// Promises that are rejected and that nobody looks at: they would end a real process.

const immediate = setImmediate;

/** Takes the place of whoever listens to them, until it is stopped. */
export const catchRejections = () => {
  const seen: string[] = [];
  const others = process.listeners('unhandledRejection');
  const listen = (reason: unknown): void =>
    void seen.push(`unhandled: ${reason instanceof Error ? reason.stack : String(reason)}`);
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', listen);
  return {
    seen,
    /** When those of now have been told. */
    told: (): Promise<void> => new Promise((resolve) => immediate(resolve)),
    stop(): void {
      process.off('unhandledRejection', listen);
      for (const other of others) process.on('unhandledRejection', other);
    },
  };
};
