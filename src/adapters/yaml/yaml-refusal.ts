/** Why and where a text is refused. Never leaves this folder. */
export class YamlRefusal extends Error {
  readonly offset: number;
  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}
