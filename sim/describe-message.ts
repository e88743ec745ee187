// What a process sends to its writer, for the trace.
import type { ToWorker } from '#testing/adapters/stores';

export const describeMessage = (message: ToWorker): string =>
  message.type === 'close'
    ? 'close'
    : message.items
        .map((item) => {
          if (item.do === 'frame') return `${item.run}/${item.no} (${item.body.length})`;
          if (item.do === 'record') return `record (${item.record.length})`;
          if (item.do === 'signal') return `signal ${item.signal.run} ${item.signal.id}`;
          if (item.do === 'share') return `share ${item.name} ${item.row.version}`;
          if (item.do === 'delete') return `delete ${item.runs.map(({ run }) => run).join(' ')}`;
          return item.do === 'blob' ? `blob ${item.ref}` : `${item.do} ${item.run}`;
        })
        .join(', ');
