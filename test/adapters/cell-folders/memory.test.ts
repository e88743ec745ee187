import { memoryCellFolders } from '#adapters/cell-folders';
import { conformWorkspace } from '../../conformance/cell-folder.ts';

conformWorkspace('a workspace in memory', async () => memoryCellFolders());
