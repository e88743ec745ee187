// Which workspace a command about stored runs works on.
import { expect, test } from 'vitest';
import { cli, scene } from './driver.ts';

test.each(['runs export r1 --workspace w', 'runs export --workspace w r1', 'runs --workspace w export r1'])(
  'the workspace that is named is the one that is opened: %s',
  async (line) => {
    const { opened } = await cli(line.split(' '), scene());
    expect(opened[0]?.workspace).toBe('w');
  },
);
