// Resolves the window's sources from this cell's own records, and nothing else.
import { CloisterError } from '#base';
import type { ModelReply, Source } from '#contracts';
import type { ResolvedSource } from '#core/rules';
import type { Segment } from '#contracts';
import type { Cell } from './cell.ts';

export const resolveSource = (
  cell: Cell,
  source: Source,
  findSegment: (id: number) => Segment | undefined,
): ResolvedSource => {
  switch (source.from) {
    case 'definition': {
      const { definition } = cell.agent;
      if (source.path === 'prompt' || source.path === 'guidance')
        return { from: 'definition', value: definition[source.path] };
      const schema = definition.tools[Number(source.path.slice('tools/'.length))];
      return schema === undefined ? unattributed(source) : { from: 'definition', value: schema };
    }
    case 'reply': {
      const settled = cell.settled(source.no);
      const part = settled?.ok === true ? (settled.value as unknown as ModelReply).parts[source.part] : undefined;
      return part === undefined ? unattributed(source) : { from: 'reply', part };
    }
    case 'operation': {
      const settled = cell.settled(source.no);
      return settled === undefined ? unattributed(source) : { from: 'operation', settled };
    }
    case 'crossing': {
      const received = cell.runtime.received.at(source.seq);
      return received === undefined
        ? unattributed(source)
        : { from: 'crossing', kind: received.kind, content: received.content };
    }
    case 'segment': {
      const segment = findSegment(source.id);
      return segment === undefined ? unattributed(source) : { from: 'segment', part: segment.part };
    }
  }
};

const unattributed = (source: Source): never => {
  throw new CloisterError('unattributed', `There is no ${source.from} ${JSON.stringify(source)} in this cell.`);
};
