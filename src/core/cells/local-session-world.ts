// What sessions get of their run's ports. The rest (the log, and the listener, which is the caller's handle on the run) is private.
import type { Agent, RunPorts, SessionWorld, WindowLimit } from '#contracts';

export class LocalSessionWorld implements SessionWorld {
  readonly #ports: RunPorts;

  constructor(ports: RunPorts) {
    this.#ports = ports;
  }

  validate(...call: Parameters<RunPorts['validate']>): readonly string[] {
    return this.#ports.validate(...call);
  }

  windowLimitFor(agent: Agent): WindowLimit | undefined {
    return this.#ports.windowLimitFor?.(agent);
  }

  groupTokens(agent: Agent): number | undefined {
    return this.#ports.groupTokens?.(agent);
  }

  readBlob(ref: string): Promise<Uint8Array> {
    return this.#ports.readBlob(ref);
  }

  onClosing(done: Promise<void>): void {
    this.#ports.resources.onClosing?.(done);
  }
}
