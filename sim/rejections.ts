// Collects unhandled rejections, which would end a real process.

const immediate = setImmediate;

/** Replaces all other listeners until it is stopped. */
export const catchRejections = () => {
  const seen: string[] = [];
  const others = process.listeners('unhandledRejection');
  const listen = (reason: unknown): void =>
    void seen.push(`unhandled: ${reason instanceof Error ? reason.stack : String(reason)}`);
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', listen);
  return {
    seen,
    /** Resolves when all current rejections have been reported. */
    flushed: (): Promise<void> => new Promise((resolve) => immediate(resolve)),
    stop(): void {
      process.off('unhandledRejection', listen);
      for (const other of others) process.on('unhandledRejection', other);
    },
  };
};
